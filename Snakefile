# The paper from one command: snakemake --cores 1 paper.pdf
import os
import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.27")

# Every job's command starts with `python`: that of the environment Snakemake itself runs in.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ["PYTHONPATH"] = str(Path(workflow.basedir, "src"))
os.environ["STACKWARS_RUNNER_PID"] = str(os.getpid())
sys.path.insert(0, os.environ["PYTHONPATH"])


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/cells.smk"
include: "workflow/rules/analysis.smk"
include: "workflow/rules/paper.smk"


onstart:
    prepare_run(workflow.dag.needrun_jobs())
