"""The run's own data against itself: every cell and every replayed program, even rounds against odd ones.

Costs nothing, and meets the same machine conditions, workloads and numbers of processes as the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stackwars.audits.trials import Trial, aa_comparison
from stackwars.results import processes


def trials(folder: Path) -> Iterator[Trial]:
    """A trial of each cell and each replayed program that has four rounds or more, from their tables."""
    for name in ("processes.csv", "replayed.csv"):
        for (workload, framework, device, *compiler), values in processes.read(
            folder / name
        ).items():
            who = " in ".join([f"{framework} {workload}", *compiler])
            comparison = aa_comparison(values, f"{device} {who}")
            if comparison is not None:
                yield Trial(device, who, comparison)
