import json

from snakemake.exceptions import WorkflowError

from stackwars import frameworks
from stackwars.setup.device import CPU, CPUS
from stackwars.measure import progress
from stackwars.setup import tex
from stackwars.study import cells, programs
from stackwars.study.cells import Cell
from stackwars.study.comparisons import CELLS as OF_CELLS, PROGRAMS, comparisons, with_programs
from stackwars.study.config import ConfigError, validate
from stackwars.study.imports import imported_files
from stackwars.study.programs import Compilation, Program, ReplayCell
from stackwars.workflow import damage, job_files, plan, runlock, targets

try:
    validate(config)
except ConfigError as error:
    raise WorkflowError(str(error)) from None

# Where rules write what they measure.
ROOT = f"results/{config['preset']}"
MEASURED = config["results"] == "measured"
# Where the cells are: no rule writes to results/reference.
CELLS = ROOT if MEASURED else "results/reference"
# Where everything made from them goes.
OUT = CELLS if MEASURED else "results/from-reference"
SETTINGS = cells.settings(config)
ASKED = cells.asked(config)
if not MEASURED:
    # What was added since the reference run is "not run" in a paper that is made from it.
    ASKED = [cell for cell in ASKED if Path(CELLS, cell.path, "cell.json").exists()]
CONFIG = job_files.file("config", config)

# Where another run is at work, the locks are its own, and what looks damaged may be half-written.
if runlock.clear_stale():
    kept_aside = damage.set_aside(Path(ROOT))
    if kept_aside:
        logger.warning("\n".join(kept_aside))
if not MEASURED:
    for path, problem in damage.find(Path(CELLS)).items():
        raise WorkflowError(f"{path}: {problem}; get it back with: git checkout {CELLS}")


wildcard_constraints:
    device="cpu|cpu-1t|cuda|tpu",
    framework="[a-z0-9_]+",
    workload="[a-z0-9_]+",
    repetition=r"\d+",
    variant=r"base|b\d+(s\d+)?",
    edits="[a-z0-9_+]+",
    target="[a-z0-9-]+",
    compiler="[a-z0-9_.-]+",


def sources(*modules):
    """The source files of modules of this project, as inputs: their text decides what is up to date."""
    root = Path(workflow.basedir)
    return sorted(str(path.relative_to(root)) for path in imported_files(list(modules)))


def known(wildcards):
    """Refuse a target whose path names what the configuration does not have."""
    try:
        return targets.check(config, wildcards)
    except targets.UnknownTarget as error:
        raise WorkflowError(str(error)) from None


def cell_of(wildcards):
    known(wildcards)
    return Cell(wildcards.framework, wildcards.workload, wildcards.device)


def process_sources(wildcards):
    """The files that decide what the cell's processes measure, those of their partner's with them."""
    cell = cell_of(wildcards)
    both = filter(None, (cell, cells.partner(config, cell)))
    return sorted({file for one in both for file in cells.sources(config, one)})


def partner_pins(wildcards):
    """Pins of the environment of the processes' partner; [] where they have none."""
    partner = cells.partner(config, cell_of(wildcards))
    return cells.pins(config, partner.framework, partner.device) if partner else []


def job_of(cell, repetition):
    """A file of the ProcessJob of stackwars.measure.supervisor."""
    partner = cells.partner(config, cell)
    return job_files.file(
        "process",
        {
            "framework": cell.framework,
            "dialect": frameworks.load(cell.framework).DIALECT,
            "workload": cell.workload,
            "device": cell.device,
            "preset": config["preset"],
            "repetition": repetition,
            "sizes": cells.sizes(config, cell.workload),
            "partner": partner
            and {
                "framework": partner.framework,
                "dialect": frameworks.load(partner.framework).DIALECT,
            },
            "settings": {
                **{k: v for k, v in SETTINGS.items() if k in plan.MEASURING},
                "block_calls": cells.block_calls(config, cell.workload),
            },
        },
    )


def prepare_run(jobs):
    """Before any job: refuse a second run or one that lacks TeX or Graphviz, tell the cells their count."""
    jobs = list(jobs)
    prepare_run.lock = runlock.take()
    if prepare_run.lock is None:
        raise WorkflowError("another run is at work in this folder: wait for it, or end it")
    # Snakemake's limit on jobs per second starts a timer chain with every job. After fifty jobs they
    # took 13 % of a core, from the cells that are being measured. A run on one machine needs no limit.
    workflow.scheduler.job_rate_limiter = None
    names = {job.name for job in jobs}
    lacking = tex.missing(typeset="typeset" in names, draw="graph_figures" in names)
    if lacking:
        raise WorkflowError(tex.explain(lacking))
    timed = ("process", "replay_process")
    outputs = [str(job.output[0]) for job in jobs if job.name in timed]
    progress.start(plan.expected_process_s(outputs))


# A listing has the two programs of a comparison beside each other: the first one's.
LISTED_FRAMEWORKS = next((pair.sides for pair in comparisons(config, PROGRAMS)), ())
# The programs that the paper reads are those of one device, the first of the configuration.
PRINTED_DEVICE = config["devices"][0]
LISTED = [
    workload
    for workload in ("ffn", "mha", "layernorm")
    if LISTED_FRAMEWORKS
    and all(Cell(f, workload, PRINTED_DEVICE) in ASKED for f in LISTED_FRAMEWORKS)
]


def program(framework, workload):
    return f"{CELLS}/{Cell(framework, workload, PRINTED_DEVICE).path}/stablehlo.mlir.gz"


def cell_files(cells_, name):
    return [f"{CELLS}/{cell.path}/{name}" for cell in cells_]


def cells_on_cpu():
    """Those that every machine can run."""
    return [cell for cell in ASKED if cell.device in CPUS]


def found_cells(wildcards):
    """Cells of the devices that this machine has; the CPU's are known without asking."""
    on_cpu = cells_on_cpu()
    others = [cell for cell in ASKED if cell not in on_cpu]
    if not MEASURED or not others:
        return on_cpu
    found = json.loads(Path(checkpoints.devices.get().output[0]).read_text())
    return on_cpu + [c for c in others if found[c.device][c.framework]["present"]]


def result_files(name):
    return lambda wildcards: cell_files(found_cells(wildcards), name)


def peaks(wildcards):
    return sorted({f"{CELLS}/{cell.device}/peak.json" for cell in found_cells(wildcards)})


def program_of(wildcards):
    known(wildcards)
    return Program(wildcards.framework, wildcards.workload, wildcards.variant)


def replay_of(wildcards):
    known(wildcards)
    return ReplayCell(wildcards.device, wildcards.compiler, wildcards.workload)


def compilation_of(wildcards):
    known(wildcards)
    program = Program(
        wildcards.framework, wildcards.workload, wildcards.get("variant", programs.BASE)
    )
    return Compilation(wildcards.target, wildcards.compiler, program)


def lowering_sources(wildcards):
    known(wildcards)
    return programs.lower_sources(config, wildcards.framework, wildcards.workload)


def lowering_pins(wildcards):
    return programs.lower_pins(config, wildcards.framework)


def compiler_pins(wildcards):
    known(wildcards)
    return programs.compiler_pins(config, wildcards.compiler, wildcards.get("target"))


def target_description(wildcards):
    """The file that tells XLA what a GPU is, for a target that has one."""
    known(wildcards)
    name = config["targets"][wildcards.target].get("description")
    return [f"src/stackwars/compilers/{name}"] if name else []


def code_source(wildcards):
    """Where a compilation that stops before its code takes the code's size from; [] if it goes on."""
    compilation = compilation_of(wildcards)
    if programs.finished(config, compilation):
        return []
    return f"{ROOT}/{programs.code_source(config, compilation).path}/ahead.json"


def lower_job(wildcards):
    """A file of the LowerJob of stackwars.compilers.lower."""
    return job_files.file("lower", programs.lower_job(config, program_of(wildcards)))


def ahead_job(wildcards):
    """A file of the CompileJob of stackwars.compilers.ahead_supervisor."""
    return job_files.file("ahead", programs.ahead_job(config, compilation_of(wildcards)))


def largest_batch_job(wildcards):
    """A file of the LargestBatchJob of stackwars.compilers.largest_batch."""
    return job_files.file(
        "largest_batch", programs.largest_batch_job(config, compilation_of(wildcards))
    )


def replay_job(wildcards, repetition):
    """A file of the ReplayJob of stackwars.compilers.replay_job."""
    return job_files.file("replay", programs.replay_job(config, replay_of(wildcards), repetition))


def replay_priority(wildcards):
    return plan.replay_priority(config, replay_of(wildcards), int(wildcards.repetition))


def kept(paths):
    """These files under CELLS; of the reference run, those that it has."""
    files = [f"{CELLS}/{path}" for path in paths]
    return files if MEASURED else [file for file in files if Path(file).exists()]


def compiled_files(name):
    return kept(compilation.path / name for compilation in programs.compilations(config))


def largest_batch_files():
    return kept(compilation.largest_batch_path for compilation in programs.largest_batches(config))


def replay_files():
    return kept(replay.path / "replay.json" for replay in programs.replays(config))


def replayed_programs(wildcards):
    """Programs and lists of arguments that a replay of the workload reads."""
    return [
        f"{ROOT}/{program.path}/{name}"
        for program in programs.replayed(config, wildcards.workload)
        for name in ("program.mlir.gz", "arguments.json")
    ]


def replayed_cells(wildcards):
    """The cells that a replay is checked against: theirs must be the same program and output."""
    found = [Cell(f, wildcards.workload, wildcards.device) for f in with_programs(config)]
    return [file for name in ("cell.json", "output.npy") for file in cell_files(found, name)]


def existing(programs_):
    """These programs; of the reference run, those that it has."""
    return [p for p in programs_ if MEASURED or Path(CELLS, p.path, "program.mlir.gz").exists()]


BASE_PROGRAMS = existing(
    Program(framework, workload)
    for workload in programs.compiled_workloads(config)
    for framework in with_programs(config)
)
DRAWN = [program for program in BASE_PROGRAMS if program.workload in ("ffn", "layernorm")]


def base_programs():
    return [f"{CELLS}/{program.path}/program.mlir.gz" for program in BASE_PROGRAMS]


def base_compilations():
    """The compilations of base programs by the first compiler of each target."""
    first = programs.first_compilers(config)
    return kept(
        c.path / "ahead.json"
        for c in programs.compilations(config)
        if c.program.variant == programs.BASE and first[c.target] == c.compiler
    )
