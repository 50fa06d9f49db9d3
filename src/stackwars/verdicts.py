"""Verdicts: what the numbers allow one to say. Pure functions of numbers.

A ratio is always framework over baseline, so above 1 means that the framework took longer. A
direction is claimed only where the 95 % interval leaves 1 outside.
"""

from __future__ import annotations

from typing import Any

from stackwars.latex import is_missing

Finding = dict[str, Any]

SLOWER = "slower"
FASTER = "faster"
NO_DIFFERENCE = "no difference found"
NOT_DECIDED = "not decided"  # a ratio, but no interval: fewer than two repetitions
NO_DATA = "no data"

AGREES = "agrees"
DIFFERS = "differs"
SPANS_ONE = "interval spans 1"
NO_INTERVAL = "no interval"
NOT_COMPARABLE = "not comparable"

ONE_SLOW_RUN = "one slow run"
TWO_SLOW_RUNS = "two slow runs"

LONGEST = "longest"
NOT_LONGEST = "not the longest"

OOM_BOTH = "out of memory in both"
OOM_THERE = "out of memory only there"
OOM_HERE = "out of memory only here"
RAN_BOTH = "ran in both"

HOLDS = "holds"
HOLDS_WHERE_DECIDED = "holds where decided"
HOLDS_IN_PART = "holds in part"
DOES_NOT_HOLD = "does not hold"

ALL_OK = "all ok"
SOME_OK = "some ok"
NONE_OK = "none ok"

MEASURED = "measured"
SOME = "some"
NONE = "none"


def finding(identity: str, verdict: str, **numbers: Any) -> Finding:
    """One finding; NaN becomes None, because JSON has no NaN."""
    plain = {key: None if is_missing(v) else v for key, v in numbers.items()}
    return {"id": identity, "verdict": verdict, **plain}


def direction(ratio: float, low: float, high: float) -> str:
    """The direction of a ratio of times with its 95 % interval."""
    if is_missing(ratio):
        return NO_DATA
    if is_missing(low) or is_missing(high):
        return NOT_DECIDED
    if low > 1:
        return SLOWER
    if high < 1:
        return FASTER
    return NO_DIFFERENCE


def agreement(published_ratio: float, ours: str) -> str:
    """Whether our :func:`direction` is the one that the published ratio points to."""
    if is_missing(published_ratio) or ours == NO_DATA:
        return NOT_COMPARABLE
    if ours == NO_DIFFERENCE:
        return SPANS_ONE
    if ours == NOT_DECIDED:
        return NO_INTERVAL
    published = SLOWER if published_ratio > 1 else FASTER
    return AGREES if ours == published else DIFFERS


def slow_runs(compiles_second: float) -> str:
    """Whether the second call still compiled."""
    if is_missing(compiles_second):
        return NO_DATA
    return TWO_SLOW_RUNS if compiles_second > 0 else ONE_SLOW_RUN


def largest_part(parts: dict[str, float]) -> str:
    """The name of the largest of the measured parts of the first run."""
    measured = {name: value for name, value in parts.items() if not is_missing(value)}
    return max(measured, key=measured.get) if measured else NO_DATA


def rank_interval(name: str, intervals: dict[str, tuple[float, float, float]]) -> str:
    """Whether ``name`` has the largest value among ``intervals`` (value, low, high).

    ``longest`` and ``not the longest`` are said only where intervals do not overlap.
    """
    known = {k: v for k, v in intervals.items() if not is_missing(v[0])}
    if name not in known or len(known) < 2:
        return NO_DATA
    if any(is_missing(low) or is_missing(high) for _, low, high in known.values()):
        return NOT_DECIDED
    _, low, high = known[name]
    others = [v for k, v in known.items() if k != name]
    if all(low > other_high for _, _, other_high in others):
        return LONGEST
    if any(high < other_low for _, other_low, _ in others):
        return NOT_LONGEST
    return NOT_DECIDED


def memory_outcome(published: str, ours: str) -> str:
    """How an out-of-memory outcome there compares with the one here."""
    if not published or ours not in ("ok", "oom"):
        return NO_DATA
    if published == "oom":
        return OOM_BOTH if ours == "oom" else OOM_THERE
    return OOM_HERE if ours == "oom" else RAN_BOTH


def headline(agrees: int, differs: int, unresolved: int) -> str:
    """What the tally of :func:`agreement` says about the original's ordering as a whole."""
    if not agrees + differs:
        return NOT_DECIDED if unresolved else NO_DATA
    if not differs:
        return HOLDS_WHERE_DECIDED if unresolved else HOLDS
    return HOLDS_IN_PART if agrees else DOES_NOT_HOLD
