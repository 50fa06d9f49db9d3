# Measuring: cells, the machine's peak and devices, and processes of growing sizes.

CELL = f"{ROOT}/{{device}}/{{framework}}/{{workload}}"
BESIDE = f"{ROOT}/beside/{{device}}/{{framework}}/{{workload}}"


# Asked where the device's cells would be measured: on a cluster, on a node that has it.
rule device:
    input:
        lambda wildcards: sorted(
            f"envs/{f['environments'][wildcards.device]}.txt"
            for f in config["frameworks"].values()
            if wildcards.device in f.get("environments", {})
        ),
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
        [f"{ROOT}/{device}/found.json" for device in config["devices"]],
    output:
        f"{ROOT}/devices.json",
    log:
        f"{ROOT}/logs/devices.txt",
    params:
        config=CONFIG,
    shell:
        "python -m stackwars.study.workflow.devices --config {params.config} --answers {input}"
        " --output {output} >{log} 2>&1"


rule peak:
    input:
        pins=JOBS.pins("peak"),
    output:
        f"{ROOT}/{{device}}/peak.json",
    log:
        f"{ROOT}/logs/{{device}}/peak.txt",
    priority: 2
    threads: workflow.cores
    resources:
        **EXCLUSIVE_NODE,
    params:
        seconds=SETTINGS["peak_seconds"],
        version=JOBS.version("peak"),
    shell:
        "python -m stackwars.setup.environments {input.pins} -- -m stackwars.measure.peak"
        " {wildcards.device} {output} --seconds {params.seconds} >{log} 2>&1"


# A cell measures itself, in rounds of a process and one of its baseline. What it has measured lies in `rounds` until it is
# done, which is no output: a job that was killed resumes there. In the rounds of the first comparison's subject, a replay
# takes part, and the baseline's cell is taken from there. Cells never run side by side, except in the smoke preset: each
# takes all cores.
rule cell:
    input:
        pins=JOBS.pins("cell"),
        partner=JOBS.partner_pins,
        expected=JOBS.expected,
        joined=JOBS.joined,
        joined_pins=JOBS.joined_pins,
        taken=JOBS.taken,
    output:
        result=f"{CELL}/cell.json",
        program=f"{CELL}/stablehlo.mlir.gz",
        sample=f"{CELL}/output.npy",
        forms=directory(f"{CELL}/forms"),
        beside=directory(BESIDE),
    log:
        f"{ROOT}/logs/{{device}}/{{framework}}/{{workload}}/cell.txt",
    priority: 1
    threads: EXCLUSIVE_THREADS
    resources:
        **EXCLUSIVE_NODE,
    params:
        sources=JOBS.digest("cell"),
        job=JOBS.spec("cell"),
        version=JOBS.version("cell"),
        replay=JOBS.joined_job,
        others=lambda wildcards, input: " ".join(
            f"--{option} {path}"
            for option, path in (
                ("partner-pins", input.partner),
                ("replay-pins", input.joined_pins),
                ("taken", input.taken),
            )
            if path
        ),
    shell:
        "python -m stackwars.measure.cell --job {params.job} --pins {input.pins} {params.replay} {params.others}"
        " --output $(dirname {output.result}) --beside {output.beside} >{log} 2>&1"


# How the cost of compiling grows: a process for each value of a size, and one for all shapes.
rule growth_process:
    input:
        pins=JOBS.pins("growth"),
    output:
        directory(f"{ROOT}/growth/{{framework}}/{{workload}}/{{size}}-{{value}}"),
    log:
        f"{ROOT}/logs/growth/{{framework}}/{{workload}}/{{size}}-{{value}}.txt",
    priority: 1
    group:
        "grown-{framework}-{workload}"
    threads: EXCLUSIVE_THREADS
    resources:
        **EXCLUSIVE_NODE,
    params:
        sources=JOBS.digest("growth"),
        job=JOBS.spec("growth"),
        version=JOBS.version("growth"),
    shell:
        "python -m stackwars.measure.supervisor --job {params.job} --pins {input.pins} --output {output}"
        " >{log} 2>&1"
