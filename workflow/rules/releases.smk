# Programs in several releases of a compiler: the study releases.


rule releases:
    input:
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
        sources=JOBS.digest("releases"),
        job=JOBS.spec("releases"),
        version=JOBS.version("releases"),
    shell:
        "python -m stackwars.study.releases --job {params.job} --output {output} >{log} 2>&1"
