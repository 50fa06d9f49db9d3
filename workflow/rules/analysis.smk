# From the cells to the frame, the tables, the figures, the listings and the findings.

LISTED = ["ffn", "ffn_relu", "mha", "layernorm"]
LISTED_FRAMEWORKS = ["jax", "torch_xla"]
# The programs that the paper reads are those of one device, the first of the configuration.
PRINTED_DEVICE = config["devices"][0]
PRINTED = [cell for cell in ASKED if cell.device == PRINTED_DEVICE]


def program(framework, workload):
    return f"{CELLS}/{Cell(framework, workload, PRINTED_DEVICE).path}/stablehlo.mlir.gz"


def cell_files(cells_, name):
    return [f"{CELLS}/{cell.path}/{name}" for cell in cells_]


def found_cells(wildcards):
    """Cells of the devices that this machine has; the CPU's are known without asking."""
    on_cpu = [cell for cell in ASKED if cell.device == "cpu"]
    others = [cell for cell in ASKED if cell.device != "cpu"]
    if not MEASURED or not others:
        return on_cpu
    found = json.loads(Path(checkpoints.devices.get().output[0]).read_text())
    return on_cpu + [c for c in others if found[c.device][c.framework]["present"]]


def result_files(name):
    return lambda wildcards: cell_files(found_cells(wildcards), name)


def peaks(wildcards):
    return sorted({f"{CELLS}/{cell.device}/peak.json" for cell in found_cells(wildcards)})


rule frame:
    input:
        sources("stackwars.aggregate"),
        [f"src/stackwars/workloads/{name}/__init__.py" for name in config["workloads"]],
        peaks,
        f"{CELLS}/devices.json",
        cpu=cell_files([cell for cell in ASKED if cell.device == "cpu"], "cell.json"),
        cells=result_files("cell.json"),
        outputs=result_files("output.npy"),
    output:
        multiext(f"{OUT}/", "frame.csv", "calls.csv", "ratios.csv", "context.json"),
    params:
        config=CONFIG_JSON,
        cells=CELLS,
        out=OUT,
    shell:
        "python -m stackwars.aggregate --config {params.config:q} --results {params.cells} --output {params.out}"


rule tables:
    input:
        sources("stackwars.tables"),
        frame=f"{OUT}/frame.csv",
        ratios=f"{OUT}/ratios.csv",
        context=f"{OUT}/context.json",
        published="paper/published/tables.csv",
    output:
        directory(f"{OUT}/tables"),
    shell:
        "python -m stackwars.tables --frame {input.frame} --ratios {input.ratios}"
        " --context {input.context} --published {input.published} --output-dir {output}"


rule figures:
    input:
        sources("stackwars.figures"),
        frame=f"{OUT}/frame.csv",
        calls=f"{OUT}/calls.csv",
        ratios=f"{OUT}/ratios.csv",
    output:
        directory(f"{OUT}/figures"),
    shell:
        "python -m stackwars.figures --frame {input.frame} --calls {input.calls}"
        " --ratios {input.ratios} --output-dir {output}"


# In jax's environment, for the MLIR bindings: listings of some workloads, facts of every program.
rule listings:
    input:
        sources("stackwars.listings"),
        "envs/jax.txt",
        programs=cell_files(PRINTED, "stablehlo.mlir.gz"),
    output:
        listings=directory(f"{OUT}/listings"),
        facts=f"{OUT}/facts.json",
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
        " {params.modules} --output-dir {output.listings} --facts-output {output.facts}"


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
    shell:
        "python -m stackwars.findings --frame {input.frame} --ratios {input.ratios}"
        " --context {input.context} --facts {input.facts} --published {input.published}"
        " --output {output}"
