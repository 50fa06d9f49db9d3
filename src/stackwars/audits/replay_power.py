"""Is a difference between two replayed programs found that is there, and none that is not?

`python -m stackwars.audits.replay_power`: as `stackwars.audits.power`, but what is compared takes turns in one
process, as the programs of a replay do: a program, the same again, and those with 2, 5 and 10 % more layers.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from stackwars.audits import power, replays
from stackwars.measure import process_value
from stackwars.results.rounds import interleaved_ratio

BLOCKS = {
    "block_calls": 1,
    "steady_seconds": 0.5,
    "steady_min_blocks": 1,
    "steady_max_blocks": 300,
    # Other numbers of layers have other outputs.
    "parity_rel_l2": math.inf,
}


def audit_power(job: dict, pins: Path, rounds: int, folder: Path) -> dict[str, Any]:
    """Measure and judge; what the report reads. job, errors: as of `replays.run`."""
    sizes = {name: {**power.SIZES, "layers": power.LAYERS + more} for name, more in power.SIDES.items()}
    programs = replays.lowered(job, "depth_scaling", sizes, folder)
    processes = [
        replays.run(
            job, pins, folder / f"round-{number}", programs,
            workload="depth_scaling", repetition=number, sizes=sizes[power.BASE], settings=BLOCKS,
        )
        for number in range(rounds)
    ]  # fmt: skip
    values = {name: _values(processes, name) for name in power.SIDES}
    return {
        **{key: job[key] for key in replays.WHO},
        "rounds": rounds,
        "layers": power.LAYERS,
        "wall_s": sum(process["wall_s"] for process in processes),
        "ratios": {name: [v.all_ms for v in one.values()] for name, one in values.items()},
        **power.figures(values, job["device"]),
    }


def _values(processes: list[dict], name: str) -> power.Rounds:
    """{round: time of the program over that of BASE in the same process}."""
    found = {}
    for process in processes:
        steady = {e["program"]: e for e in process["events"] if e["event"] == "steady"}
        ratio = interleaved_ratio(steady[name], steady[power.BASE])
        found[process["repetition"]] = process_value.plain(ratio)
    return found


if __name__ == "__main__":
    power.command(audit_power, __doc__)
