"""`python -m stackwars.measure.growth`: the process of one size, or of several shapes, into one folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from stackwars.measure import documents
from stackwars.measure.supervisor import CELL, ProcessJob, run

SHAPES = "stackwars.measure.shapes_child"
"""The module that a process of several shapes runs."""


def main() -> None:
    """Run a ProcessJob; one whose settings have `values` is of several shapes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", required=True, help="file of the ProcessJob, as JSON")
    parser.add_argument("--pins", required=True, type=Path, help="pins file of the environment")
    parser.add_argument("--output", required=True, type=Path, help="folder to write, made afresh")
    a = parser.parse_args()
    job = ProcessJob(**documents.read(a.job))
    run(job, a.pins, a.output, SHAPES if "values" in job.settings else CELL)


if __name__ == "__main__":
    main()
