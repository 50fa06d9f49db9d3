# Measuring: cells, their processes, the machine's peak and devices, and processes of growing sizes.

CELL = f"{ROOT}/{{device}}/{{framework}}/{{workload}}"


# Asked where the device's cells would be measured: on a cluster, on a node that has it.
rule device:
    input:
        sources("stackwars.workflow.devices"),
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
        config=CONFIG,
    shell:
        "python -m stackwars.workflow.devices --config {params.config} --device {wildcards.device}"
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
        "python -m stackwars.workflow.devices --config {params.config} --answers {input}"
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


# Cells never run side by side, except in the smoke preset: each takes all cores. The rounds of one workload follow each
# other, a process of every framework and of every replay in each, so that what is compared was measured under the
# same machine conditions. Processes beyond the stopping rule exit without measuring.
rule process:
    input:
        JOBS.sources("process"),
        pins=JOBS.pins("process"),
        partner=JOBS.partner_pins,
        expected=JOBS.expected,
    output:
        temp(directory(f"{CELL}/process-{{repetition}}")),
    log:
        f"{ROOT}/logs/{{device}}/{{framework}}/{{workload}}/process-{{repetition}}.txt",
    priority: JOBS.priority
    group:
        "measured-{device}-{workload}"
    threads: EXCLUSIVE_THREADS
    resources:
        **EXCLUSIVE_NODE,
    params:
        job=JOBS.spec("process"),
        version=JOBS.version("process"),
        peers=PEERS,
        partner=lambda wildcards, input: (
            f"--partner-pins {input.partner}" if input.partner else ""
        ),
    shell:
        "python -m stackwars.measure.supervisor --job {params.job} --pins {input.pins}"
        " {params.partner} --peers {params.peers} --output {output} >{log} 2>&1"


# The processes are temporary, all that they measured is in the cell. So whatever makes a process
# out of date must stand here as well.
rule cell:
    input:
        JOBS.sources("process"),
        pins=JOBS.pins("process"),
        partner=JOBS.partner_pins,
        expected=JOBS.expected,
        processes=[f"{CELL}/process-{repetition}" for repetition in range(SETTINGS["rounds_max"])],
    output:
        result=f"{CELL}/cell.json",
        program=f"{CELL}/stablehlo.mlir.gz",
        sample=f"{CELL}/output.npy",
        forms=directory(f"{CELL}/forms"),
    log:
        f"{ROOT}/logs/{{device}}/{{framework}}/{{workload}}/cell.txt",
    priority: 1_000_000
    group:
        "measured-{device}-{workload}"
    # As many cores for a moment's work: a compilation for a target would else take the core that it leaves
    # free, and the next process of the round would wait until all of them are done.
    threads: EXCLUSIVE_THREADS
    resources:
        **EXCLUSIVE_NODE,
    params:
        job=JOBS.spec("process"),
        version=JOBS.version("process"),
    shell:
        "python -m stackwars.measure.cell {input.processes} --output $(dirname {output.result}) >{log} 2>&1"


# All that is compared of a workload on a device. On a cluster it makes its parts one group, and so a job on one
# node: a group is what hangs together.
rule workload_done:
    input:
        JOBS.compared,
    output:
        f"{ROOT}/measured/{{device}}/{{workload}}",
    log:
        f"{ROOT}/logs/{{device}}/measured/{{workload}}.txt",
    group:
        "measured-{device}-{workload}"
    resources:
        **EXCLUSIVE_NODE,
    shell:
        "touch {output} >{log} 2>&1"


# How the cost of compiling grows: a process for each value of a size, and one for all shapes.
rule growth_process:
    input:
        JOBS.sources("growth"),
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
        job=JOBS.spec("growth"),
        version=JOBS.version("growth"),
    shell:
        "python -m stackwars.measure.supervisor --job {params.job} --pins {input.pins} --output {output}"
        " >{log} 2>&1"
