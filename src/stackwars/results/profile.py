"""Where the time of each replayed program's call goes, by class of operation: profile.csv, and gaps.

Gaps are those between two replayed programs: the profiles say which class of operations carries each, and an
edit of a program says why. A gap that no edit closes has no known cause, whatever the profiles say.

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
from stackwars.results.verdicts import CLOSES_MOST, NO_DATA
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


GAP_COLUMNS: dict[str, str] = {
    "workload": "name of the workload",
    "title": "its name in the tables",
    "compiler": "what compiled and ran both programs",
    "device": "where they ran",
    "subject": "whose program is the numerator of the ratio",
    "baseline": "whose program is the denominator",
    "ratio": "replay of the subject's program / of the baseline's",
    "verdict": "its verdict: a gap that is not decided may be chance",
    "class": "class of operations; empty, in a single row, if a program was not profiled",
    "difference_ms": "what the class takes in the subject's profiled call less in the baseline's",
    "share": "of the difference of both profiled calls; below 0 if the class narrows the gap; empty if they do "
    "not show it",
    "gap_ms": "the difference of both profiled calls",
    "profile_consistent": "whether both profiled calls take the time of a timed call",
    "op_class": "the class with the largest share; empty if the profiled calls differ by less than GAP, or in "
    "the other direction",
    "cause": "the edit (or edits) that closes most of the gap; empty if there is none",
    "best_edit": "the edited program that closes the largest share",
    "share_closed": "that share, on logarithms",
}
GAP = 1.1
"""Programs that differ by more than this factor have a gap."""
_PLACE = ["workload", "compiler", "device"]


def gaps(comparisons: pd.DataFrame, profile: pd.DataFrame) -> pd.DataFrame:
    """Return GAP_COLUMNS, a row for each gap and class of operations.

    comparisons: rows of comparisons.csv; profile: rows of profile.csv, those of a workload from one run.
    """
    replays = comparisons[comparisons["quantity"] == schema.REPLAY]
    edits = comparisons[comparisons["quantity"] == schema.EDIT]
    profiles = dict(iter(profile.groupby(_PLACE, sort=False)))
    rows = []
    for pair in replays.to_dict("records"):
        if is_missing(pair["ratio"]) or abs(math.log(pair["ratio"])) <= math.log(GAP):
            continue
        head = {key: pair[key] for key in GAP_COLUMNS if key in pair and key != "share"} | _explained(
            pair, edits
        )
        place = tuple(pair[key] for key in _PLACE)
        rows += [head | row for row in _differences(pair, profiles.get(place, profile.iloc[:0]))]
    return pd.DataFrame(rows, columns=list(GAP_COLUMNS))


def _explained(pair: dict, edits: pd.DataFrame) -> dict:
    """Return the columns about edits: the simplest one that closes most of the gap, and the best of all."""
    sides = {pair["subject"], pair["baseline"]}
    local_edits = edits[(edits[_PLACE] == [pair[key] for key in _PLACE]).all(axis=1)]
    known = local_edits[
        local_edits["baseline"].isin(sides) & local_edits["detail"].isin(sides) & local_edits["share"].notna()
    ]
    known = known[known["verdict"] != NO_DATA]
    closing = known.loc[known["verdict"] == CLOSES_MOST, "subject"]
    best = known.loc[known["share"].idxmax()] if len(known) else None
    return {
        "cause": min(closing, key=lambda name: name.count("+"), default=""),
        "best_edit": "" if best is None else best["subject"],
        "share_closed": math.nan if best is None else best["share"],
    }


def _differences(pair: dict, profile: pd.DataFrame) -> list[dict]:
    """Return a row for each class of operations."""
    sides = [profile[profile["framework"] == pair[side]] for side in ("subject", "baseline")]
    if any(side.empty for side in sides):
        return [{"class": "", "op_class": "", "profile_consistent": False}]
    subject, baseline = (side.set_index("class")["ms"] for side in sides)
    differences = {name: subject[name] - baseline[name] for name in CLASSES}
    gap = sum(differences.values())
    # Profiled calls that hardly differ, or differ in the other direction, do not show the gap.
    towards = math.copysign(1.0, math.log(pair["ratio"]))
    is_shown = math.log(subject.sum() / baseline.sum()) * towards > math.log(GAP)
    common = {
        "gap_ms": gap,
        "profile_consistent": all(bool(side["profile_consistent"].iloc[0]) for side in sides),
        "op_class": max(differences, key=lambda name: differences[name] / gap) if is_shown else "",
    }
    return [
        {"class": name, "difference_ms": ms, "share": ms / gap if is_shown else math.nan, **common}
        for name, ms in differences.items()
    ]
