# Programs for several devices: run on this machine's, where the CPU's threads are the devices, and compiled for
# slices of a TPU that is not here.


rule sharded:
    input:
        SHARDING_JOBS.sources,
        pins=SHARDING_JOBS.pins,
    output:
        directory(f"{ROOT}/sharded/{{frontend}}/{{workload}}/{{way}}{{devices}}"),
    log:
        f"{ROOT}/logs/sharded/{{frontend}}/{{workload}}/{{way}}{{devices}}.txt",
    threads: ALONE
    params:
        job=SHARDING_JOBS.job,
    shell:
        "python -m stackwars.compilers.sharded --job {params.job} --pins {input.pins} --output {output}"
        " 2> >(tee {log} >&2)"


rule slice:
    input:
        sources("stackwars.compilers.ahead_supervisor", "stackwars.compilers.ahead"),
        pins=SHARDING_JOBS.slice_pins,
        program=f"{ROOT}/programs/{{framework}}/{{workload}}/{{division}}/program.mlir.gz",
    output:
        result=f"{AHEAD}/{{division}}/ahead.json",
        optimised=f"{AHEAD}/{{division}}/optimised.hlo.gz",
    log:
        f"{ROOT}/logs/ahead/{{target}}/{{compiler}}/{{framework}}/{{workload}}/{{division}}.txt",
    priority: -1_000_000_000
    threads: HALF
    params:
        job=SHARDING_JOBS.slice,
    shell:
        "python -m stackwars.compilers.ahead_supervisor --job {params.job} --pins {input.pins}"
        " --program {input.program} --output $(dirname {output.result}) 2> >(tee {log} >&2)"


rule sharding:
    input:
        sources("stackwars.results.sharding"),
        [f"src/stackwars/workloads/{name}.py" for name in config["workloads"]],
        GRID.sharded(),
        GRID.slices(),
    output:
        GRID.made("sharding"),
    log:
        f"{OUT}/logs/sharding.txt",
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.results.sharding {params.step} >{log} 2>&1"
