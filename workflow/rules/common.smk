import json

from snakemake.exceptions import WorkflowError

from stackwars import cells, plan, progress, runlock, tex
from stackwars.cells import Cell
from stackwars.config import ConfigError, validate
from stackwars.imports import imported_files

try:
    validate(config)
except ConfigError as error:
    raise WorkflowError(str(error)) from None

runlock.clear_stale()

MEASURED = config["results"] == "measured"
# Where the cells are: no rule writes to results/reference.
CELLS = f"results/{config['preset']}" if MEASURED else "results/reference"
# Where everything made from them goes.
OUT = CELLS if MEASURED else "results/from-reference"
SETTINGS = cells.settings(config)
ASKED = cells.asked(config)
if not MEASURED:
    # What was added since the reference run is "not run" in a paper that is made from it.
    ASKED = [cell for cell in ASKED if Path(CELLS, cell.path, "cell.json").exists()]
CONFIG_JSON = json.dumps(config, sort_keys=True)


wildcard_constraints:
    device="cpu|cuda|tpu",
    framework="[a-z0-9_]+",
    workload="[a-z0-9_]+",
    repetition=r"\d+",


def sources(*modules):
    """The source files of modules of this project, as inputs: their text decides what is up to date."""
    root = Path(workflow.basedir)
    return sorted(str(path.relative_to(root)) for path in imported_files(list(modules)))


def cell_of(wildcards):
    return Cell(wildcards.framework, wildcards.workload, wildcards.device)


def job_of(cell, repetition):
    """The Job of stackwars.measure.supervisor, as JSON."""
    return json.dumps(
        {
            "framework": cell.framework,
            "dialect": config["frameworks"][cell.framework]["dialect"],
            "workload": cell.workload,
            "device": cell.device,
            "preset": config["preset"],
            "repetition": repetition,
            "sizes": cells.sizes(config, cell.workload),
            "settings": {k: v for k, v in SETTINGS.items() if k in plan.MEASURING},
        },
        sort_keys=True,
    )


def prepare_run(jobs):
    """Before any job: refuse a second run, find out that TeX is missing, tell the cells their count."""
    jobs = list(jobs)
    prepare_run.lock = runlock.take()
    if prepare_run.lock is None:
        raise WorkflowError("another run is at work in this folder: wait for it, or end it")
    # Snakemake's limit on jobs per second starts a timer chain with every job. After fifty jobs they
    # took 13 % of a core, from the cells that are being measured. A run on one machine needs no limit.
    workflow.scheduler.job_rate_limiter = None
    if any(job.name == "typeset" for job in jobs):
        lacking = tex.missing()
        if lacking:
            raise WorkflowError(tex.explain(lacking))
    outputs = [str(job.output[0]) for job in jobs if job.name == "process"]
    progress.start(plan.expected_process_s(outputs))


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
