# From what was found to the paper.


rule latex:
    input:
        sources("stackwars.paper.render"),
        [str(path) for path in sorted(Path("paper").rglob("*")) if path.is_file()],
        GRID.made("context", "findings", "claims", "reproduction"),
        GRID.made("tables", "claim_tables", *FIGURES, "graphs", "listings"),
    output:
        directory(GRID.made("latex")),
    log:
        f"{OUT}/logs/latex.txt",
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.paper.render {params.step} >{log} 2>&1"


rule typeset:
    input:
        GRID.made("latex"),
    output:
        "paper.pdf",
    log:
        f"{OUT}/logs/latexmk.txt",
    params:
        # A fixed date: the same results give the same bytes, whenever they are typeset.
        date=946684800,
        # The text of another run may be longer; that of the reference is the authors' to shorten.
        length=(
            f" && python -m stackwars.paper.length {OUT}/latex/main.aux"
            if config["results"] == "reference"
            else ""
        ),
    shell:
        "(SOURCE_DATE_EPOCH={params.date} FORCE_SOURCE_DATE=1 latexmk -cd -pdf -halt-on-error"
        " -interaction=nonstopmode -silent {input}/main.tex{params.length}) >{log} 2>&1"
        " && cp {input}/main.pdf {output}"


# In jax's environment, for the MLIR bindings.
rule report_programs:
    input:
        sources("stackwars.report.programs"),
        "envs/jax.txt",
        GRID.emitted(),
        GRID.located(),
        GRID.optimised(),
    output:
        GRID.made("report_programs"),
    log:
        f"{OUT}/logs/report_programs.txt",
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.setup.environments envs/jax.txt -- -m stackwars.report.programs"
        " {params.step} 2> >(tee {log} >&2)"


# In jax's environment, for the MLIR bindings.
rule report_graphs:
    input:
        sources("stackwars.report.graphs"),
        "envs/jax.txt",
        GRID.texts(GRID.graphed()),
    output:
        GRID.made("report_graphs"),
    log:
        f"{OUT}/logs/report_graphs.txt",
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.setup.environments envs/jax.txt -- -m stackwars.report.graphs"
        " {params.step} 2> >(tee {log} >&2)"


rule report:
    input:
        sources("stackwars.report.write"),
        sorted(str(path) for path in Path("src/stackwars/report/page").iterdir()),
        GRID.made("frame", "ratios", "split", "matrix", "claims", "findings", "context", "op_times"),
        GRID.made("processes", "reproduction"),
        GRID.made("stacks", "beyond", "report_programs", "report_graphs"),
        "config/claims.yaml",
        GRID.profiles(),
        GRID.reference(),
        GRID.replays(),
        GRID.files(GRID.on_cpu, "cell.json"),
    output:
        "report.html",
    log:
        f"{OUT}/logs/report.txt",
    # Nothing waits for it.
    priority: -1
    params:
        step=GRID.step,
        # Audits and faults are read where there are any; not an input, for nobody has to try them.
        digest=AUDIT_JOBS.digest(),
    shell:
        "python -m stackwars.report.write {params.step} --output {output} >{log} 2>&1"


# The tables of a run, which can join the reference without a paper of their own, and what its report shows of programs.
rule results:
    input:
        GRID.optimised(),
        GRID.made(*TABLES, "context", "reproduction_text"),


# Asked for paper.pdf, Snakemake takes the rule of that name. It has no output of its own and every
# result as input: a result that is missing is then made again, and the paper from it. Asked for the
# file alone, Snakemake would find it up to date.
rule paper:
    name:
        "paper.pdf"
    input:
        "paper.pdf",
        GRID.files(GRID.on_cpu, "cell.json"),
        GRID.found_files("cell.json"),
        GRID.found_files("stablehlo.mlir.gz"),
        GRID.found_files("output.npy"),
        GRID.compiled("ahead.json"),
        GRID.largest_batches(),
        GRID.replays(),
        GRID.peaks(GRID.on_cpu),
