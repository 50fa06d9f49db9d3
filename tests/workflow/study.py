"""A small study in a checkout of its own: the real workflow, with NumPy as its frameworks.

The real frameworks have their own end-to-end test. What is tested with this one is the workflow:
which jobs run when, and what becomes of cells that end badly.
"""

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from checkout import copy_checkout, overlay
from stackwars.core.outcome import Status
from stackwars.measure.checks import CLOCK
from stackwars.study.results import schema
from toy_checkout import FRAMEWORK

CELLS = "results/full/cells.csv"
BIN = Path(sys.executable).parent
SNAKEMAKE = [sys.executable, "-m", "snakemake", "--cores", "1"]
SETTINGS = {
    **{"rounds": 2, "loop_pairs": 2, "peak_seconds": 0.2},
    # Beside other tests, a process loses its core for 20 ms: of a shorter series the two clocks disagree.
    **{"steady_min_blocks": 3, "steady_max_blocks": 1000, "steady_seconds": 0.2},
}


@dataclass
class Study:
    """A checkout with two frameworks, `ours` and `theirs`, and a few workloads."""

    folder: Path

    def snakemake(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run Snakemake; its output is in `.stdout`, errors included."""
        return self.shell(self.command(*arguments), **environ)

    def shell(self, command: list[str], **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a whole command in the checkout; its output is in `.stdout`, errors included."""
        return subprocess.run(
            command, cwd=self.folder, env={**os.environ, **environ},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1800,
        )  # fmt: skip

    def command(self, *arguments: str) -> list[str]:
        """The command line, showing every job."""
        return [*SNAKEMAKE, *arguments, "--quiet", "host"]

    def quietly(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run Snakemake as `make` does, with the quietness of the profile; its output is in `.stdout`."""
        return self.shell([*SNAKEMAKE, *arguments], **environ)

    def plan(self, *arguments: str) -> tuple[dict[str, int], str]:
        """Return the jobs of each rule that a dry run plans, and its text."""
        done = self.snakemake(*arguments, "-n")
        assert done.returncode == 0, done.stdout[-5000:]
        return planned(done.stdout), done.stdout

    def run(self, *arguments: str, **environ: str) -> dict[str, int]:
        """Run Snakemake to success; return how many jobs of each rule it ran."""
        done = self.snakemake(*arguments, **environ)
        assert done.returncode == 0, done.stdout[-5000:]
        return jobs(done.stdout)

    def cell(self, framework: str, workload: str) -> Path:
        """The folder of a cell."""
        return self.folder / "results" / "full" / "cpu" / framework / workload

    def frame(self):
        """The native cells of cells.csv, indexed by framework and workload."""
        cells = schema.read(self.folder / CELLS)
        return cells[cells["mode"] == schema.NATIVE].set_index(["framework", "workload"])

    def is_measured(self):
        """Whether each native cell was measured, by framework and workload.

        Beside other tests a process can lose its core, so that its clocks disagree: its cell is invalid, and measured.
        """
        frame = self.frame()
        lost = (frame["status"] == Status.INVALID) & frame["status_detail"].str.startswith(f"{CLOCK}:")
        return (frame["status"] == Status.OK) | lost

    def text(self) -> str:
        """The text of paper.pdf, on one line."""
        from pypdf import PdfReader

        pages = PdfReader(self.folder / "paper.pdf").pages
        return " ".join(" ".join(page.extract_text() for page in pages).split())


def make(folder: Path, workloads: Sequence[str] = ("gemm", "layernorm"), **settings: object) -> Study:
    """A fresh checkout in `folder` with the two frameworks added, as docs/adding.md says to add one.

    settings: those of the configuration that differ from SETTINGS.
    """
    copy_checkout(folder)
    pins = (folder / "envs" / "numpy.txt").read_text()
    for name in ("ours", "theirs"):
        (folder / "src" / "stackwars" / "measure" / "frameworks" / f"{name}.py").write_text(FRAMEWORK)
        (folder / "envs" / f"{name}.txt").write_text(f"# {name}\n{pins}")
    config = yaml.safe_load((folder / "config" / "config.yaml").read_text())
    toy = {
        "frameworks": {name: {"environments": {"cpu": name}} for name in ("ours", "theirs")},
        # Of cells alone: NumPy emits no program.
        "comparisons": [
            {"subject": "theirs", "baseline": "ours", "compare": ["cells"]},
            *config["comparisons"],
        ],
        "studies": {
            "tables": {"frameworks": ["ours", "theirs"], "programs": [], "workloads": list(workloads)},
            "others": config["studies"]["tables"],
        },
        "workloads": list(workloads),
        "devices": ["cpu"],
        "settings": SETTINGS | settings,
        # Each call of a slow toy takes a tenth of a second.
        "presets": {"full": {"block_calls": dict.fromkeys(workloads, 1)}},
    }
    overlay(folder, toy)
    return Study(folder)


def jobs(output: str) -> dict[str, int]:
    """Jobs of each rule that a run's output says it finished."""
    counted: dict[str, int] = {}
    for rule in re.findall(r"Finished jobid: \d+ \(Rule: (\S+)\)", output):
        counted[rule] = counted.get(rule, 0) + 1
    return counted


def planned(output: str) -> dict[str, int]:
    """Jobs of each rule that a dry run's output says it would run."""
    last = output.rpartition("Job stats:")[2]
    return {rule: int(count) for rule, count in re.findall(r"^(\S+) +(\d+)$", last, re.MULTILINE)}


def write(path: Path, addition: str) -> None:
    """Append to a source file, as an edit would."""
    path.write_text(path.read_text() + textwrap.dedent(addition))
