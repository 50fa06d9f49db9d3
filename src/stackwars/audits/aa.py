"""The run's own data against itself: every cell and every replayed program, even rounds against odd ones.

Costs nothing, and meets the same machine conditions, workloads and numbers of processes as the paper.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackwars.audits.trials import Trial, aa_comparison
from stackwars.results.raw import Raw


def trials(raw: Raw) -> Iterator[Trial]:
    """Yield a trial of each cell and each replayed program that has four rounds or more."""
    values = {(cell.device, f"{cell.framework} {cell.workload}"): own for cell, own in raw.cell_values.items()}
    values |= {
        (replay.device, f"{name} {replay.workload} in {replay.compiler}"): own
        for (replay, name), own in raw.replay_values.items()
    }
    for (device, who), own in values.items():
        comparison = aa_comparison(own, f"{device} {who}")
        if comparison is not None:
            yield Trial(device, who, comparison)
