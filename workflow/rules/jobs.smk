# Jobs that measure or compile: each kind is a row of stackwars.study.workflow.jobs.KINDS. Audits, and the devices.

MACHINES = {
    kinds.ALONE: (workflow.cores, EXCLUSIVE_NODE),
    kinds.TIMED: (1 if GRID.settings.side_by_side else workflow.cores, EXCLUSIVE_NODE),
    kinds.COMPILING: (max(1, workflow.cores // 2), {"mem_mb": 8000}),
}

for kind, row in KINDS.items():

    rule:
        name:
            kind
        input:
            **row.rule_inputs(GRID),
        output:
            **row.rule_outputs(GRID),
        log:
            row.log(GRID),
        priority: row.priority
        group:
            row.group
        threads: MACHINES[row.machine][0]
        resources:
            **MACHINES[row.machine][1],
        params:
            **row.params(GRID, kind),
        # The command is a parameter: this text is read when a job starts, and the loop has ended by then.
        shell:
            "python -m {params.command} {params.job} {params.arguments} >{log} 2>&1"


# Checks of the harness itself: snakemake audits. They take most of an hour on an idle machine, and no other target asks
# for them; the paper shows those that exist. They belong to the run in whose folder they are.
#
# subject: a framework, whose cells are audited, <framework>-<compiler>: replays of its programs, or the name of a pair
# (stackwars.study.audits.paired) whose rounds are measured.
rule audit:
    input:
        pins=AUDIT_JOBS.pins,
        lower_pins=AUDIT_JOBS.lower_pins,
        peak=AUDIT_JOBS.peak,
    output:
        f"{ROOT}/audits/{{audit}}/{{device}}/{{subject}}.json",
    log:
        f"{ROOT}/logs/audits/{{audit}}/{{device}}/{{subject}}.txt",
    threads: workflow.cores
    resources:
        **EXCLUSIVE_NODE,
    params:
        sources=lambda wildcards: digest(AUDIT_JOBS.sources(wildcards)),
        command=AUDIT_JOBS.command,
        version=audit_jobs.VERSION,
    shell:
        "python -m {params.command} --output {output} >{log} 2>&1"


# Asked where the device's cells would be measured: on a cluster, on a node that has it.
rule device:
    input:
        GRID.device_pins,
    output:
        f"{ROOT}/{{device}}/found.json",
    log:
        f"{ROOT}/logs/{{device}}/found.txt",
    resources:
        **EXCLUSIVE_NODE,
    params:
        sources=step_digest("stackwars.study.workflow.devices"),
        config=CONFIG,
    shell:
        "python -m stackwars.study.workflow.devices --config {params.config} --device {wildcards.device}"
        " --output {output} >{log} 2>&1"


checkpoint devices:
    input:
        [f"{ROOT}/{device}/found.json" for device in config.devices],
    output:
        f"{ROOT}/devices.json",
    log:
        f"{ROOT}/logs/devices.txt",
    params:
        config=CONFIG,
    shell:
        "python -m stackwars.study.workflow.devices --config {params.config} --answers {input}"
        " --output {output} >{log} 2>&1"
