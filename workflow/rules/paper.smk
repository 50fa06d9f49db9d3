# From the tables to the paper and the report. A section shows this run if the run measured its study, else the
# reference, so every step has the tables of both.

TITLES = [WORKLOADS, FRAMEWORKS]
SHOWN = [TITLES, "config/claims.yaml", GRID.both(*TABLES, "context")]
COMPARED = ("claims", "cells", "programs", "comparisons", "effects", "context")
DRAWN = ("cells", "comparisons", "profile", "effects", "releases", "context")
TYPESET = GRID.result_paths("reproduction", "tables", *FIGURES, "listings")
CPU_CELLS = GRID.files(GRID.cpu_cells, "cell.json")
REPLAYS = GRID.replays("replay.json", "profile.json")
EXPLAINED = sorted(str(path) for path in Path(REFERENCE, "explain").glob("*.json"))
PAGE = sorted(str(path) for path in Path("src/stackwars/publish/report/page").iterdir())
ANALYSIS = "stackwars.core.ir.__main__"
REPORTED = GRID.result_paths("reproduction", "report_programs")
# asks: modules that jax's environment, which has MLIR's bindings, runs for the step. shows_audits: reads the audits, which are no input.
STEPS = {
    "reference_tables": dict(
        runs="stackwars.study.results.reference",
        reads=[COLUMNS, GRID.accepted()],
        writes=[as_table(path) for path in GRID.reference_paths(*MEASURED_TABLES)],
        step=GRID.reference_args,
    ),
    "reproduction": dict(
        runs="stackwars.study.claims.compare",
        reads=[FRAMEWORKS, "config/claims.yaml", GRID.both(*COMPARED)],
        writes=GRID.result_paths("reproduction", "reproduction_text"),
    ),
    "paper_tables": dict(
        runs="stackwars.publish.paper.tables.write",
        reads=[SHOWN, PUBLISHED, "config/evaluation.yaml"],
        writes=directory(GRID.result_paths("tables")),
        shows_audits=True,
    ),
    # The figures are the longest steps: what waits for them waits less if they begin first.
    "cell_figures": dict(
        runs="stackwars.publish.paper.figures.of_cells",
        reads=[TITLES, GRID.both("cells", "rounds", "comparisons", "context"), CPU_CELLS],
        writes=directory(GRID.result_paths("cell_figures")),
        priority=1,
    ),
    "compiler_figures": dict(
        runs="stackwars.publish.paper.figures.of_compilers",
        reads=[TITLES, GRID.both(*DRAWN), GRID.result_paths("graphs")],
        writes=directory(GRID.result_paths("compiler_figures")),
        priority=1,
    ),
    "listings": dict(
        runs="stackwars.publish.paper.listings",
        reads=[GRID.listings(), GRID.drawn(), GRID.forms()],
        writes=directory(GRID.result_paths("listings", "graphs")),
        asks=[ANALYSIS],
    ),
    "latex": dict(
        runs="stackwars.publish.paper.render",
        reads=[SHOWN, PUBLISHED, paper_files(), TYPESET],
        writes=directory(GRID.result_paths("latex")),
        shows_audits=True,
    ),
    "report_programs": dict(
        runs="stackwars.publish.report.programs",
        reads=[GRID.emitted(), GRID.located(), GRID.optimised()],
        writes=GRID.result_paths("report_programs"),
        asks=[ANALYSIS],
    ),
    "report": dict(
        runs="stackwars.publish.report.write",
        options="--output report.html",
        reads=[SHOWN, PAGE, "docs/glossary.md", EXPLAINED, REPORTED, CPU_CELLS, REPLAYS],
        writes=report("report.html", caption="../report/report.rst", category="Paper"),
        priority=-1,  # nothing waits for it
        shows_audits=True,
    ),
}

for step, row in STEPS.items():

    rule:
        name:
            step
        input:
            row["reads"],
            pins=["envs/jax.txt"] if "asks" in row else [],
        output:
            row["writes"],
        log:
            f"{OUT}/logs/{step}.txt",
        priority: row.get("priority", 0)
        group:
            "made"
        params:
            sources=step_digest(row["runs"], *row.get("asks", [])),
            module=row["runs"],
            step=row.get("step", GRID.step_args),
            options=row.get("options", ""),
            digest=AUDIT_JOBS.digest(CELLS, REFERENCE) if row.get("shows_audits") else "",
        shell:
            "python -m {params.module} {params.step} {params.options} >{log} 2>&1"


rule typeset:
    input:
        GRID.result_paths("latex"),
    output:
        report("paper.pdf", caption="../report/paper.rst", category="Paper"),
    log:
        f"{OUT}/logs/latexmk.txt",
    group:
        "made"
    params:
        # A fixed date: the same results give the same bytes, whenever they are typeset.
        date=946684800,
        # The text of another run may be longer; that of the reference is the authors' to shorten.
        length=branch(
            config.source == "reference",
            then=f" && python -m stackwars.publish.paper.prose {OUT}/latex/main.aux",
            otherwise="",
        ),
    shell:
        "(SOURCE_DATE_EPOCH={params.date} FORCE_SOURCE_DATE=1 latexmk -cd -pdf -halt-on-error"
        " -interaction=nonstopmode -silent {input}/main.tex{params.length}) >{log} 2>&1"
        " && cp {input}/main.pdf {output}"
