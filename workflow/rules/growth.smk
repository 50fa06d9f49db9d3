# How the cost of compiling grows: a process for each value of a size, and one for all shapes.


rule growth_process:
    input:
        GROWTH_JOBS.sources,
        pins=GROWTH_JOBS.pins,
    output:
        directory(f"{ROOT}/growth/{{framework}}/{{workload}}/{{size}}-{{value}}"),
    log:
        f"{ROOT}/logs/growth/{{framework}}/{{workload}}/{{size}}-{{value}}.txt",
    priority: 1
    threads: ALONE
    params:
        job=GROWTH_JOBS.job,
    shell:
        "python -m stackwars.measure.growth --job {params.job} --pins {input.pins} --output {output}"
        " 2> >(tee {log} >&2)"


rule growth:
    input:
        sources("stackwars.results.growth"),
        [f"src/stackwars/workloads/{name}.py" for name in config["workloads"]],
        GRID.grown(),
    output:
        GRID.made("growth", "shapes"),
    log:
        f"{OUT}/logs/growth.txt",
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.results.growth {params.step} >{log} 2>&1"
