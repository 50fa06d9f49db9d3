# Checks of the harness itself: snakemake audits. They take most of an hour on an idle machine, and no other
# target asks for them; the paper shows those that exist. They belong to the run in whose folder they are.


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


rule audits:
    input:
        f"{CELLS}/audits.json",
