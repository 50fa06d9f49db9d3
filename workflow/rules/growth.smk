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
    threads: EXCLUSIVE_THREADS
    params:
        job=GROWTH_JOBS.job,
    shell:
        "python -m stackwars.measure.supervisor --job {params.job} --pins {input.pins} --output {output}"
        " 2> >(tee {log} >&2)"
