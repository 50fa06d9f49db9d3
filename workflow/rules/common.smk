# Shared by the rules: the grid, and the functions that say what a job is made from.

from snakemake.exceptions import WorkflowError

from stackwars.measure import workloads
from stackwars.study.claims import definitions
from stackwars.study.results.folder import FIGURES, TABLES
from stackwars.study.config import ConfigError, ordered, overridden, validate
from stackwars.study.imports import digest
from stackwars.study.workflow import audit_jobs, kinds, radar
from stackwars.study.workflow.claim_jobs import ClaimJobs
from stackwars.study.workflow.grid import REFERENCE, REFERENCE_TABLES, Grid, paper_files
from stackwars.study.workflow.jobs import KINDS
from stackwars.study.workflow.kinds import step_digest

try:
    config = ordered(
        overridden(config, workflow.config_settings.config), Path(workflow.configfiles[-1])
    )
    config = validate(config)
    CLAIMS = definitions.load()
    GRID = Grid(config, lambda: checkpoints.devices.get().output[0])
except (ConfigError, definitions.ClaimError) as error:
    raise WorkflowError(str(error)) from None

AUDIT_JOBS = audit_jobs.AuditJobs(GRID)
CLAIM_JOBS = ClaimJobs(GRID, CLAIMS)

ROOT, CELLS, OUT = GRID.root, GRID.measured, GRID.out
CONFIG = GRID.config_file
# Resources that matter on a cluster (profiles/). What is timed has its node for itself, and asks for no memory: it has
# what the cluster gives by default.
EXCLUSIVE_NODE = {"slurm_extra": "--exclusive", "mem_mb": 0}
# The tables that claims are decided from.
MEASURED_TABLES = [name for name in TABLES if name != "claims"] + ["context"]
WORKLOADS = sorted({workloads.file_of(name) for name in config.workloads})
FRAMEWORKS = [f"src/stackwars/measure/frameworks/{name}.py" for name in config.frameworks]
"""Titles, colours and first lines, which no measurement depends on and the paper and the report print."""
COLUMNS = "src/stackwars/study/results/columns.yaml"
PUBLISHED = [f"paper/published/{name}.csv" for name in ("tables", "lecture", "faults")]


def as_table(path):
    """Return a table as `snakemake --report` shows it."""
    return report(path, caption="../report/tables.rst", category="Tables")


wildcard_constraints:
    device="cpu|cpu-1t|cuda|tpu",
    framework="[a-z0-9_]+",
    workload="[a-z0-9_]+(@[a-z0-9_]+)?",
    size="[a-z0-9_]+",
    value=r"\d+|all",
    variant=r"base|odd[1-9]|b[1-9]\d*(s[1-9]\d*)?|(data|tensor)\d+",
    frontend="[a-z0-9_]+",
    way="data|tensor",
    devices=r"\d+",
    project="jaxlib|iree",
    place="[a-z0-9_.-]+",
    target="[a-z0-9-]+",
    compiler="[a-z0-9_.-]+",
    claim="[a-z][a-z0-9_]*",
    name=r"[\w.+@-]+",
    audit="fences|mutants|independent|same|mixed",
    subject="[a-z0-9_.-]+",
    results=f"{ROOT}|{REFERENCE_TABLES}",
