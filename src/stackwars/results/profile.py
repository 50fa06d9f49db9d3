"""Where the time of each replayed program's call goes, by class of operation: profile.csv, and gaps.

Gaps are those between two replayed programs: the profiles say which class of operations carries each, but not why;
causes.csv has the cause (`stackwars.results.causes`).

The profile is of calls of their own, in one process of the replay (`stackwars.compilers.profile`). It stands
beside what the same process timed without the profiler: `profile_consistent` says whether the two agree."""

from __future__ import annotations

import math
from collections import Counter

import pandas as pd

from stackwars import workloads
from stackwars.compilers.op_classes import CLASSES, DISPATCH
from stackwars.results import schema
from stackwars.results.raw import Raw, Values
from stackwars.results.schema import is_missing
from stackwars.study.programs import ReplayCell

CONSISTENT = 0.10
"""The profiled call may differ from the timed one by this share."""


def build(config: dict, profiles: list[dict], raw: Raw) -> pd.DataFrame:
    """Return schema.PROFILE, a row per class of each program; profiles: the content of every profile.json.

    Rows are in the order of the configuration's workloads.
    """
    place = {workload: number for number, workload in enumerate(config["workloads"])}
    rows = []
    for profile in sorted(profiles, key=lambda one: place[one["workload"]]):
        replay = ReplayCell(profile["device"], profile["compiler"], profile["workload"])
        head = {
            "workload": replay.workload,
            "title": workloads.load(replay.workload).TITLE,
            "compiler": replay.compiler,
            "device": replay.device,
        }
        for name, program in profile["programs"].items():
            timed = _call_ms(raw.replay_values.get((replay, name), {}), profile["repetition"])
            rows += [{**head, "framework": name, **row} for row in _classes(program, timed)]
    return schema.table("profile", rows)


def _call_ms(values: Values, repetition: int) -> float | None:
    """Return the timed call of the profiled process, from its uncontended blocks if it has enough of them."""
    value = values.get(repetition)
    if value is None:
        return None
    return value.all_ms if value.gated_ms is None else value.gated_ms


def _classes(program: dict, timed: float | None) -> list[dict]:
    seconds: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for operation in program["operations"].values():
        seconds[operation["class"]] += operation["seconds"]
        counts[operation["class"]] += 1
    call_s = program["wall_s"]
    seconds[DISPATCH] += call_s - sum(seconds.values())
    call = {
        "calls": program["calls"],
        "profiled_ms": 1e3 * call_s,
        "call_ms": timed,
        "profile_consistent": bool(timed) and abs(1e3 * call_s / timed - 1) <= CONSISTENT,
    }
    return [
        {
            "class": name,
            "ms": 1e3 * seconds[name],
            "share": seconds[name] / call_s,
            "operations": counts[name],
            **call,
        }
        for name in CLASSES
    ]


GAP_COLUMNS = [
    *("workload", "title", "compiler", "device", "subject", "baseline", "ratio", "verdict"),
    *("gap_ms", "profile_consistent", "op_class", "share"),
]
GAP = 1.1
"""Programs that differ by more than this factor have a gap."""
_PLACE = ["workload", "compiler", "device"]


def gaps(comparisons: pd.DataFrame, profile: pd.DataFrame) -> pd.DataFrame:
    """Return GAP_COLUMNS, a row for each replay ratio over GAP, or under its inverse.

    gap_ms is the difference of both profiled calls, empty unless both programs were profiled. op_class is the
    class of operations with the largest share of it; empty if the profiled calls differ by less than GAP, or in
    the other direction.

    comparisons: rows of comparisons.csv; profile: rows of profile.csv, those of a workload from one run.
    """
    replays = comparisons[comparisons["quantity"] == schema.REPLAY]
    profiles = dict(iter(profile.groupby(_PLACE, sort=False)))
    rows = []
    for pair in replays.to_dict("records"):
        if is_missing(pair["ratio"]) or abs(math.log(pair["ratio"])) <= math.log(GAP):
            continue
        names = {key: pair[key] for key in GAP_COLUMNS[: GAP_COLUMNS.index("gap_ms")]}
        place = tuple(pair[key] for key in _PLACE)
        carried = _carried(pair, profiles.get(place, profile.iloc[:0]))
        rows.append(names | carried)
    return pd.DataFrame(rows, columns=GAP_COLUMNS)


def _carried(pair: dict, profile: pd.DataFrame) -> dict:
    """Return the columns about classes of operations."""
    sides = [profile[profile["framework"] == pair[side]] for side in ("subject", "baseline")]
    if any(side.empty for side in sides):
        return {"gap_ms": math.nan, "profile_consistent": False, "op_class": "", "share": math.nan}
    subject, baseline = (side.set_index("class")["ms"] for side in sides)
    differences = {name: subject[name] - baseline[name] for name in CLASSES}
    gap = sum(differences.values())
    # Profiled calls that hardly differ, or differ in the other direction, do not show the gap.
    towards = math.copysign(1.0, math.log(pair["ratio"]))
    is_shown = math.log(subject.sum() / baseline.sum()) * towards > math.log(GAP)
    largest = max(differences, key=lambda name: differences[name] / gap) if is_shown else ""
    return {
        "gap_ms": gap,
        "profile_consistent": all(bool(side["profile_consistent"].iloc[0]) for side in sides),
        "op_class": largest,
        "share": differences[largest] / gap if largest else math.nan,
    }
