"""The run's own data against itself: every cell and every replayed program, even rounds against odd ones.

Costs nothing, and meets the same weather, the same workloads and the same number of processes as the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stackwars.audits.trials import Trial, against_itself
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
            comparison = against_itself(values, f"{cell.device} {name}")
            if comparison is not None:
                yield Trial(cell.device, name, comparison)
    for replay in replays.read(config, folder):
        where = replay.result
        for program in where["programs"]:
            name = f"{program} {where['workload']} in {where['compiler']}"
            comparison = against_itself(replay.replayed(program), f"{where['device']} {name}")
            if comparison is not None:
                yield Trial(where["device"], name, comparison)
