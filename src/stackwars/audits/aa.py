"""The run's own data against itself: every cell and every replayed program, even rounds against odd ones.

Costs nothing, and meets the same machine conditions, workloads and numbers of processes as the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stackwars.audits.trials import Trial, aa_comparison
from stackwars.measure import documents, process_value
from stackwars.results import replays
from stackwars.study import cells


def trials(config: dict, folder: Path) -> Iterator[Trial]:
    """A trial of each cell and each replayed program in a folder of results that has four rounds or more."""
    for cell in cells.asked(config):
        path = folder / cell.path / "cell.json"
        result = documents.read(path) if path.exists() else {"status": "not run"}
        if result["status"] == "ok":
            values = process_value.of_processes(result["processes"])
            name = f"{cell.framework} {cell.workload}"
            comparison = aa_comparison(values, f"{cell.device} {name}")
            if comparison is not None:
                yield Trial(cell.device, name, comparison)
    for replay in replays.read(config, folder):
        where = replay.result
        for program in where["programs"]:
            name = f"{program} {where['workload']} in {where['compiler']}"
            comparison = aa_comparison(replay.replayed(program), f"{where['device']} {name}")
            if comparison is not None:
                yield Trial(where["device"], name, comparison)
