"""A folder of results: what its files are called, and the command line of the steps that make them.

Standard library only: some steps run in the environment of a framework.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from stackwars.measure import documents
from stackwars.setup.environments import REPOSITORY

TABLES = {
    "processes": "processes.csv",
    "frame": "frame.csv",
    "calls": "calls.csv",
    "ratios": "ratios.csv",
    "replayed": "replayed.csv",
    "replay": "replay.csv",
    "split": "split.csv",
    "op_times": "op_times.csv",
    "gap_causes": "gap_causes.csv",
    "fused": "fused.csv",
    "ahead": "compile_ahead.csv",
    "largest_batch": "largest_batch.csv",
    "metrics": "ir_metrics.csv",
    "structure": "structure.csv",
    "stacks": "stacks.csv",
    "beyond": "beyond.csv",
    "growth": "growth.csv",
    "shapes": "shapes.csv",
    "sharding": "sharding.csv",
    "matrix": "matrix.csv",
    "matrix_effects": "matrix_effects.csv",
    "matrix_subsets": "matrix_subsets.csv",
    "variance": "variance.csv",
    "held_out": "held_out.csv",
    "claims": "claims.csv",
}
"""Tidy tables; each column is described where its table is made."""
FIGURES = ("cell_figures", "compiler_figures", "claim_figures")
"""Folders of figures, by what they are made from."""
MADE = {
    **TABLES,
    "context": "context.json",
    "findings": "findings.json",
    "graph_data": "graphs.json",
    "report_programs": "report_programs.json",
    "report_graphs": "report_graphs.json",
    "reproduction": "reproduction.json",
    "reproduction_text": "reproduction.txt",
    **{name: name for name in ("tables", "claim_tables", "graphs", "listings", "latex")},
    **{name: name for name in FIGURES},
}
"""Everything that is made from the measurements."""
MEASURED = {"devices": "devices.json", "audits": "audits.json"}
"""What lies beside the cells, replays and compilations."""
STABILITY = "stability.json"
"""Of the reference: how often a claim turns between runs that are drawn from it."""
FAULTS = "faults.json"
"""What came of the injected faults: in results/ where they were injected here, else the committed one."""
PUBLISHED = REPOSITORY / "paper" / "published" / "tables.csv"
"""The numbers of the original paper."""
LECTURE = PUBLISHED.with_name("lecture.csv")
"""The numbers of the lecture that some workloads are from."""
REFERENCE = REPOSITORY / "results" / "reference"
"""The committed run."""
ACCEPTED = REFERENCE / "runs"
"""The runs that it is made of, a folder each."""


class Folder:
    """A folder of results, by the names of its files: folder["frame"] is the path of frame.csv.

    measured: the folder of the cells, replays, compilations and audits that the results are made from; the
    same one where none is given.
    """

    def __init__(self, results: Path | str, measured: Path | str | None = None) -> None:
        self.results = Path(results)
        self.measured = Path(measured or results)

    def __getitem__(self, name: str) -> Path:
        if name == "published":
            return PUBLISHED
        if name == "lecture":
            return LECTURE
        if name == "faults":
            return self._faults()
        if name in MEASURED:
            return self.measured / MEASURED[name]
        return self.results / MADE[name]

    def _faults(self) -> Path:
        # Of a run of their own, whatever the preset of this one, beside whose folder they lie.
        own = self.measured / FAULTS
        if self.measured.name == REFERENCE.name:
            return own
        beside = self.measured.parent
        there = (beside / FAULTS, beside / REFERENCE.name / FAULTS)
        return next((path for path in there if path.exists()), own)


def parser(description: str | None) -> argparse.ArgumentParser:
    """The arguments of every step; `chosen` reads them."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument(
        "--config", required=True, type=documents.read, help="the configuration as JSON, validated"
    )
    made.add_argument("--results", required=True, help="the folder that the step reads and writes")
    made.add_argument("--measured", help="the folder of what was measured, where it is another one")
    return made


def chosen(arguments: argparse.Namespace) -> tuple[dict, Folder]:
    """The configuration and the folder that the arguments name."""
    return arguments.config, Folder(arguments.results, arguments.measured)


def command(step: Callable[[dict, Folder], object], *told: type[Exception]) -> None:
    """`python -m MODULE --config FILE --results FOLDER [--measured FOLDER]`: run a module's step.

    told: exceptions whose message says all; they end the command with it alone.
    """
    try:
        step(*chosen(parser(sys.modules["__main__"].__doc__).parse_args()))
    except told as error:
        sys.exit(str(error))
