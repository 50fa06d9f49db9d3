# From the tables to the paper and the report. A section shows this run if the run measured its study, else the
# reference, so every step has the tables of both.


rule paper_tables:
    input:
        WORKLOADS,
        FRAMEWORKS,
        PUBLISHED,
        "config/claims.yaml",
        "config/evaluation.yaml",
        tables=GRID.both(*TABLES, "context"),
    output:
        directory(GRID.result_paths("tables")),
    log:
        f"{OUT}/logs/paper_tables.txt",
    group:
        "made"
    params:
        sources=step_digest("stackwars.publish.paper.tables.write"),
        step=GRID.step_args,
        digest=AUDIT_JOBS.digest(CELLS, REFERENCE),
    shell:
        "python -m stackwars.publish.paper.tables.write {params.step} >{log} 2>&1"


rule cell_figures:
    input:
        WORKLOADS,
        FRAMEWORKS,
        tables=GRID.both("cells", "rounds", "comparisons", "context"),
        cells=GRID.files(GRID.cpu_cells, "cell.json"),
    output:
        directory(GRID.result_paths("cell_figures")),
    log:
        f"{OUT}/logs/cell_figures.txt",
    # The longest steps: what waits for them waits less when they begin first.
    priority: 1
    group:
        "made"
    params:
        sources=step_digest("stackwars.publish.paper.figures.of_cells"),
        step=GRID.step_args,
    shell:
        "python -m stackwars.publish.paper.figures.of_cells {params.step} >{log} 2>&1"


rule compiler_figures:
    input:
        WORKLOADS,
        FRAMEWORKS,
        tables=GRID.both("cells", "comparisons", "profile", "effects", "releases", "context"),
        graphs=GRID.result_paths("graphs"),
    output:
        directory(GRID.result_paths("compiler_figures")),
    log:
        f"{OUT}/logs/compiler_figures.txt",
    priority: 1
    group:
        "made"
    params:
        sources=step_digest("stackwars.publish.paper.figures.of_compilers"),
        step=GRID.step_args,
    shell:
        "python -m stackwars.publish.paper.figures.of_compilers {params.step} >{log} 2>&1"


# In jax's environment, for the MLIR bindings.
rule listings:
    input:
        pins="envs/jax.txt",
        listed=GRID.listings(),
        drawn=GRID.drawn(),
        compiler_forms=GRID.forms(),
    output:
        directory(GRID.result_paths("listings", "graphs")),
    log:
        f"{OUT}/logs/listings.txt",
    group:
        "made"
    params:
        sources=step_digest("stackwars.publish.paper.listings"),
        step=GRID.step_args,
    shell:
        "python -m stackwars.setup.environments {input.pins} -- -m stackwars.publish.paper.listings"
        " {params.step} >{log} 2>&1"


rule latex:
    input:
        WORKLOADS,
        FRAMEWORKS,
        PUBLISHED,
        "config/claims.yaml",
        texts=paper_files(),
        data=GRID.both(*TABLES, "context"),
        reproduction=GRID.result_paths("reproduction"),
        made=GRID.result_paths("tables", *FIGURES, "listings"),
    output:
        directory(GRID.result_paths("latex")),
    log:
        f"{OUT}/logs/latex.txt",
    group:
        "made"
    params:
        sources=step_digest("stackwars.publish.paper.render"),
        step=GRID.step_args,
        digest=AUDIT_JOBS.digest(CELLS, REFERENCE),
    shell:
        "python -m stackwars.publish.paper.render {params.step} >{log} 2>&1"


rule typeset:
    input:
        GRID.result_paths("latex"),
    output:
        "paper.pdf",
    log:
        f"{OUT}/logs/latexmk.txt",
    group:
        "made"
    params:
        # A fixed date: the same results give the same bytes, whenever they are typeset.
        date=946684800,
        # The text of another run may be longer; that of the reference is the authors' to shorten.
        length=branch(
            config["source"] == "reference",
            then=f" && python -m stackwars.publish.paper.prose {OUT}/latex/main.aux",
            otherwise="",
        ),
    shell:
        "(SOURCE_DATE_EPOCH={params.date} FORCE_SOURCE_DATE=1 latexmk -cd -pdf -halt-on-error"
        " -interaction=nonstopmode -silent {input}/main.tex{params.length}) >{log} 2>&1"
        " && cp {input}/main.pdf {output}"


# In jax's environment, for the MLIR bindings.
rule report_programs:
    input:
        pins="envs/jax.txt",
        emitted=GRID.emitted(),
        located=GRID.located(),
        optimised=GRID.optimised(),
    output:
        GRID.result_paths("report_programs"),
    log:
        f"{OUT}/logs/report_programs.txt",
    group:
        "made"
    params:
        sources=step_digest("stackwars.publish.report.programs"),
        step=GRID.step_args,
    shell:
        "python -m stackwars.setup.environments {input.pins} -- -m stackwars.publish.report.programs"
        " {params.step} >{log} 2>&1"


rule report:
    input:
        WORKLOADS,
        FRAMEWORKS,
        "config/claims.yaml",
        page=sorted(str(path) for path in Path("src/stackwars/publish/report/page").iterdir()),
        glossary="docs/glossary.md",
        explained=sorted(str(path) for path in Path("results/reference/explain").glob("*.json")),
        tables=GRID.both(*TABLES, "context"),
        reproduction=GRID.result_paths("reproduction"),
        programs=GRID.result_paths("report_programs"),
        cells=GRID.files(GRID.cpu_cells, "cell.json"),
        replays=GRID.replays("replay.json", "profile.json"),
    output:
        "report.html",
    log:
        f"{OUT}/logs/report.txt",
    # Nothing waits for it.
    priority: -1
    group:
        "made"
    params:
        sources=step_digest("stackwars.publish.report.write"),
        step=GRID.step_args,
        digest=AUDIT_JOBS.digest(CELLS, REFERENCE),
    shell:
        "python -m stackwars.publish.report.write {params.step} --output {output} >{log} 2>&1"
