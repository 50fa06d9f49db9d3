# Measuring: one rule for a process, one for a cell, one for the machine's peak, one for its devices.

CELL = f"results/{config['preset']}/{{device}}/{{framework}}/{{workload}}"


checkpoint devices:
    input:
        sources("stackwars.workflow.devices"),
        [
            f"envs/{name}.txt"
            for f in config["frameworks"].values()
            for name in f["environments"].values()
        ],
    output:
        f"results/{config['preset']}/devices.json",
    log:
        f"results/{config['preset']}/logs/devices.txt",
    params:
        config=CONFIG,
    shell:
        "python -m stackwars.workflow.devices --config {params.config} --output {output} 2> >(tee {log} >&2)"


rule peak:
    input:
        sources("stackwars.measure.peak"),
        pins=lambda w: "envs/jax.txt" if w.device in CPUS else f"envs/jax-{w.device}.txt",
    output:
        f"results/{config['preset']}/{{device}}/peak.json",
    log:
        f"results/{config['preset']}/logs/{{device}}/peak.txt",
    priority: 2
    threads: workflow.cores
    shell:
        "python -m stackwars.setup.environments {input.pins} -- -m stackwars.measure.peak"
        " {wildcards.device} {output} 2> >(tee {log} >&2)"


# Cells never run side by side: each takes all cores. The rounds of one workload follow each other, a
# process of every framework and of every replay in each, so that what is compared was measured under the
# same machine conditions. A process that is not needed any more says so and measures nothing.
rule process:
    input:
        process_sources,
        pins=lambda wildcards: cells.pins(config, wildcards.framework, wildcards.device),
        partner=partner_pins,
    output:
        temp(directory(f"{CELL}/process-{{repetition}}")),
    log:
        f"results/{config['preset']}/logs/{{device}}/{{framework}}/{{workload}}/process-{{repetition}}.txt",
    priority: lambda wildcards: plan.priority(config, cell_of(wildcards), int(wildcards.repetition))
    threads: workflow.cores
    params:
        job=lambda wildcards: job_of(cell_of(wildcards), int(wildcards.repetition)),
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
        process_sources,
        pins=lambda wildcards: cells.pins(config, wildcards.framework, wildcards.device),
        partner=partner_pins,
        processes=[f"{CELL}/process-{repetition}" for repetition in range(SETTINGS["rounds_max"])],
    output:
        result=f"{CELL}/cell.json",
        program=f"{CELL}/stablehlo.mlir.gz",
        sample=f"{CELL}/output.npy",
    log:
        f"results/{config['preset']}/logs/{{device}}/{{framework}}/{{workload}}/cell.txt",
    priority: 1_000_000
    # All cores for a moment's work: a compilation for a target would else take the core that it leaves
    # free, and the next process of the round would wait until all of them are done.
    threads: workflow.cores
    params:
        job=lambda wildcards: job_of(cell_of(wildcards), 0),
    shell:
        "python -m stackwars.measure.cell {input.processes} --output $(dirname {output.result}) >{log} 2>&1"
