# One compiler for every front end: each framework's program without its weights, compiled for targets
# that are not here, and the largest batch that fits one. Nothing here is timed against anything, so two
# compilations may run side by side; a cell takes all cores, so none runs beside a cell.

PROGRAM = f"{ROOT}/programs/{{framework}}/{{workload}}/{{variant}}"
AHEAD = f"{ROOT}/ahead/{{target}}/{{compiler}}/{{framework}}/{{workload}}"


rule lower:
    input:
        COMPILER_JOBS.lowering_sources,
        pins=COMPILER_JOBS.lowering_pins,
    output:
        program=f"{PROGRAM}/program.mlir.gz",
        arguments=f"{PROGRAM}/arguments.json",
    log:
        f"{ROOT}/logs/programs/{{framework}}/{{workload}}/{{variant}}.txt",
    # Before the cells: a replay stands among them.
    priority: 10
    threads: HALF_THREADS
    params:
        job=COMPILER_JOBS.lower,
    shell:
        "python -m stackwars.setup.environments {input.pins} -- -m stackwars.compilers.lower"
        " --job {params.job} --output $(dirname {output.program}) >{log} 2>&1"


# A program with one suspected cause of a difference changed.
rule edit:
    input:
        sources("stackwars.compilers.edits"),
        pins=editing_pins(config),
        program=f"{ROOT}/programs/{{framework}}/{{workload}}/base/program.mlir.gz",
        arguments=f"{ROOT}/programs/{{framework}}/{{workload}}/base/arguments.json",
    output:
        program=f"{ROOT}/programs/{{framework}}+{{edits}}/{{workload}}/base/program.mlir.gz",
        arguments=f"{ROOT}/programs/{{framework}}+{{edits}}/{{workload}}/base/arguments.json",
    log:
        f"{ROOT}/logs/programs/{{framework}}+{{edits}}/{{workload}}/base.txt",
    priority: 10
    params:
        edits=lambda wildcards: [f"--edit {edit}" for edit in wildcards.edits.split("+")],
    shell:
        "python -m stackwars.setup.environments {input.pins} -- -m stackwars.compilers.edits {params.edits}"
        " --program $(dirname {input.program}) --output $(dirname {output.program}) >{log} 2>&1"


# Of the programs that the report shows: what the native compiler makes of them, as text. Each is a job of its own on a
# cluster: made from a cell, it cannot be of the group that the cell's replay is made from.
rule optimised:
    input:
        sources("stackwars.compilers.optimised", "stackwars.compilers.optimised_child"),
        pins=COMPILER_JOBS.native_pins,
        program=f"{CELL}/stablehlo.mlir.gz",
    output:
        f"{CELL}/optimised_cpu.hlo.gz",
    log:
        f"{ROOT}/logs/{{device}}/{{framework}}/{{workload}}/optimised.txt",
    priority: -1_000_000_000
    threads: HALF_THREADS
    params:
        job=COMPILER_JOBS.optimise,
    shell:
        "python -m stackwars.compilers.optimised --job {params.job} --pins {input.pins}"
        " --program {input.program} --output {output} 2> >(tee {log} >&2)"


rule ahead:
    input:
        sources("stackwars.compilers.ahead_supervisor", "stackwars.compilers.ahead"),
        COMPILER_JOBS.description,
        pins=COMPILER_JOBS.compiler_pins,
        program=f"{PROGRAM}/program.mlir.gz",
        code=COMPILER_JOBS.code_source,
    output:
        result=f"{AHEAD}/{{variant}}/ahead.json",
        optimised=f"{AHEAD}/{{variant}}/optimised.hlo.gz",
    log:
        f"{ROOT}/logs/ahead/{{target}}/{{compiler}}/{{framework}}/{{workload}}/{{variant}}.txt",
    wildcard_constraints:
        framework="[a-z0-9_+]+",  # an edited program's too
        variant=r"base|b\d+(s\d+)?",
    priority: -1_000_000_000
    threads: HALF_THREADS
    params:
        job=COMPILER_JOBS.ahead,
        code=lambda wildcards, input: f"--code-from {input.code}" if input.code else "",
    shell:
        "python -m stackwars.compilers.ahead_supervisor --job {params.job} --pins {input.pins}"
        " --program {input.program} {params.code} --output $(dirname {output.result}) 2> >(tee {log} >&2)"


rule largest_batch:
    input:
        COMPILER_JOBS.lowering_sources,
        sources("stackwars.compilers.largest_batch", "stackwars.compilers.ahead"),
        pins=COMPILER_JOBS.compiler_pins,
        lower_pins=COMPILER_JOBS.lowering_pins,
        base=f"{AHEAD}/base/ahead.json",
    output:
        f"{AHEAD}/largest_batch.json",
    log:
        f"{ROOT}/logs/ahead/{{target}}/{{compiler}}/{{framework}}/{{workload}}/largest_batch.txt",
    priority: -1_000_000_001
    threads: HALF_THREADS
    params:
        job=COMPILER_JOBS.largest_batch,
    shell:
        "python -m stackwars.compilers.largest_batch --job {params.job} --pins {input.pins}"
        " --lower-pins {input.lower_pins} --base {input.base} --output {output} 2> >(tee {log} >&2)"
