"""Is a difference found that is there, and none that is not? Measured on a workload whose work is known.

`python -m stackwars.audits.power`: per round, in random order, fresh processes of a stack of layers with
0, 2, 5 and 10 % more of them, each interleaved with one without more, measured and compared as the paper does.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from stackwars.audits import runner
from stackwars.audits.trials import Rounds, Trial, compared, false_claims, groups, rate
from stackwars.measure import documents, interleaved, process_value
from stackwars.measure.supervisor import ProcessJob

BASE, AGAIN = "base", "base again"
"""The side that every other one is interleaved with, and one that is the same."""
LAYERS = 100
MORE = (2, 5, 10)
SIZES = {"rows": 64, "width": 128}
BLOCKS = {
    "block_calls": 1,
    "steady_seconds": 0.1,
    "steady_min_blocks": 3,
    "steady_max_blocks": 400,
    "interleaved_seconds": 1.0,
}
GROUP = 4
"""Rounds of one trial."""


def side(percent: int) -> str:
    """The name of the side that has so many percent more work."""
    return f"{percent} % more"


SIDES = {BASE: 0, AGAIN: 0, **{side(percent): percent for percent in MORE}}
"""Layers beyond LAYERS, which are percent."""
OTHERS = tuple(name for name in SIDES if name != BASE)


def measure(
    job: dict, pins: Path, rounds: int, folder: Path, others: Sequence[str] = OTHERS
) -> dict[str, list[dict]]:
    """{side other than BASE: process results of all rounds}; `folder` keeps the finished ones.

    job: framework, dialect, device, preset and settings of a `supervisor.ProcessJob`. Raises RuntimeError where
    a process fails.
    """
    settings = {**job["settings"], **BLOCKS}
    found: dict[str, list[dict]] = {name: [] for name in others}
    partner = {"framework": job["framework"], "dialect": job["dialect"]}
    partner["sizes"] = {**SIZES, "layers": LAYERS}
    for number in range(rounds):
        # Seeded by the round: an audit that goes on takes up the same order.
        order = random.Random(f"{settings['seed']} {number}").sample(others, len(others))
        for name in order:
            sizes = {**SIZES, "layers": LAYERS + SIDES[name]}
            wanted = ProcessJob(
                **{**job, "settings": settings, "partner": partner},
                workload="depth_scaling",
                repetition=number,
                sizes=sizes,
            )
            where = folder / f"round-{number}" / name.replace(" ", "-")
            result = runner.run(wanted, pins, where, "stackwars.audits.depth_child")
            found[name].append(runner.require_ok(result))
    return found


def interleaved_values(results: list[dict]) -> Rounds:
    """{round: time of the side over its partner's}. Raises RuntimeError where one was not interleaved."""
    found = {}
    for result in results:
        pairs = interleaved.pairs_ms(result)
        if not pairs:
            why = result["partner"].get("status_detail", result["partner"]["status"])
            raise RuntimeError(f"expected two interleaved processes; the second one: {why}")
        found[result["repetition"]] = process_value.plain(interleaved.round_ratio(pairs))
    return found


def ones(rounds: int) -> Rounds:
    """What `interleaved_values` counts in: the partner, in so many rounds."""
    return {number: process_value.plain(1.0) for number in range(rounds)}


def figures(sides: dict[str, Rounds], device: str, group: int = GROUP) -> dict[str, Any]:
    """What the comparison makes of the sides, in trials of so many rounds and over all rounds."""
    parts = {name: groups(values, group) for name, values in sides.items()}
    same = trials(device, AGAIN, parts[AGAIN], parts[BASE])
    sizes = []
    for percent in MORE:
        name = side(percent)
        # The labels swapped: the side without more work above the line, from other processes.
        whole, swapped = compared(sides[name], sides[BASE]), compared(sides[AGAIN], sides[name])
        made = trials(device, name, parts[name], parts[BASE])
        off = [abs(_error(trial.comparison.ratio, percent)) for trial in made]
        found = [trial for trial in made if trial.claimed and trial.comparison.ratio > 1]
        sizes.append(
            {
                "percent": percent,
                **rate(len(found), len(made)),
                "ratio": whole and whole.ratio,
                "error_points": whole and _error(whole.ratio, percent),
                "trial_error_points": max(off, default=None),
                "swapped_ratio": swapped and swapped.ratio,
            }
        )
    return {"group": group, "aa": false_claims(same), "sizes": sizes}


def trials(device: str, name: str, values: list[Rounds], baseline: list[Rounds]) -> list[Trial]:
    """The comparison of each group of rounds of one side with the same rounds of another."""
    pairs = (compared(a, b) for a, b in zip(values, baseline, strict=True))
    return [Trial(device, name, comparison) for comparison in pairs if comparison is not None]


def _error(ratio: float, percent: int) -> float:
    return 100 * (ratio - 1) - percent


def audit_power(job: dict, pins: Path, rounds: int, folder: Path) -> dict[str, Any]:
    """Measure and judge; what the report reads."""
    processes = measure(job, pins, rounds, folder)
    values = {name: interleaved_values(results) for name, results in processes.items()}
    values[BASE] = ones(rounds)
    return {
        "framework": job["framework"],
        "device": job["device"],
        "rounds": rounds,
        "layers": LAYERS,
        "wall_s": sum(p["wall_s"] for results in processes.values() for p in results),
        "ratios": {name: [v.all_ms for v in one.values()] for name, one in values.items()},
        **figures(values, job["device"]),
    }


def command(measure_and_judge: Callable[[dict, Path, int, Path], dict], doc: str | None) -> None:
    """The command line of an audit in rounds: measures, writes --output, and drops what it kept."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--job", required=True, type=documents.read)
    parser.add_argument("--rounds", required=True, type=int)
    for name in ("pins", "folder", "output"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    a = parser.parse_args()
    found = measure_and_judge(a.job, a.pins, a.rounds, a.folder)
    a.output.parent.mkdir(parents=True, exist_ok=True)
    a.output.write_text(json.dumps(found, indent=1))
    shutil.rmtree(a.folder)


if __name__ == "__main__":
    command(audit_power, __doc__)
