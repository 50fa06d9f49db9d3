# From the cells, replays and compilations to the tables, figures, listings and findings. Every step has the
# same arguments: the configuration, the folder of results, and the folder of what was measured.

COMPARED = ("replay", "split", "ahead", "largest_batch", "metrics", "structure")


rule frame:
    input:
        sources("stackwars.results.aggregate"),
        [f"src/stackwars/workloads/{name}.py" for name in config["workloads"]],
        lambda wildcards: GRID.peaks(GRID.found()),
        f"{CELLS}/devices.json",
        GRID.files(GRID.on_cpu, "cell.json"),
        GRID.found_files("cell.json"),
        GRID.found_files("output.npy"),
        GRID.dated(),
        lambda wildcards: together(GRID.on_cpu),
        lambda wildcards: together(GRID.found()),
        [] if GRID.is_measured else GRID.reference(),
    output:
        GRID.made("frame", "processes", "calls", "ratios", "context"),
    log:
        f"{OUT}/logs/frame.txt",
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.results.aggregate {params.step} >{log} 2>&1"


# Of a study that this run measures in part, the rest is from the reference.
rule stacks:
    input:
        sources(*STEPS["stacks"]),
        [f"src/stackwars/workloads/{name}.py" for name in config["workloads"]],
        GRID.made("processes", "frame", "ratios", "context"),
        GRID.reference(),
    output:
        GRID.made("variance", "held_out", "stacks", "beyond"),
    log:
        f"{OUT}/logs/stacks.txt",
    params:
        step=GRID.step,
        modules=STEPS["stacks"],
    shell:
        "python -m stackwars.workflow.steps {params.modules} {params.step} >{log} 2>&1"


rule fused:
    input:
        sources("stackwars.results.fused"),
        GRID.forms(),
    output:
        GRID.made("fused"),
    log:
        f"{OUT}/logs/fused.txt",
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.results.fused {params.step} >{log} 2>&1"


rule tables:
    input:
        sources("stackwars.paper.tables.write"),
        GRID.made(*COMPARED, "gap_causes", "frame", "ratios", "context", "claims", "variance"),
        GRID.made("stacks", "beyond", "sharding", "matrix", "matrix_effects", "matrix_subsets"),
        "paper/published/tables.csv",
        "paper/published/lecture.csv",
        "config/claims.yaml",
        "config/evaluation.yaml",
    output:
        directory(GRID.made("tables", "claim_tables")),
    log:
        f"{OUT}/logs/tables.txt",
    params:
        step=GRID.step,
        # The audits are read where there are any; not an input, for nobody has to run them.
        digest=AUDIT_JOBS.digest(),
    shell:
        "python -m stackwars.paper.tables.write {params.step} >{log} 2>&1"


rule cell_figures:
    input:
        sources("stackwars.paper.figures.of_cells"),
        GRID.made("frame", "calls", "ratios", "context", "stacks", "beyond", "growth"),
    output:
        directory(GRID.made("cell_figures")),
    log:
        f"{OUT}/logs/cell_figures.txt",
    # The longest steps: what waits for them waits less when they begin first.
    priority: 1
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.workflow.steps stackwars.paper.figures.of_cells {params.step} >{log} 2>&1"


rule compiler_figures:
    input:
        sources("stackwars.paper.figures.of_compilers"),
        GRID.made("frame", "split", "op_times", "context", "matrix", "matrix_effects"),
        GRID.made("graph_data"),
    output:
        directory(GRID.made("compiler_figures", "graphs")),
    log:
        f"{OUT}/logs/compiler_figures.txt",
    priority: 1
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.workflow.steps stackwars.paper.figures.of_compilers {params.step} >{log} 2>&1"


rule claim_figures:
    input:
        sources("stackwars.paper.figures.of_claims"),
        GRID.made("claims", "context"),
        GRID.reference(),
    output:
        directory(GRID.made("claim_figures")),
    log:
        f"{OUT}/logs/claim_figures.txt",
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.workflow.steps stackwars.paper.figures.of_claims {params.step} >{log} 2>&1"


# In jax's environment, for the MLIR bindings: what every program is made of, at three levels.
rule ir_metrics:
    input:
        sources("stackwars.results.program_metrics"),
        [f"src/stackwars/workloads/{name}.py" for name in config["workloads"]],
        "envs/jax.txt",
        GRID.texts(GRID.base_programs()),
        GRID.base_compilations(),
        sources("stackwars.results.whole_programs"),
        GRID.reference(),
    output:
        GRID.made("metrics", "structure"),
    log:
        f"{OUT}/logs/ir_metrics.txt",
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.setup.environments envs/jax.txt -- -m stackwars.results.program_metrics"
        " {params.step} 2> >(tee {log} >&2)"
        " && python -m stackwars.results.whole_programs {params.step} 2> >(tee -a {log} >&2)"


# In jax's environment, for the MLIR bindings.
rule listings:
    input:
        sources("stackwars.paper.listings"),
        "envs/jax.txt",
        [file for row in GRID.listed().values() for file in GRID.files(row, "stablehlo.mlir.gz")],
        GRID.listed_elsewhere(),
        GRID.texts(GRID.drawn()),
        GRID.forms(),
    output:
        directory(GRID.made("listings")),
        GRID.made("graph_data"),
    log:
        f"{OUT}/logs/listings.txt",
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.setup.environments envs/jax.txt -- -m stackwars.paper.listings"
        " {params.step} 2> >(tee {log} >&2)"
