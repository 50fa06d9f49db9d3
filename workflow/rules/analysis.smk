# From the cells, replays and compilations to the tables, figures, listings and findings.

COMPARED = {
    "replay": f"{OUT}/replay.csv",
    "split": f"{OUT}/split.csv",
    "ahead": f"{OUT}/compile_ahead.csv",
    "largest_batch": f"{OUT}/largest_batch.csv",
    "metrics": f"{OUT}/ir_metrics.csv",
    "structure": f"{OUT}/structure.csv",
}


rule frame:
    input:
        sources("stackwars.results.aggregate"),
        [f"src/stackwars/workloads/{name}/__init__.py" for name in config["workloads"]],
        peaks,
        devices=f"{CELLS}/devices.json",
        cpu=cell_files(cells_on_cpu(), "cell.json"),
        cells=result_files("cell.json"),
        outputs=result_files("output.npy"),
    output:
        processes=f"{OUT}/processes.csv",
        frame=f"{OUT}/frame.csv",
        calls=f"{OUT}/calls.csv",
        ratios=f"{OUT}/ratios.csv",
        context=f"{OUT}/context.json",
    log:
        f"{OUT}/logs/frame.txt",
    params:
        config=CONFIG,
    shell:
        "python -m stackwars.results.aggregate --config {params.config}"
        " --results $(dirname {input.devices}) --output $(dirname {output.frame}) >{log} 2>&1"


rule tables:
    input:
        sources("stackwars.paper.tables.write"),
        **COMPARED,
        frame=f"{OUT}/frame.csv",
        ratios=f"{OUT}/ratios.csv",
        context=f"{OUT}/context.json",
        published="paper/published/tables.csv",
    output:
        directory(f"{OUT}/tables"),
    log:
        f"{OUT}/logs/tables.txt",
    params:
        # Read where there are any; not an input, for nobody has to run them.
        audits=f"{CELLS}/audits.json",
        digest=audits_digest(),
    shell:
        "python -m stackwars.paper.tables.write --frame {input.frame} --ratios {input.ratios}"
        " --context {input.context} --published {input.published} --replay {input.replay}"
        " --split {input.split} --ahead {input.ahead} --largest_batch {input.largest_batch}"
        " --metrics {input.metrics} --structure {input.structure} --audits {params.audits}"
        " --output-dir {output} >{log} 2>&1"


rule figures:
    input:
        sources("stackwars.paper.figures.write"),
        frame=f"{OUT}/frame.csv",
        calls=f"{OUT}/calls.csv",
        ratios=f"{OUT}/ratios.csv",
        replay=f"{OUT}/replay.csv",
        split=f"{OUT}/split.csv",
        context=f"{OUT}/context.json",
    output:
        directory(f"{OUT}/figures"),
    log:
        f"{OUT}/logs/figures.txt",
    shell:
        "python -m stackwars.paper.figures.write --frame {input.frame} --calls {input.calls}"
        " --ratios {input.ratios} --replay {input.replay} --split {input.split}"
        " --context {input.context} --output-dir {output} >{log} 2>&1"


# In jax's environment, for the MLIR bindings: what every program is made of, at three levels.
rule ir_metrics:
    input:
        sources("stackwars.results.program_metrics"),
        [f"src/stackwars/workloads/{name}/__init__.py" for name in config["workloads"]],
        "envs/jax.txt",
        programs=base_programs(),
        ahead=base_compilations(),
    output:
        metrics=f"{OUT}/ir_metrics.csv",
        structure=f"{OUT}/structure.csv",
    log:
        f"{OUT}/logs/ir_metrics.txt",
    params:
        files=job_files.arguments(
            "metrics",
            [
                *(
                    f"--program={p.workload}/{p.framework}={CELLS}/{p.path}/program.mlir.gz"
                    for p in BASE_PROGRAMS
                ),
                *(f"--ahead={path}" for path in base_compilations()),
            ],
        ),
        origin="measured" if MEASURED else "reference",
    shell:
        "python -m stackwars.setup.environments envs/jax.txt -- -m stackwars.results.program_metrics"
        " {params.files} --metrics-output {output.metrics}"
        " --structure-output {output.structure} --origin {params.origin} 2> >(tee {log} >&2)"


rule graph:
    input:
        sources("stackwars.ir.graph"),
        "envs/jax.txt",
        programs=[f"{CELLS}/{p.path}/program.mlir.gz" for p in DRAWN],
    output:
        f"{OUT}/graphs.json",
    log:
        f"{OUT}/logs/graph.txt",
    params:
        programs=[
            f"--program {p.workload}/{p.framework}={CELLS}/{p.path}/program.mlir.gz" for p in DRAWN
        ],
    shell:
        "python -m stackwars.setup.environments envs/jax.txt -- -m stackwars.ir.graph {params.programs}"
        " --output {output} 2> >(tee {log} >&2)"


rule graph_figures:
    input:
        sources("stackwars.paper.figures.graph"),
        graphs=f"{OUT}/graphs.json",
    output:
        directory(f"{OUT}/graphs"),
    log:
        f"{OUT}/logs/graph_figures.txt",
    shell:
        "python -m stackwars.paper.figures.graph --graphs {input.graphs} --output-dir {output} >{log} 2>&1"


# In jax's environment, for the MLIR bindings.
rule listings:
    input:
        sources("stackwars.paper.listings"),
        "envs/jax.txt",
        programs=[program(f, workload) for workload in LISTED for f in LISTED_FRAMEWORKS],
    output:
        directory(f"{OUT}/listings"),
    log:
        f"{OUT}/logs/listings.txt",
    params:
        workloads=[
            f"--workload {workload}="
            + ",".join(program(framework, workload) for framework in LISTED_FRAMEWORKS)
            for workload in LISTED
        ],
    shell:
        "python -m stackwars.setup.environments envs/jax.txt -- -m stackwars.paper.listings"
        " {params.workloads} --output-dir {output} 2> >(tee {log} >&2)"


rule findings:
    input:
        sources("stackwars.findings.collect"),
        **COMPARED,
        frame=f"{OUT}/frame.csv",
        ratios=f"{OUT}/ratios.csv",
        context=f"{OUT}/context.json",
        published="paper/published/tables.csv",
    output:
        f"{OUT}/findings.json",
    log:
        f"{OUT}/logs/findings.txt",
    params:
        audits=f"{CELLS}/audits.json",
        digest=audits_digest(),
    shell:
        "python -m stackwars.findings.collect --frame {input.frame} --ratios {input.ratios}"
        " --context {input.context} --published {input.published}"
        " --replay {input.replay} --split {input.split} --ahead {input.ahead}"
        " --largest_batch {input.largest_batch} --metrics {input.metrics} --structure {input.structure}"
        " --audits {params.audits} --output {output} >{log} 2>&1"
