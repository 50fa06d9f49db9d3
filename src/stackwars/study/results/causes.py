"""causes.csv and profile.csv: why two programs differ in time or memory in one compiler, and where the time goes.

A row of causes.csv is one gap between two replayed programs (`stackwars.study.searches`), with the answer of its
search; pairs without a gap have no row. Or it compares the memory of two programs.

profile.csv has the time of a call of each replayed program, by class of operation. The profiles of two programs say
which class carries the gap between them (`carried`), but not why. The profiled calls are additional calls, in one
process of the replay (`stackwars.measure.stablehlo.profile`): `profile_consistent` says whether they take as long as
the calls that the same process timed without the profiler.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

import pandas as pd

from stackwars.core.documents import Row
from stackwars.core.hlo import CLASSES, DISPATCH
from stackwars.core.outcome import Status
from stackwars.core.ratio import Estimate, is_gap
from stackwars.explain.answer import LAYOUT, NO_GAP, OPERATIONS
from stackwars.measure import workloads
from stackwars.setup.device import CPU
from stackwars.study.keys import Config
from stackwars.study.programs import ReplayCell
from stackwars.study.results import schema
from stackwars.study.results.dataset import Dataset, of_study
from stackwars.study.results.raw import Raw
from stackwars.study.results.schema import is_missing
from stackwars.study.studies import PROGRAMS, comparisons

BOTH = f"{LAYOUT} and {OPERATIONS}"
"""Difference of a cause whose regions differ in more than one way."""
_PAIR = ("workload", "title", "compiler", "device")
_NUMBERS = [name for name, column in schema.CAUSES.items() if column.kind == "number"]
_CLOSED = {"closed": "share", "closed_low": "low", "closed_high": "high"}
_TIMES = {"subject_ms": "a_ms", "baseline_ms": "b_ms", "left_ms": "left_ms"}
CONSISTENT = 0.10
"""The profiled call may differ from the timed one by this share."""
_PLACE = ["workload", "compiler", "device"]
_NAME = re.compile(r"\b(?:stablehlo|chlo)\.(\w+)")
_TYPE = re.compile(r"tensor<[^>]*>(?!.*tensor<)")


def build_causes(raw: Raw) -> pd.DataFrame:
    found = [row for document in raw.causes for row in rows(document)]
    return schema.table("causes", [*found, *map(memory_row, raw.memory)])


def memory_row(document: dict) -> Row:
    """Return the row of a memory.json, the program that needs more first; one without a difference has a row too."""
    sizes = {name: one["total"] for name, one in document["programs"].items()}
    subject, baseline = sorted(document["pair"], key=lambda name: -sizes.get(name, 0))
    row = {key: document[key] for key in ("workload", "compiler", "device")}
    row |= {"title": workloads.load(document["workload"]).TITLE, "subject": subject, "baseline": baseline}
    row |= {"verdict": document["status"], "detail": document["status_detail"]}
    if sizes:
        row |= {"subject_bytes": sizes[subject], "baseline_bytes": sizes[baseline]}
        row |= {"ratio": sizes[subject] / sizes[baseline]}
    if document["status"] != Status.OK:
        return row
    if document["cause"]:
        return row | _answer(document["cause"])
    return row | {"verdict": NO_GAP}


def rows(document: dict) -> Iterator[Row]:
    where = {key: document[key] for key in ("workload", "compiler", "device")}
    where |= {"title": workloads.load(document["workload"]).TITLE}
    for gap in document["gaps"]:
        if not gap["is_gap"]:
            continue
        row = where | {"subject": gap["subject"], "baseline": gap["baseline"]}
        value, low, high = (gap["ratio"][key] for key in ("value", "low", "high"))
        row |= {"ratio": value, "low": low, "high": high}
        if gap["cause"] is None:
            yield row | {"verdict": document["status"], "detail": document["status_detail"]}
        else:
            yield row | _answer(gap["cause"])


def gaps_of(data: Dataset, study: str) -> list[Row]:
    """Return the gaps of the main comparison in every replay, and those of a study that were searched.

    They are in the order of the workloads and the compilers.
    """
    config = data.config
    replays = data.comparisons(quantity=schema.REPLAY, device=CPU)
    for pair in comparisons(config, PROGRAMS)[:1]:
        replays = replays[(replays["subject"] == pair.subject) & (replays["baseline"] == pair.baseline)]
    known = of_study(data.study(study), data.table("causes"))
    order = {name: place for place, name in enumerate([*config.workloads, *config.compilers])}
    return sorted(
        explained(replays, known, config.settings.cause_bound),
        key=lambda row: [order.get(row[name], len(order)) for name in ("workload", "compiler")],
    )


def main_gaps(data: Dataset, study: str) -> list[Row]:
    """Return the gaps of the main comparison on the workloads of the study."""
    sides = [{pair.subject, pair.baseline} for pair in comparisons(data.config, PROGRAMS)[:1]]
    known = data.study(study).workloads
    return [
        row
        for row in gaps_of(data, study)
        if row["workload"] in known and {row["subject"], row["baseline"]} in sides
    ]


def explained(replays: pd.DataFrame, causes: pd.DataFrame, bound: float) -> list[Row]:
    """Return every gap of some replay ratios and every row of causes.csv, each once, the slower program first.

    replays: rows of comparisons.csv. The verdict of a gap that was not searched is empty.
    """
    known = {
        (row["workload"], row["compiler"], frozenset((row["subject"], row["baseline"]))): row
        for row in causes.to_dict("records")
    }
    empty = dict.fromkeys(schema.CAUSES, "") | dict.fromkeys(_NUMBERS)
    names = ("subject", "baseline", "ratio", "low", "high")
    for pair in replays.to_dict("records"):
        key = (pair["workload"], pair["compiler"], frozenset((pair["subject"], pair["baseline"])))
        value, *ends = (None if is_missing(pair[name]) else pair[name] for name in names[2:])
        if key in known or value is None or not is_gap(Estimate(value, *ends), bound):
            continue
        sides = [pair["subject"], pair["baseline"], value, *ends]
        if value < 1:
            sides = [*sides[1::-1], 1 / value, *(end and 1 / end for end in reversed(ends))]
        known[key] = empty | {name: pair[name] for name in _PAIR} | dict(zip(names, sides, strict=True))
    return list(known.values())


def _answer(cause: dict) -> Row:
    """Return the columns of a cause.json; a failed search has no numbers, and in schema 1 no keys for them."""
    regions, closed = cause.get("regions", []), cause.get("closed") or {}
    kinds = dict.fromkeys(region["what"] for region in regions)
    columns = {
        "kinds": len(regions),
        "count": sum(region["count"] for region in regions),
        "what": next(iter(kinds)) if len(kinds) == 1 else BOTH,
        **{
            f"{side}_operations": "; ".join(shortened(region, letter) for region in regions)
            for side, letter in (("subject", "a"), ("baseline", "b"))
        },
        "lines": "; ".join(
            f"{region.get('line_a', '')} | {region.get('line_b', '')}".strip(" |") for region in regions
        ),
        "reason": " ".join(
            dict.fromkeys(text for region in regions if (text := region.get("reason", {}).get("sentence", "")))
        ),
    }
    return {
        "verdict": cause["verdict"],
        "detail": cause["detail"],
        **(columns if regions else {}),
        **{name: closed.get(key) for name, key in _CLOSED.items()},
        **{name: cause.get(key) for name, key in _TIMES.items()},
        "tried": tried(cause.get("tried") or {}),
        "seconds": cause.get("seconds"),
    }


def shortened(region: dict, side: str) -> str:
    """Return a region's operations of one side, with the type of the last result.

    >>> shortened({"what": "operations", "count": 1, "a": ["stablehlo.exp %0 : tensor<2x3xf32>"]}, "a")
    'exp 2x3xf32'
    """
    texts = region[side]
    if region["what"] == LAYOUT and texts:
        return f"argument {_type(texts[0])}"
    names = dict.fromkeys(name[1] for text in texts if (name := _NAME.search(text)))
    return f"{', '.join(names)} {_type(texts[-1])}".strip() if texts else "none"


def _type(text: str) -> str:
    match = _TYPE.search(text)
    return match[0].removeprefix("tensor<").removesuffix(">") if match else ""


def tried(document: dict) -> str:
    """Return what a search went through, in words.

    >>> tried({"operations": [3, 4], "classes": 2, "kinds": 2, "curve": {"1": 0.5}})
    '3 and 4 operations, 2 classes of values, 2 kinds of regions; closed by the best 1: 50 %'
    """
    if not document.get("operations"):
        return ""
    one, other = document["operations"]
    text = f"{one} and {other} operations, {document['classes']} classes of values"
    text += f", {document['kinds']} kinds of regions"
    curve = ", ".join(f"{count}: {100 * share:.0f} %" for count, share in document.get("curve", {}).items())
    return f"{text}; closed by the best {curve}" if curve else text


def build_profile(config: Config, profiles: list[dict], raw: Raw) -> pd.DataFrame:
    """Return schema.PROFILE, a row per class of each program; profiles: the content of every profile.json.

    Rows are in the order of the configuration's workloads.
    """
    place = {workload: number for number, workload in enumerate(config.workloads)}
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


def _classes(program: dict, timed: float | None) -> list[Row]:
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


def carried(pair: Row, profile: pd.DataFrame) -> Row:
    """Return which class of operations carries the gap between two replayed programs.

    gap_ms: the difference of both profiled calls; missing unless both programs were profiled. profile_consistent:
    whether both profiles are. op_class: the class with the largest share of the gap; empty if the profiled calls
    hardly differ, or in the other direction. pair: a row with subject, baseline and ratio. profile: rows of
    profile.csv; a workload has the rows of one run.
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
