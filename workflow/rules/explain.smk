# One program explained by the workflow: a target explain/<name>/explain.json finds <name>.py, <name>.mlir or the
# workload. `make explain` runs the same command, and no other target asks for this.


rule explain:
    input:
        lambda wildcards: explain.program_files.source(explain.find_program(wildcards.name)),
    output:
        answer=f"{explain.FOLDER}/{{name}}/explain.json",
        page=f"{explain.FOLDER}/{{name}}/explain.html",
        text=f"{explain.FOLDER}/{{name}}/explain.md",
    log:
        f"{explain.FOLDER}/{{name}}/explain.log",
    # What is timed runs alone.
    threads: workflow.cores
    resources:
        **EXCLUSIVE_NODE,
    params:
        program=lambda wildcards: explain.find_program(wildcards.name),
        options=explain.chosen(config.explain.document()),
        preset=config.preset,
        version=explain.driver.VERSION,
    shell:
        # Statuses 1 and 2 are answers.
        "{{ python -m stackwars.study.workflow.explain {params.program:q} {params.options} --preset {params.preset}"
        ' --output "$(dirname {output.answer:q})" || [ $? -lt 3 ]; }} 2>&1 | tee {log:q}'


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
