"""A folder of results: the names of its files, and the command line of the steps that make them.

Without pandas: some steps run in the environment of a framework.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Callable
from pathlib import Path

from stackwars.core.launch import REPOSITORY
from stackwars.measure import FORMS
from stackwars.study.keys import Config, read_step

TABLES = (
    "cells", "programs", "rounds", "comparisons", "claims", "profile", "effects", "values", "causes",
    "releases",
)  # fmt: skip
"""The eight tables and two summaries: stackwars.study.results.schema describes their columns."""
FIGURES = ("cell_figures", "compiler_figures")
"""Folders of figures, by what they are made from."""
RESULT_FILES = {
    **{name: f"{name}.csv" for name in TABLES},
    "context": "context.json",
    "program_forms": "program_forms.json",
    "report_programs": "report_programs.json",
    "reproduction": "reproduction.json",
    "reproduction_text": "reproduction.txt",
    **{name: name for name in ("tables", "graphs", "listings", "latex", *FIGURES)},
}
"""Everything that is made from the measurements."""
MEASURED = {"devices": "devices.json", "audits": "audits.json"}
"""Files next to the cells, replays and compilations."""
REFERENCE = REPOSITORY / "results" / "reference"
"""The committed results."""
REFERENCE_TABLES = REPOSITORY / "results" / "from-reference"
"""The tables of the reference, pooled from the accepted runs."""
ACCEPTED = REPOSITORY / "results" / "reference" / "runs"
"""The accepted runs, a folder each; stackwars.study.results.runs reads their tables."""


class Folder:
    """A folder of results, by the names of its files: folder["cells"] is the path of cells.csv.

    measured: the folder of the cells, replays, compilations and audits that the results are made from; the
    same one by default.
    """

    def __init__(self, results: Path | str, measured: Path | str | None = None) -> None:
        self.results = Path(results)
        self.measured = Path(measured or results)

    def __getitem__(self, name: str) -> Path:
        if name in MEASURED:
            return self.measured / MEASURED[name]
        return self.results / RESULT_FILES[name]


def form(cell: Path, name: str) -> str:
    """Return a form that the framework's compiler made of a workload, from the folder of its cell.

    :raises OSError: if it cannot be read.
    """
    return gzip.decompress((cell / FORMS / f"{name}.txt.gz").read_bytes()).decode()


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return the parser of the arguments of every step; `chosen` reads them."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument(
        "--config", required=True, type=read_step, help="the configuration as JSON, validated"
    )
    arguments.add_argument("--results", required=True, help="the folder that the step reads and writes")
    arguments.add_argument("--measured", help="the folder of what was measured, if it is another one")
    return arguments


def chosen(arguments: argparse.Namespace) -> tuple[Config, Folder]:
    return arguments.config, Folder(arguments.results, arguments.measured)


def command(step: Callable[[Config, Folder], object], *reported: type[Exception]) -> None:
    """`python -m MODULE --config FILE --results FOLDER [--measured FOLDER]`: run a module's step.

    reported: exceptions whose message says all; they end the command with it alone.
    """
    try:
        step(*chosen(parser(sys.modules["__main__"].__doc__).parse_args()))
    except reported as error:
        sys.exit(str(error))
