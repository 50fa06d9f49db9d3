# From the cells, replays and compilations to the tables, figures, listings and findings. Every step has the
# same arguments: the configuration, the folder of results, and the folder of what was measured.

COMPARED = ("replay", "split", "ahead", "largest_batch", "metrics", "structure")


rule frame:
    input:
        sources("stackwars.results.aggregate"),
        [f"src/stackwars/workloads/{name}/__init__.py" for name in config["workloads"]],
        lambda wildcards: GRID.peaks(GRID.found()),
        f"{CELLS}/devices.json",
        GRID.files(GRID.on_cpu, "cell.json"),
        GRID.found_files("cell.json"),
        GRID.found_files("output.npy"),
        lambda wildcards: together(GRID.on_cpu),
        lambda wildcards: together(GRID.found()),
        [] if GRID.is_measured else GRID.reference(),
    output:
        GRID.made("frame", "processes", "calls", "ratios", "context"),
    log:
        f"{OUT}/logs/frame.txt",
    group:
        MADE
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.results.aggregate {params.step} >{log} 2>&1"


rule variance:
    input:
        sources("stackwars.results.variance"),
        GRID.made("processes", "ratios", "context"),
        [] if GRID.is_measured else GRID.reference(),
    output:
        GRID.made("variance"),
    log:
        f"{OUT}/logs/variance.txt",
    group:
        MADE
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.results.variance {params.step} >{log} 2>&1"


rule held_out:
    input:
        sources("stackwars.results.held_out"),
        [] if GRID.is_measured else GRID.reference(),
    output:
        GRID.made("held_out"),
    log:
        f"{OUT}/logs/held_out.txt",
    group:
        MADE
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.results.held_out {params.step} >{log} 2>&1"


# Of a study that this run measures in part, the rest is from the reference.
rule stacks:
    input:
        sources("stackwars.results.stacks"),
        GRID.made("frame", "ratios"),
        GRID.reference(),
    output:
        GRID.made("stacks"),
    log:
        f"{OUT}/logs/stacks.txt",
    group:
        MADE
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.results.stacks {params.step} >{log} 2>&1"


rule beyond:
    input:
        sources("stackwars.results.beyond"),
        [f"src/stackwars/workloads/{name}/__init__.py" for name in config["workloads"]],
        GRID.made("frame", "ratios"),
        GRID.reference(),
    output:
        GRID.made("beyond"),
    log:
        f"{OUT}/logs/beyond.txt",
    group:
        MADE
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.results.beyond {params.step} >{log} 2>&1"


rule matrix:
    input:
        sources("stackwars.results.matrix"),
        GRID.made("replay", "replayed"),
        GRID.reference(),
    output:
        GRID.made("matrix", "matrix_effects"),
    log:
        f"{OUT}/logs/matrix.txt",
    group:
        MADE
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.results.matrix {params.step} >{log} 2>&1"


rule fused:
    input:
        sources("stackwars.results.fused"),
        GRID.forms(),
    output:
        GRID.made("fused"),
    log:
        f"{OUT}/logs/fused.txt",
    group:
        MADE
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.results.fused {params.step} >{log} 2>&1"


rule tables:
    input:
        sources("stackwars.paper.tables.write"),
        GRID.made(*COMPARED, "gap_causes", "frame", "ratios", "context", "claims", "variance"),
        GRID.made("stacks", "beyond", "sharding", "matrix", "matrix_effects"),
        "paper/published/tables.csv",
        "paper/published/lecture.csv",
        "config/claims.yaml",
        "config/evaluation.yaml",
    output:
        directory(GRID.made("tables", "claim_tables")),
    log:
        f"{OUT}/logs/tables.txt",
    group:
        MADE
    params:
        step=GRID.step,
        # The audits are read where there are any; not an input, for nobody has to run them.
        digest=AUDIT_JOBS.digest(),
    shell:
        "python -m stackwars.paper.tables.write {params.step} >{log} 2>&1"


rule figures:
    input:
        sources("stackwars.paper.figures.write"),
        GRID.made(
            "frame", "calls", "ratios", "replay", "split", "op_times", "context", "graph_data"
        ),
        GRID.made("stacks", "beyond", "growth", "matrix", "matrix_effects", "claims"),
    output:
        directory(GRID.made("figures", "graphs")),
    log:
        f"{OUT}/logs/figures.txt",
    group:
        MADE
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.paper.figures.write {params.step} >{log} 2>&1"


# In jax's environment, for the MLIR bindings: what every program is made of, at three levels.
rule ir_metrics:
    input:
        sources("stackwars.results.program_metrics"),
        [f"src/stackwars/workloads/{name}/__init__.py" for name in config["workloads"]],
        "envs/jax.txt",
        GRID.texts(GRID.base_programs()),
        GRID.base_compilations(),
    output:
        GRID.made("metrics", "structure"),
    log:
        f"{OUT}/logs/ir_metrics.txt",
    group:
        MADE
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.setup.environments envs/jax.txt -- -m stackwars.results.program_metrics"
        " {params.step} 2> >(tee {log} >&2)"


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
    group:
        MADE
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.setup.environments envs/jax.txt -- -m stackwars.paper.listings"
        " {params.step} 2> >(tee {log} >&2)"


rule findings:
    input:
        sources("stackwars.findings.collect"),
        GRID.made(*COMPARED, "frame", "ratios", "context", "held_out", "fused"),
        GRID.made("stacks", "beyond", "growth", "shapes", "sharding"),
        GRID.made("matrix", "matrix_effects"),
        "paper/published/tables.csv",
        "paper/published/lecture.csv",
    output:
        GRID.made("findings"),
    log:
        f"{OUT}/logs/findings.txt",
    group:
        MADE
    params:
        step=GRID.step,
        digest=AUDIT_JOBS.digest(),
    shell:
        "python -m stackwars.findings.collect {params.step} >{log} 2>&1"
