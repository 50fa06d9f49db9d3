# From the measurements to tables, claims, the paper and the report: a row for each step that makes files from files. A
# section of the paper shows this run if the run measured its study, else the reference: its steps have the tables of both.

DEVICES = f"{CELLS}/devices.json"
TITLES = [WORKLOADS, FRAMEWORKS]
CLAIMED = [COLUMNS, PUBLISHED, "config/claims.yaml", "workflow/schemas/claims.schema.yaml"]
SHOWN = [TITLES, "config/claims.yaml", GRID.both(*TABLES, "context")]
COMPARED = ("claims", "cells", "programs", "comparisons", "effects", "context")
DRAWN = ("cells", "comparisons", "profile", "effects", "releases", "context")
TYPESET = GRID.result_paths("reproduction", "tables", *FIGURES, "listings")
MEASURED_NAMES = [Path(path).name for path in GRID.result_paths(*MEASURED_TABLES)]
CPU_CELLS = GRID.files(GRID.cpu_cells, "cell.json")
REPLAYS = GRID.replays("replay.json", "profile.json")
EXPLAINED = sorted(str(path) for path in Path(REFERENCE, "explain").glob("*.json"))
PAGE = sorted(str(path) for path in Path("src/stackwars/publish/report/page").iterdir())
ANALYSIS = "stackwars.core.ir.__main__"
REPORTED = GRID.result_paths("reproduction", "report_programs")
# asks: modules that jax's environment, which has MLIR's bindings, runs for the step. shows_audits: reads the audits, which
# are no input. folders: where the step can make tables.
STEPS = {
    # Every program of the run, or of one claim, is analysed.
    "program_forms": dict(
        runs="stackwars.study.results.programs",
        reads=CLAIM_JOBS.programs,
        writes="{results}/program_forms.json",
        folders=f"{ROOT}|{CLAIM_JOBS.folder}/[a-z][a-z0-9_]*",
        step=CLAIM_JOBS.args,
        log="{results}/logs/program_forms.txt",
        asks=[ANALYSIS],
    ),
    # Its group is in the profiles of clusters: Snakemake 9.27 ends a dry run with a KeyError if a rule has one whose
    # input awaits a checkpoint.
    "tables": dict(
        runs="stackwars.study.results.tables",
        reads=[
            [COLUMNS, WORKLOADS, PUBLISHED, DEVICES],
            # Without those of other devices, which are known late: the graph of jobs is planned sooner.
            CPU_CELLS,
            GRID.available_files("cell.json", "output.npy"),
            lambda wildcards: GRID.peaks(GRID.available_cells()),
            [REPLAYS, GRID.other_results()],
            [f"{ROOT}/program_forms.json"] if GRID.base_programs() else [],
        ],
        writes=[as_table(f"{ROOT}/{name}") for name in MEASURED_NAMES],
        group=None,
    ),
    # Most of what is left waits for it.
    "claims": dict(
        runs="stackwars.study.claims.decide",
        reads=[TITLES, CLAIMED, [f"{{results}}/{name}" for name in MEASURED_NAMES]],
        writes=as_table("{results}/claims.csv"),
        step=lambda wildcards: GRID.args_of(wildcards.results),
        log="{results}/logs/claims.txt",
        priority=2,
    ),
    # One claim from what it alone needs.
    "claim_decision": dict(
        runs="stackwars.study.claims.decide",
        options=lambda wildcards: f"--claim {wildcards.claim}",
        reads=[CLAIM_JOBS.workloads, FRAMEWORKS, CLAIMED, CLAIM_JOBS.results, DEVICES],
        writes=f"{CLAIM_JOBS.folder}/{{claim}}.txt",
        log=f"{OUT}/logs/claims/{{claim}}.txt",
        group=None,
    ),
    "audit_report": dict(
        runs="stackwars.study.audits.report",
        options=lambda wildcards, input: [f"--part {path}" for path in input[2:]],
        reads=[f"{ROOT}/cells.csv", f"{ROOT}/context.json", AUDIT_JOBS.parts],
        writes=f"{ROOT}/audits.json",
        step=GRID.arguments(CONFIG, ROOT, ROOT),
        group=None,
    ),
    "reference_tables": dict(
        runs="stackwars.study.results.tables",
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
            row.get("log", f"{OUT}/logs/{step}.txt"),
        wildcard_constraints:
            **({"results": row["folders"]} if "folders" in row else {}),
        priority: row.get("priority", 0)
        group:
            row.get("group", "made")
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


# The tables of a run, which can join the reference without a paper of their own, and what its report shows of programs.
rule results:
    input:
        GRID.optimised(),
        GRID.result_paths(*TABLES, "context"),
        GRID.result_paths("reproduction_text"),


rule audits:
    input:
        f"{CELLS}/audits.json",


# snakemake claim_<id>: what the claim needs, and then its verdict.
for decided in CLAIMS.claims:

    rule:
        name:
            f"claim_{decided.id}"
        input:
            f"{CLAIM_JOBS.folder}/{decided.id}.txt",
        log:
            f"{OUT}/logs/claims/{decided.id}-shown.txt",
        shell:
            "tee {log} <{input}"
