# One committed program, or one of a public report, in the new releases that `make radar` found.
rule radar_program:
    input:
        lambda wildcards: radar.inputs(config, wildcards.name),
    output:
        f"{radar.FOLDER}/{{name}}/{radar.ROWS}",
    log:
        f"{radar.FOLDER}/{{name}}/radar.log",
    threads: workflow.cores
    resources:
        **EXCLUSIVE_NODE,
    params:
        versions=lambda wildcards: str(radar.new()["versions"]),
    shell:
        "python -m stackwars.study.workflow.radar --program {wildcards.name} >{log} 2>&1"


rule radar:
    input:
        str(radar.NEW),
        lambda wildcards: [
            f"{radar.FOLDER}/{name}/{radar.ROWS}" for name in radar.new()["programs"]
        ],
    output:
        str(radar.TABLE),
    log:
        f"{radar.FOLDER}/radar.log",
    params:
        sources=step_digest("stackwars.study.workflow.radar"),
    shell:
        "python -m stackwars.study.workflow.radar --table >{log} 2>&1"
