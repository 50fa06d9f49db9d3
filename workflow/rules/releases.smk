# Programs in several releases of a compiler: those of the study releases, and those that `make releases` is asked about.


rule releases:
    input:
        JOBS.sources("releases"),
        JOBS.expected,
        program=f"{ROOT}/programs/{{framework}}/{{workload}}/base/program.mlir.gz",
        arguments=f"{ROOT}/programs/{{framework}}/{{workload}}/base/arguments.json",
        pins=JOBS.pins("releases"),
    output:
        f"{ROOT}/releases/{{project}}/{{framework}}/{{workload}}.json",
    log:
        f"{ROOT}/logs/releases/{{project}}/{{framework}}/{{workload}}.txt",
    # Its processes are compared with each other, so that no other job may run.
    threads: EXCLUSIVE_THREADS
    resources:
        **EXCLUSIVE_NODE,
    params:
        job=JOBS.spec("releases"),
        version=JOBS.version("releases"),
    shell:
        "python -m stackwars.explain.releases --job {params.job} --output {output} >{log} 2>&1"


# Of one program, by name: `make releases PROGRAM=softmax.py` (or mha, or slow.mlir).
rule program_release:
    input:
        JOBS.sources("releases"),
        RELEASES.files,
        pins=JOBS.pins("releases"),
    output:
        f"{release_jobs.FOLDER}/{{name}}/releases/{{project}}.{{label}}.json",
    log:
        f"{release_jobs.FOLDER}/{{name}}/logs/releases-{{project}}.{{label}}.txt",
    threads: EXCLUSIVE_THREADS
    params:
        job=RELEASES.job,
        version=JOBS.version("releases"),
    shell:
        "python -m stackwars.explain.releases --job {params.job} --output {output} 2>&1 | tee {log}"


rule program_releases:
    input:
        RELEASES.wanted,
