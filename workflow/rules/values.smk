# Right or wrong: what a workload's outputs should be, and every program in every compiler, compared with that.
# Nothing here is timed.

EXPECTED = f"{ROOT}/expected/{{workload}}/{{variant}}"
CHECK = f"{ROOT}/checks/{{compiler}}/{{workload}}/{{variant}}"


rule expected:
    input:
        pins=JOBS.pins("expected"),
        programs=JOBS.evaluated,
    output:
        document=f"{EXPECTED}/expected.json",
        arrays=f"{EXPECTED}/expected.npz",
    log:
        f"{ROOT}/logs/expected/{{workload}}/{{variant}}.txt",
    # As lowering: every cell and every check of the workload waits for it.
    priority: 11
    group:
        "compiled-{workload}"
    threads: HALF_THREADS
    resources:
        mem_mb=COMPILING_MB,
    params:
        sources=JOBS.digest("expected"),
        job=JOBS.spec("expected"),
        version=JOBS.version("expected"),
    shell:
        "python -m stackwars.measure.stablehlo.expected --job {params.job} --pins {input.pins}"
        " --output $(dirname {output.document}) >{log} 2>&1"


# variant: the preset's sizes, for a replay, or odd ones.
rule check:
    input:
        JOBS.expected,
        pins=JOBS.pins("check"),
        programs=JOBS.checked,
    output:
        document=f"{CHECK}/check.json",
        executables=directory(f"{CHECK}/executables"),
    log:
        f"{ROOT}/logs/checks/{{compiler}}/{{workload}}/{{variant}}.txt",
    priority: 11
    group:
        "compiled-{workload}"
    threads: HALF_THREADS
    resources:
        mem_mb=COMPILING_MB,
    params:
        sources=JOBS.digest("check"),
        job=JOBS.spec("check"),
        version=JOBS.version("check"),
    shell:
        "python -m stackwars.measure.stablehlo.check --job {params.job} --pins {input.pins}"
        " --output $(dirname {output.document}) >{log} 2>&1"
