# What the rules share: the grid, and the functions that say what a job is made from.

from snakemake.exceptions import WorkflowError

from stackwars.claims import definitions
from stackwars.results.folder import FIGURES, TABLES
from stackwars.setup.device import CPU, CPUS
from stackwars.study.config import ConfigError, validate
from stackwars.study.imports import sources
from stackwars.study.programs import editing_pins
from stackwars.workflow import job_files, start
from stackwars.workflow.audit_jobs import AuditJobs
from stackwars.workflow.cell_jobs import CellJobs
from stackwars.workflow.claim_jobs import ClaimJobs
from stackwars.workflow.compiler_jobs import CompilerJobs
from stackwars.workflow.grid import REFERENCE, REFERENCE_TABLES, Grid
from stackwars.workflow.growth_jobs import GrowthJobs
from stackwars.workflow.sharding_jobs import ShardingJobs

try:
    validate(config)
    CLAIMS = definitions.load()
    GRID = Grid(config, lambda: checkpoints.devices.get().output[0])
except (ConfigError, definitions.ClaimError) as error:
    raise WorkflowError(str(error)) from None

CELL_JOBS = CellJobs(GRID)
GROWTH_JOBS = GrowthJobs(GRID)
COMPILER_JOBS = CompilerJobs(GRID)
SHARDING_JOBS = ShardingJobs(GRID)
AUDIT_JOBS = AuditJobs(GRID)
CLAIM_JOBS = ClaimJobs(GRID, CLAIMS)

ROOT, CELLS, OUT = GRID.root, GRID.measured, GRID.out
SETTINGS = GRID.settings
CONFIG = GRID.config_file
EXCLUSIVE_THREADS = 1 if SETTINGS.get("side_by_side") else workflow.cores
HALF_THREADS = max(1, workflow.cores // 2)
# The tables that claims are decided from.
MEASURED_TABLES = [name for name in TABLES if name != "claims"] + ["context"]
WORKLOADS = [f"src/stackwars/workloads/{name}.py" for name in config["workloads"]]
COLUMNS = "src/stackwars/results/columns.yaml"
PUBLISHED = ["paper/published/tables.csv", "paper/published/lecture.csv"]


def node_group(cells):
    """Return what makes, on a cluster, one group of all that is compared with each of these cells."""
    return [] if workflow.local_exec else GRID.workloads_done(cells)


if not workflow.remote_exec:  # not on a node of a cluster, where other jobs are writing
    start.check_results(GRID)


wildcard_constraints:
    device="cpu|cpu-1t|cuda|tpu",
    framework="[a-z0-9_]+",
    workload="[a-z0-9_]+",
    repetition=r"\d+",
    size="[a-z0-9_]+",
    value=r"\d+|all",
    variant=r"base|b\d+(s\d+)?|(data|tensor)\d+",
    division=r"(data|tensor)\d+",
    frontend="[a-z0-9_]+",
    way="data|tensor",
    devices=r"\d+",
    edits="[a-z0-9_+]+",
    target="[a-z0-9-]+",
    compiler="[a-z0-9_.-]+",
    claim="[a-z][a-z0-9_]*",
    results=f"{ROOT}|{REFERENCE_TABLES}",
