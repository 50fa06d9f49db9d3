"""Where the time of each replayed program's call goes, by class of operation: the table profile.csv.

The profile is of calls of their own, in one process of the replay (`stackwars.compilers.profile`). It stands
beside what the same process timed without the profiler: `profile_consistent` says whether the two agree."""

from __future__ import annotations

from collections import Counter

import pandas as pd

from stackwars import workloads
from stackwars.compilers.op_classes import CLASSES, DISPATCH
from stackwars.results import schema
from stackwars.results.raw import Raw, Values
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
    whole = program["wall_s"]
    seconds[DISPATCH] += whole - sum(seconds.values())
    overhead = 1e3 * whole / timed - 1 if timed else None
    call = {
        "calls": program["calls"],
        "profiled_ms": 1e3 * whole,
        "call_ms": timed,
        "profile_overhead": overhead,
        "profile_consistent": overhead is not None and abs(overhead) <= CONSISTENT,
    }
    return [
        {
            "class": name,
            "ms": 1e3 * seconds[name],
            "share": seconds[name] / whole,
            "operations": counts[name],
            **call,
        }
        for name in CLASSES
    ]
