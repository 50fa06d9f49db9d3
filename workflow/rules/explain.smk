# One program explained: `make explain PROGRAM=softmax.py`, `make explain A=slow.mlir B=fast.mlir`, or a target
# explain/<name>/explain.html. No other target asks for these. src/stackwars/explain/plan.py says what each step reads.

EXPLAIN_JOBS = explain_jobs.ExplainJobs(
    config, EXPLAIN, lambda name: checkpoints.explain_table.get(name=name).output[0]
)
EXPLAINED = f"{explain_jobs.FOLDER}/{{name}}"
EXPLAIN_LOG = f"{explain_jobs.FOLDER}/{{name}}/logs"


rule explain:
    input:
        EXPLAIN_JOBS.pages,


rule explain_lower:
    input:
        EXPLAIN_JOBS.lower_sources,
        pins=EXPLAIN_JOBS.row("frontends", "frontend"),
    output:
        program=f"{EXPLAINED}/programs/{{frontend}}/program.mlir.gz",
        arguments=f"{EXPLAINED}/programs/{{frontend}}/arguments.json",
    log:
        f"{EXPLAIN_LOG}/lower-{{frontend}}.txt",
    threads: HALF_THREADS
    params:
        job=EXPLAIN_JOBS.job("lower", "frontend"),
        version=JOBS.version("lower"),
    shell:
        "python -m stackwars.setup.environments {input.pins} -- -m stackwars.compilers.lower"
        " --job {params.job} --output $(dirname {output.program}) >{log} 2>&1"


# A program file under its own name, which the lines of the answer are of.
rule explain_copy:
    input:
        EXPLAIN_JOBS.row("files", "label"),
    output:
        f"{EXPLAINED}/programs/{{label}}/{{label}}.{{suffix}}",
    log:
        f"{EXPLAIN_LOG}/copy-{{label}}.{{suffix}}.txt",
    wildcard_constraints:
        suffix="mlir|mlir.gz",
    shell:
        "cp {input} {output} >{log} 2>&1"


rule explain_expected:
    input:
        EXPLAIN_JOBS.sources,
        programs=EXPLAIN_JOBS.evaluated,
        pins=EXPLAIN_JOBS.judge_pins,
    output:
        document=f"{EXPLAINED}/expected/expected.json",
        arrays=f"{EXPLAINED}/expected/expected.npz",
    log:
        f"{EXPLAIN_LOG}/expected.txt",
    params:
        job=EXPLAIN_JOBS.job("expected"),
        version=JOBS.version("expected"),
    shell:
        "python -m stackwars.setup.environments {input.pins} -- -m stackwars.compilers.expected"
        " --job {params.job} --output $(dirname {output.document}) >{log} 2>&1"


rule explain_reference:
    input:
        EXPLAIN_JOBS.sources,
        program=lambda wildcards: EXPLAIN_JOBS.plan(wildcards.name).file(wildcards.label),
        pins=EXPLAIN_JOBS.judge_pins,
    output:
        document=f"{EXPLAINED}/expected/{{label}}/expected.json",
        arrays=f"{EXPLAINED}/expected/{{label}}/expected.npz",
    log:
        f"{EXPLAIN_LOG}/expected-{{label}}.txt",
    params:
        job=EXPLAIN_JOBS.job("reference", "label"),
        version=explain_jobs.VERSION,
    shell:
        "python -m stackwars.explain.reference --job {params.job} --output $(dirname {output.document}) >{log} 2>&1"


# What is timed runs alone.
rule explain_outcomes:
    input:
        EXPLAIN_JOBS.sources,
        EXPLAIN_JOBS.expected,
        programs=EXPLAIN_JOBS.programs,
        pins=EXPLAIN_JOBS.row("compilers", "compiler"),
    output:
        f"{EXPLAINED}/outcomes/{{compiler}}.json",
    log:
        f"{EXPLAIN_LOG}/outcomes-{{compiler}}.txt",
    threads: workflow.cores
    params:
        job=EXPLAIN_JOBS.job("outcomes", "compiler"),
        version=explain_jobs.VERSION,
    shell:
        "python -m stackwars.explain.outcomes --job {params.job} --output {output} >{log} 2>&1"


rule explain_native:
    input:
        EXPLAIN_JOBS.sources,
        EXPLAIN_JOBS.expected,
        pins=EXPLAIN_JOBS.row("natives", "framework"),
    output:
        f"{EXPLAINED}/native/{{framework}}.json",
    log:
        f"{EXPLAIN_LOG}/native-{{framework}}.txt",
    threads: workflow.cores
    params:
        job=EXPLAIN_JOBS.job("native", "framework"),
        version=explain_jobs.VERSION,
    shell:
        "python -m stackwars.setup.environments {input.pins} -- -m stackwars.explain.native"
        " --job {params.job} --output {output} >{log} 2>&1"


# Which questions there are is known from the table.
checkpoint explain_table:
    input:
        EXPLAIN_JOBS.expected,
        tried=EXPLAIN_JOBS.tried,
    output:
        f"{EXPLAINED}/table.json",
    log:
        f"{EXPLAIN_LOG}/table.txt",
    params:
        job=EXPLAIN_JOBS.job("plan"),
        version=explain_jobs.VERSION,
    shell:
        "python -m stackwars.explain.table --job {params.job} --output {output} >{log} 2>&1"


rule explain_question:
    input:
        EXPLAIN_JOBS.sources,
        # Times that were measured again change no question that is still asked.
        ancient(f"{EXPLAINED}/table.json"),
        programs=EXPLAIN_JOBS.programs,
    output:
        f"{EXPLAINED}/{{kind}}s/{{question}}/{{kind}}.json",
    log:
        f"{EXPLAIN_LOG}/{{kind}}-{{question}}.txt",
    wildcard_constraints:
        kind="cause|fault",
    threads: workflow.cores
    params:
        job=EXPLAIN_JOBS.question,
        version=explain_jobs.VERSION,
    shell:
        "python -m stackwars.explain.run_question {wildcards.kind} --job {params.job}"
        " --output $(dirname {output}) >{log} 2>&1"


rule explain_page:
    input:
        answers=EXPLAIN_JOBS.answers,
        table=f"{EXPLAINED}/table.json",
    output:
        page=f"{EXPLAINED}/explain.html",
        text=f"{EXPLAINED}/explain.md",
        document=f"{EXPLAINED}/explain.json",
    log:
        f"{EXPLAIN_LOG}/page.txt",
    params:
        job=EXPLAIN_JOBS.job("plan"),
        version=explain_jobs.VERSION,
    shell:
        "python -m stackwars.explain.page --job {params.job} --table {input.table} --answers {input.answers}"
        " --output $(dirname {output.page}) >{log} 2>&1"
