# The paper from one command: snakemake --cores 1 paper.pdf
import os
import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.27")

# Every job's command starts with `python`: that of the environment Snakemake itself runs in.
SOURCE = str(Path(workflow.basedir, "src"))
os.environ.update(
    PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    PYTHONPATH=SOURCE,
    # The cells end when this process does.
    STACKWARS_RUNNER_PID=str(os.getpid()),
)
sys.path.insert(0, SOURCE)

from stackwars.workflow import terminal

terminal.attach(workflow.logger_manager)


configfile: "config/config.yaml"


# Only used with --sdm apptainer, which the authors have not tried; without it the commands run as they
# are, and what they need is pinned in envs/.
container: "docker://debian:bookworm"


include: "workflow/rules/common.smk"
include: "workflow/rules/cells.smk"
include: "workflow/rules/growth.smk"
include: "workflow/rules/compile.smk"
include: "workflow/rules/replay.smk"
include: "workflow/rules/sharding.smk"
include: "workflow/rules/audits.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/paper.smk"


onstart:
    start.prepare(workflow)


onsuccess:
    start.print_summary(GRID)
