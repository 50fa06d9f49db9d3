# One compiler for every front end: each framework's program without its weights, compiled for targets
# that are not here, and the largest batch that fits one. Nothing here is timed against anything, so two
# compilations may run side by side; a cell takes all cores, so none runs beside a cell.

PROGRAM = f"{ROOT}/programs/{{framework}}/{{workload}}/{{variant}}"
AHEAD = f"{ROOT}/ahead/{{target}}/{{compiler}}/{{framework}}/{{workload}}"


rule lower:
    input:
        pins=JOBS.pins("lower"),
    output:
        program=f"{PROGRAM}/program.mlir.gz",
        arguments=f"{PROGRAM}/arguments.json",
    log:
        f"{ROOT}/logs/programs/{{framework}}/{{workload}}/{{variant}}.txt",
    # Before the cells: a replay stands among them.
    priority: 10
    group:
        "compiled-{workload}"
    threads: HALF_THREADS
    resources:
        mem_mb=COMPILING_MB,
    params:
        sources=JOBS.digest("lower"),
        job=JOBS.spec("lower"),
        version=JOBS.version("lower"),
    shell:
        "python -m stackwars.setup.environments {input.pins} -- -m stackwars.measure.stablehlo.lower"
        " --job {params.job} --output $(dirname {output.program}) >{log} 2>&1"


# What the native compiler makes of the programs that the report shows, as text. Each is a job of its own on a
# cluster: it is made from a cell, so it cannot be of the group that the cell's replay is made from.
rule optimised:
    input:
        pins=JOBS.pins("optimised"),
        program=f"{CELL}/stablehlo.mlir.gz",
    output:
        f"{CELL}/optimised_cpu.hlo.gz",
    log:
        f"{ROOT}/logs/{{device}}/{{framework}}/{{workload}}/optimised.txt",
    priority: -1_000_000_000
    threads: HALF_THREADS
    resources:
        mem_mb=COMPILING_MB,
    params:
        job=JOBS.spec("optimised"),
        version=JOBS.version("optimised"),
    shell:
        "python -m stackwars.setup.environments {input.pins} -- -m stackwars.measure.stablehlo.optimised"
        " --job {params.job} --program {input.program} --output {output} >{log} 2>&1"


# variant: the preset's sizes, others, or a program that is divided among the chips of a slice.
rule ahead:
    input:
        JOBS.description,
        pins=JOBS.pins("ahead"),
        program=JOBS.compiled,
        code=JOBS.code_source,
    output:
        result=f"{AHEAD}/{{variant}}/ahead.json",
        optimised=f"{AHEAD}/{{variant}}/optimised.hlo.gz",
    log:
        f"{ROOT}/logs/ahead/{{target}}/{{compiler}}/{{framework}}/{{workload}}/{{variant}}.txt",
    priority: -1_000_000_000
    group:
        "compiled-{workload}"
    threads: HALF_THREADS
    resources:
        mem_mb=COMPILING_MB,
    params:
        job=JOBS.spec("ahead"),
        version=JOBS.version("ahead"),
        code=lambda wildcards, input: f"--code-from {input.code}" if input.code else "",
    shell:
        "python -m stackwars.measure.stablehlo.ahead_supervisor --job {params.job} --pins {input.pins}"
        " --program {input.program} {params.code} --output $(dirname {output.result}) >{log} 2>&1"


rule largest_batch:
    input:
        pins=JOBS.pins("largest_batch"),
        lower_pins=JOBS.pins("lower"),
        base=f"{AHEAD}/base/ahead.json",
    output:
        f"{AHEAD}/largest_batch.json",
    log:
        f"{ROOT}/logs/ahead/{{target}}/{{compiler}}/{{framework}}/{{workload}}/largest_batch.txt",
    priority: -1_000_000_001
    group:
        "compiled-{workload}"
    threads: HALF_THREADS
    resources:
        mem_mb=COMPILING_MB,
    params:
        sources=JOBS.digest("largest_batch"),
        job=JOBS.spec("largest_batch"),
        version=JOBS.version("largest_batch"),
    shell:
        "python -m stackwars.measure.stablehlo.largest_batch --job {params.job} --pins {input.pins}"
        " --lower-pins {input.lower_pins} --base {input.base} --output {output} >{log} 2>&1"


# Programs for several devices, run on this machine's: the CPU's threads stand for them.
rule sharded:
    input:
        pins=JOBS.pins("sharded"),
    output:
        directory(f"{ROOT}/sharded/{{frontend}}/{{workload}}/{{way}}{{devices}}"),
    log:
        f"{ROOT}/logs/sharded/{{frontend}}/{{workload}}/{{way}}{{devices}}.txt",
    threads: EXCLUSIVE_THREADS
    resources:
        **EXCLUSIVE_NODE,
    params:
        sources=JOBS.digest("sharded"),
        job=JOBS.spec("sharded"),
        version=JOBS.version("sharded"),
    shell:
        "python -m stackwars.measure.supervisor --child stackwars.measure.stablehlo.sharded --job {params.job}"
        " --pins {input.pins} --output {output} >{log} 2>&1"
