"""Time of a call of each replayed program, by class of operation: profile.csv.

The profiles of two programs say which class of operations carries the gap between them, but not why; causes.csv
has the cause (`stackwars.study.results.causes`).

The profile is of calls of their own, in one process of the replay (`stackwars.measure.stablehlo.profile`). It stands
beside what the same process timed without the profiler: `profile_consistent` says whether the two agree.
"""

from __future__ import annotations

import math
from collections import Counter

import pandas as pd

from stackwars.core.hlo import CLASSES, DISPATCH
from stackwars.measure import workloads
from stackwars.study.programs import ReplayCell
from stackwars.study.results import schema
from stackwars.study.results.raw import Raw

CONSISTENT = 0.10
"""The profiled call may differ from the timed one by this share."""
_PLACE = ["workload", "compiler", "device"]


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
            timed = raw.replay_values.get((replay, name), {}).get(profile["repetition"])
            rows += [{**head, "framework": name, **row} for row in _classes(program, timed and timed.loops_ms)]
    return schema.table("profile", rows)


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


def carried(pair: dict, profile: pd.DataFrame) -> dict:
    """Return which class of operations carries the gap between two replayed programs.

    gap_ms: the difference of both profiled calls; missing unless both programs were profiled. profile_consistent:
    whether both profiles are. op_class: the class with the largest share of the gap; empty if the profiled calls
    hardly differ, or in the other direction. pair: a row with subject, baseline and ratio. profile: rows of
    profile.csv, those of a workload from one run.
    """
    place = (profile[_PLACE] == [pair[key] for key in _PLACE]).all(axis=1)
    sides = [profile[place & (profile["framework"] == pair[side])] for side in ("subject", "baseline")]
    if any(side.empty for side in sides):
        return {"gap_ms": math.nan, "profile_consistent": False, "op_class": "", "share": math.nan}
    subject, baseline = (side.set_index("class")["ms"] for side in sides)
    differences = {name: subject[name] - baseline[name] for name in CLASSES}
    gap = sum(differences.values())
    # Profiled calls that hardly differ, or differ in the other direction, do not show the gap.
    towards = math.copysign(1.0, math.log(pair["ratio"]))
    is_shown = math.log(subject.sum() / baseline.sum()) * towards > math.log(1 + CONSISTENT)
    largest = max(differences, key=lambda name: differences[name] / gap) if is_shown else ""
    return {
        "gap_ms": gap,
        "profile_consistent": all(bool(side["profile_consistent"].iloc[0]) for side in sides),
        "op_class": largest,
        "share": differences[largest] / gap if largest else math.nan,
    }
