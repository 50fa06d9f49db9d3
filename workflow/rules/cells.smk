# Measuring: one rule for a process, one for a cell, one for the machine's peak, one for its devices.

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
    params:
        config=CONFIG,
    shell:
        "python -m stackwars.workflow.devices --config {params.config} --device {wildcards.device}"
        " --output {output} 2> >(tee {log} >&2)"


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
        " --output {output} 2> >(tee {log} >&2)"


rule peak:
    input:
        sources("stackwars.measure.peak"),
        pins=lambda w: "envs/jax.txt" if w.device in CPUS else f"envs/jax-{w.device}.txt",
    output:
        f"{ROOT}/{{device}}/peak.json",
    log:
        f"{ROOT}/logs/{{device}}/peak.txt",
    priority: 2
    threads: workflow.cores
    params:
        seconds=SETTINGS["peak_seconds"],
    shell:
        "python -m stackwars.setup.environments {input.pins} -- -m stackwars.measure.peak"
        " {wildcards.device} {output} --seconds {params.seconds} 2> >(tee {log} >&2)"


# Cells never run side by side: each takes all cores, but in the smoke preset. The rounds of one workload follow each other, a
# process of every framework and of every replay in each, so that what is compared was measured under the
# same machine conditions. A process that is not needed any more says so and measures nothing.
rule process:
    input:
        CELL_JOBS.sources,
        pins=CELL_JOBS.pins,
        partner=CELL_JOBS.partner_pins,
    output:
        temp(directory(f"{CELL}/process-{{repetition}}")),
    log:
        f"{ROOT}/logs/{{device}}/{{framework}}/{{workload}}/process-{{repetition}}.txt",
    priority: CELL_JOBS.priority
    threads: EXCLUSIVE_THREADS
    params:
        job=CELL_JOBS.job,
        partner=lambda wildcards, input: (
            f"--partner-pins {input.partner}" if input.partner else ""
        ),
    shell:
        "python -m stackwars.measure.supervisor --job {params.job} --pins {input.pins}"
        " {params.partner} --output {output} 2> >(tee {log} >&2)"


# The processes are temporary, all that they measured is in the cell. So whatever makes a process
# out of date must stand here as well.
rule cell:
    input:
        CELL_JOBS.sources,
        pins=CELL_JOBS.pins,
        partner=CELL_JOBS.partner_pins,
        processes=[f"{CELL}/process-{repetition}" for repetition in range(SETTINGS["rounds_max"])],
    output:
        result=f"{CELL}/cell.json",
        program=f"{CELL}/stablehlo.mlir.gz",
        sample=f"{CELL}/output.npy",
        forms=directory(f"{CELL}/forms"),
    log:
        f"{ROOT}/logs/{{device}}/{{framework}}/{{workload}}/cell.txt",
    priority: 1_000_000
    # As many cores for a moment's work: a compilation for a target would else take the core that it leaves
    # free, and the next process of the round would wait until all of them are done.
    threads: EXCLUSIVE_THREADS
    params:
        job=CELL_JOBS.job,
    shell:
        "python -m stackwars.measure.cell {input.processes} --output $(dirname {output.result}) >{log} 2>&1"


# All that is compared of a workload on a device. On a cluster it makes its parts one group, and that a job on one node
# (profiles/): a group is what hangs together.
rule measured:
    input:
        CELL_JOBS.compared,
    output:
        f"{ROOT}/measured/{{device}}/{{workload}}",
    log:
        f"{ROOT}/logs/{{device}}/measured/{{workload}}.txt",
    shell:
        "touch {output} >{log} 2>&1"
