# From the cells to the frame, the tables, the figures, the listings and the findings.


rule frame:
    input:
        sources("stackwars.aggregate"),
        [f"src/stackwars/workloads/{name}/__init__.py" for name in config["workloads"]],
        peaks,
        devices=f"{CELLS}/devices.json",
        cpu=cell_files([cell for cell in ASKED if cell.device == "cpu"], "cell.json"),
        cells=result_files("cell.json"),
        outputs=result_files("output.npy"),
    output:
        frame=f"{OUT}/frame.csv",
        calls=f"{OUT}/calls.csv",
        ratios=f"{OUT}/ratios.csv",
        context=f"{OUT}/context.json",
    log:
        f"{OUT}/logs/frame.txt",
    params:
        config=CONFIG_JSON,
    shell:
        "python -m stackwars.aggregate --config {params.config:q}"
        " --results $(dirname {input.devices}) --output $(dirname {output.frame}) >{log} 2>&1"


rule tables:
    input:
        sources("stackwars.tables"),
        frame=f"{OUT}/frame.csv",
        ratios=f"{OUT}/ratios.csv",
        context=f"{OUT}/context.json",
        published="paper/published/tables.csv",
    output:
        directory(f"{OUT}/tables"),
    log:
        f"{OUT}/logs/tables.txt",
    shell:
        "python -m stackwars.tables --frame {input.frame} --ratios {input.ratios}"
        " --context {input.context} --published {input.published} --output-dir {output} >{log} 2>&1"


rule figures:
    input:
        sources("stackwars.figures"),
        frame=f"{OUT}/frame.csv",
        calls=f"{OUT}/calls.csv",
        ratios=f"{OUT}/ratios.csv",
    output:
        directory(f"{OUT}/figures"),
    log:
        f"{OUT}/logs/figures.txt",
    shell:
        "python -m stackwars.figures --frame {input.frame} --calls {input.calls}"
        " --ratios {input.ratios} --output-dir {output} >{log} 2>&1"


# In jax's environment, for the MLIR bindings: listings of some workloads, facts of every program.
rule listings:
    input:
        sources("stackwars.listings"),
        "envs/jax.txt",
        programs=cell_files(PRINTED, "stablehlo.mlir.gz"),
    output:
        listings=directory(f"{OUT}/listings"),
        facts=f"{OUT}/facts.json",
    log:
        f"{OUT}/logs/listings.txt",
    params:
        workloads=[
            f"--workload {workload}="
            + ",".join(program(framework, workload) for framework in LISTED_FRAMEWORKS)
            for workload in LISTED
            if all(Cell(f, workload, PRINTED_DEVICE) in PRINTED for f in LISTED_FRAMEWORKS)
        ],
        modules=[
            f"--module {c.workload}/{c.framework}={program(c.framework, c.workload)}"
            for c in PRINTED
        ],
    shell:
        "python -m stackwars.environments envs/jax.txt -- -m stackwars.listings {params.workloads}"
        " {params.modules} --output-dir {output.listings} --facts-output {output.facts} 2> >(tee {log} >&2)"


rule findings:
    input:
        sources("stackwars.findings"),
        frame=f"{OUT}/frame.csv",
        ratios=f"{OUT}/ratios.csv",
        context=f"{OUT}/context.json",
        facts=f"{OUT}/facts.json",
        published="paper/published/tables.csv",
    output:
        f"{OUT}/findings.json",
    log:
        f"{OUT}/logs/findings.txt",
    shell:
        "python -m stackwars.findings --frame {input.frame} --ratios {input.ratios}"
        " --context {input.context} --facts {input.facts} --published {input.published}"
        " --output {output} >{log} 2>&1"
