# The paper and the report from one command: snakemake --cores all
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

from stackwars.study.workflow import start, terminal

terminal.attach(workflow)
start.check_files(*workflow.configfiles, "config/config.yaml")


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/jobs.smk"
include: "workflow/rules/radar.smk"
include: "workflow/rules/steps.smk"


# Every result is an input, so that one that is missing is made again, and the paper from it.
rule all:
    default_target: True
    input:
        "paper.pdf",
        "report.html",
        GRID.files(GRID.cpu_cells, "cell.json"),
        GRID.available_files("cell.json", "stablehlo.mlir.gz", "output.npy"),
        GRID.replays("replay.json"),
        GRID.other_results(),
        GRID.peaks(GRID.cpu_cells),


onstart:
    start.prepare(GRID, workflow)


onsuccess:
    start.print_faults(GRID, workflow)
    start.print_summary(GRID, workflow)


onerror:
    start.print_faults(GRID, workflow)
