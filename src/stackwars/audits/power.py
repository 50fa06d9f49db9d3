"""Find a difference that exists, and none that does not, on a workload whose work is known exactly.

`python -m stackwars.audits.power`: in every round a stack of layers runs against itself and against stacks with
2, 5 and 10 % more layers, measured and compared as the paper does. In a framework they are fresh processes, each
interleaved with one of the plain stack; in a replay they are programs that take turns in one process. `--same`
leaves the longer stacks out: A/A alone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from stackwars.audits import depth_scaling, subjects
from stackwars.audits.subjects import CellSubject, ReplaySubject
from stackwars.audits.trials import GROUP, Rounds, Trial, compared, false_claims, groups, rate
from stackwars.measure import loops, process_value
from stackwars.results.rounds import interleaved_ratio

BASE, AGAIN = "base", "base again"
"""The stack that every other one is compared with, and one that is the same."""
LAYERS = 100
MORE = (2, 5, 10)
SIZES = {"rows": 64, "width": 128}
CELL_BLOCKS = {
    "block_calls": 1,
    "steady_seconds": 0.1,
    "steady_min_blocks": 3,
    "steady_max_blocks": 400,
    "loop_pairs": 5,
    "loop_seconds": 1.0,
}
REPLAY_BLOCKS = {
    "block_calls": 1,
    "steady_seconds": 0.5,
    "steady_min_blocks": 1,
    "steady_max_blocks": 300,
}


def side(percent: int) -> str:
    """Return the name of the side that has so many percent more work."""
    return f"{percent} % more"


SIDES = {BASE: 0, AGAIN: 0, **{side(percent): percent for percent in MORE}}
"""Layers beyond LAYERS, which are percent."""


def audit_power(subject: CellSubject, rounds: int, same: bool = False) -> dict[str, Any]:
    """Measure and judge; return what the report reads. same: leave the longer stacks out."""
    more = () if same else MORE
    others = [AGAIN, *map(side, more)]
    measure = replayed_ratios if isinstance(subject, ReplaySubject) else interleaved_ratios
    wall_s, sides = measure(subject, rounds, others)
    return {
        **subject.labels,
        "rounds": rounds,
        "layers": LAYERS,
        "wall_s": wall_s,
        "ratios": {name: [v.all_ms for v in one.values()] for name, one in sides.items()},
        **figures(sides, subject.job["device"], more=more),
    }


def interleaved_ratios(
    subject: CellSubject, rounds: int, others: Sequence[str]
) -> tuple[float, dict[str, Rounds]]:
    """Run a process for every round and side; return their seconds, and each side's times over BASE's.

    Raises RuntimeError if a process fails or was not interleaved.
    """
    wall_s, sides = 0.0, {name: {} for name in (BASE, *others)}
    partner = {key: subject.job[key] for key in ("framework", "dialect")} | {"sizes": sizes_of(BASE)}
    for number in range(rounds):
        sides[BASE][number] = process_value.plain(1.0)
        # Seeded by the round, so that an audit that resumes takes up the same order.
        order = random.Random(f"{subject.job['settings']['seed']} {number}").sample(others, len(others))
        for name in order:
            result = subject.run(
                f"round-{number}/{name.replace(' ', '-')}",
                workload=depth_scaling.NAME,
                repetition=number,
                sizes=sizes_of(name),
                settings=CELL_BLOCKS,
                partner=partner,
            )
            pairs = loops.pairs(*map(loops.loops_of, (result, result["partner"])))
            if not pairs:
                why = result["partner"].get("status_detail", result["partner"]["status"])
                raise RuntimeError(f"expected two interleaved processes; the second one: {why}")
            wall_s += result["wall_s"]
            sides[name][number] = process_value.plain(loops.round_ratio(pairs))
    return wall_s, sides


def replayed_ratios(
    subject: ReplaySubject, rounds: int, others: Sequence[str]
) -> tuple[float, dict[str, Rounds]]:
    """Run a process for every round, in which all sides take turns; return as `interleaved_ratios`."""
    wall_s, sides = 0.0, {name: {} for name in (BASE, *others)}
    programs = subject.lower(depth_scaling.NAME, {name: sizes_of(name) for name in sides})
    for number in range(rounds):
        result = subject.run(
            f"round-{number}",
            programs=programs,
            workload=depth_scaling.NAME,
            repetition=number,
            sizes=sizes_of(BASE),
            settings=REPLAY_BLOCKS,
        )
        wall_s += result["wall_s"]
        steady = {event["program"]: event for event in result["events"] if event["event"] == "steady"}
        for name, values in sides.items():
            values[number] = process_value.plain(interleaved_ratio(steady[name], steady[BASE]))
    return wall_s, sides


def sizes_of(name: str) -> dict[str, int]:
    """Return the sizes of a side's stack."""
    return {**SIZES, "layers": LAYERS + SIDES[name]}


def figures(
    sides: dict[str, Rounds], device: str, group: int = GROUP, more: Sequence[int] = MORE
) -> dict[str, Any]:
    """Return what the comparison finds of the sides, in trials of so many rounds and over all rounds."""
    parts = {name: groups(values, group) for name, values in sides.items()}
    same = trials(device, AGAIN, parts[AGAIN], parts[BASE])
    sizes = []
    for percent in more:
        name = side(percent)
        # The labels swapped: the side without more work above the line, from other processes.
        pooled, swapped = compared(sides[name], sides[BASE]), compared(sides[AGAIN], sides[name])
        longer = trials(device, name, parts[name], parts[BASE])
        off = [abs(_error(trial.comparison.ratio, percent)) for trial in longer]
        result = [trial for trial in longer if trial.claimed and trial.comparison.ratio > 1]
        sizes.append(
            {
                "percent": percent,
                **rate(len(result), len(longer)),
                "ratio": pooled and pooled.ratio,
                "error_points": pooled and _error(pooled.ratio, percent),
                "trial_error_points": max(off, default=None),
                "swapped_ratio": swapped and swapped.ratio,
            }
        )
    return {"group": group, "aa": false_claims(same), "sizes": sizes}


def trials(device: str, name: str, values: list[Rounds], baseline: list[Rounds]) -> list[Trial]:
    """Return the comparison of each group of rounds of one side with the same rounds of another."""
    pairs = (compared(a, b) for a, b in zip(values, baseline, strict=True))
    return [Trial(device, name, comparison) for comparison in pairs if comparison is not None]


def _error(ratio: float, percent: int) -> float:
    return 100 * (ratio - 1) - percent


if __name__ == "__main__":
    subjects.command(
        audit_power,
        __doc__,
        rounds={"type": int, "required": True},
        same={"action": "store_true", "help": "leave the longer stacks out"},
    )
