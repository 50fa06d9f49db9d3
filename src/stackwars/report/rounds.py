"""The ratio of each round of a comparison: what its mean and its interval are made from."""

from __future__ import annotations

from typing import Any

from stackwars.measure import interleaved
from stackwars.measure.events import event
from stackwars.measure.process_value import ProcessValue, aligned
from stackwars.report.calls import digits
from stackwars.results.processes import Values
from stackwars.results.replays import ReplayResult

Rounds = list[list[float]]
"""[round from 0, ratio] of each."""


def of_ratio(row: dict[str, Any], cells: dict[str, dict], values: Values) -> dict[str, Rounds]:
    """{stage: ratios} of a row of ratios.csv, by the rules of results/ratios.py; empty unless both cells are
    ok here.

    cells: {device/framework/workload: cell.json}; values: of processes.csv, for what was not interleaved.
    """
    device, workload, names = row["device"], row["workload"], [row["framework"], row["baseline"]]
    ours, theirs = (cells.get(f"{device}/{name}/{workload}") for name in names)
    if not all(cell and cell["status"] == "ok" for cell in (ours, theirs)):
        return {}
    pairs = [(p["repetition"], interleaved.pairs_ms(p)) for p in ours["processes"]]
    if all(found for _, found in pairs):
        steady = [[number, digits(interleaved.round_ratio(found))] for number, found in pairs]
    else:
        steady = _of_values(*(values.get((workload, name, device), {}) for name in names))
    singles = {stage: _singles(ours, theirs, stage) for stage in ("first", "second")}
    return {**singles, "steady": steady}


def of_effect(row: dict[str, Any], replays: dict[str, dict]) -> Rounds:
    """The IR effect in each round of a row of split.csv; empty unless both programs were replayed here.

    replays: {device/compiler/workload: replay.json}.
    """
    replay = replays.get(f"{row['device']}/{row['compiler']}/{row['workload']}")
    if replay is None:
        return []
    return _of_values(*ReplayResult(replay, {}).paired(row["framework"], row["baseline"]))


def _of_values(ours: dict[int, ProcessValue], theirs: dict[int, ProcessValue]) -> Rounds:
    if not ours or not theirs:
        return []
    shared, _ = aligned(ours, theirs)
    return [[number, digits(one / other)] for number, (one, other) in shared.items()]


def _singles(ours: dict, theirs: dict, stage: str) -> Rounds:
    one, other = (
        {p["repetition"]: event(p, stage)["ns"] for p in cell["processes"]}
        for cell in (ours, theirs)
    )
    shared = sorted(one.keys() & other.keys())
    return [[number, digits(one[number] / other[number])] for number in shared]
