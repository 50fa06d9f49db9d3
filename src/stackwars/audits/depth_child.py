"""The process of a cell, for the workloads of the audits as well: `python -m ... FOLDER`."""

from __future__ import annotations

from pathlib import Path

from stackwars import workloads
from stackwars.measure import child


def add_workloads() -> None:
    """Let `stackwars.workloads.<name>` find the workloads of the audits too, in this process only.

    A module in `stackwars.workloads` itself would be one of the paper's workloads.
    """
    workloads.__path__.append(str(Path(__file__).with_name("workloads")))


if __name__ == "__main__":
    add_workloads()
    child.main()
