# From what was found to the paper.


rule latex:
    input:
        sources("stackwars.paper.render"),
        templates=[str(path) for path in sorted(Path("paper").rglob("*")) if path.is_file()],
        context=f"{OUT}/context.json",
        findings=f"{OUT}/findings.json",
        tables=f"{OUT}/tables",
        figures=f"{OUT}/figures",
        listings=f"{OUT}/listings",
        graphs=f"{OUT}/graphs",
        claims=f"{OUT}/claims.csv",
        claim_tables=f"{OUT}/claim_tables",
    output:
        directory(f"{OUT}/latex"),
    log:
        f"{OUT}/logs/latex.txt",
    shell:
        "python -m stackwars.paper.render --context {input.context} --findings {input.findings}"
        " --tables {input.tables} --figures {input.figures} --listings {input.listings}"
        " --graphs {input.graphs} --claims {input.claims} --output-dir {output} >{log} 2>&1"


rule typeset:
    input:
        f"{OUT}/latex",
    output:
        "paper.pdf",
    log:
        f"{OUT}/logs/latexmk.txt",
    params:
        # A fixed date: the same results give the same bytes, whenever they are typeset.
        date=946684800,
    shell:
        "SOURCE_DATE_EPOCH={params.date} FORCE_SOURCE_DATE=1 latexmk -cd -pdf -halt-on-error"
        " -interaction=nonstopmode -silent {input}/main.tex >{log} 2>&1"
        " && cp {input}/main.pdf {output}"


# Asked for paper.pdf, Snakemake takes the rule of that name. It has no output of its own and every
# result as input: a result that is missing is then made again, and the paper from it. Asked for the
# file alone, Snakemake would find it up to date.
rule paper:
    name:
        "paper.pdf"
    input:
        "paper.pdf",
        cell_files(cells_on_cpu(), "cell.json"),
        result_files("cell.json"),
        result_files("stablehlo.mlir.gz"),
        result_files("output.npy"),
        compiled_files("ahead.json"),
        largest_batch_files(),
        replay_files(),
