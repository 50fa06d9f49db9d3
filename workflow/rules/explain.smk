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
        preset=config["preset"],
        version=explain.driver.VERSION,
    shell:
        # Statuses 1 and 2 are answers.
        "{{ python -m stackwars.study.workflow.explain {params.program:q} {params.options} --preset {params.preset}"
        ' --output "$(dirname {output.answer:q})" || [ $? -lt 3 ]; }} 2>&1 | tee {log:q}'
