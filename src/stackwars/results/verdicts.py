"""Verdicts: what the numbers allow one to say. Pure functions of numbers.

A ratio is always framework over baseline, so above 1 means that the framework took longer. What may be
said of the ratios of the frame is decided in :mod:`stackwars.measure.comparison`, whose words these are.
"""

from __future__ import annotations

from typing import Any

from stackwars.results.values import is_missing

Finding = dict[str, Any]

SLOWER = "slower"
FASTER = "faster"
NO_DIFFERENCE = "no difference found"  # the whole interval lies within 5 % of 1
UNRESOLVED = "unresolved"  # neither that, nor a difference
NOT_DECIDED = "not decided"  # a ratio, but no interval: fewer than two rounds
NO_DATA = "no data"

AGREES = "agrees"
DIFFERS = "differs"
NOT_COMPARABLE = "not comparable"

ONE_SLOW_RUN = "one slow run"
TWO_SLOW_RUNS = "two slow runs"
MORE_SLOW_RUNS = "more than two slow runs"
COUNTS_DISAGREE = "compilations and times disagree"
WARM_UP, SLOWING, NO_STEADY_STATE = (
    "warm-up",
    "slowing down",
    "no steady state",
)  # of measure.steady

RETURNS_EARLY, RETURNS_DONE = "returns early", "returns when it is done"

FLAT, GROWS, SUPERLINEAR = "flat", "grows", "grows faster than the size"
EVERY_SHAPE, FEWER_PROGRAMS = "compiles every shape", "compiles fewer programs than shapes"
COMPILES_AGAIN = "compiles shapes again"

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


def agreement(published_ratio: float, ours: str) -> str:
    """Whether our verdict on a ratio is the direction that the published ratio points to.

    Ours where it is no direction: no difference found, unresolved or not decided.
    """
    if is_missing(published_ratio) or ours == NO_DATA:
        return NOT_COMPARABLE
    if ours not in (SLOWER, FASTER):
        return ours
    published = SLOWER if published_ratio > 1 else FASTER
    return AGREES if ours == published else DIFFERS


def runs_by_compiles(compiles_second: float) -> str:
    """Whether the second call still compiled."""
    if is_missing(compiles_second):
        return NO_DATA
    return TWO_SLOW_RUNS if compiles_second > 0 else ONE_SLOW_RUN


def runs_by_times(steady_class: str, warmup: float) -> str:
    """How many leading calls were slow, by the changepoints of :mod:`stackwars.measure.steady`.

    One that slows down later has slow leading calls too; with no steady state nothing is slow or fast.
    """
    if is_missing(steady_class) or is_missing(warmup) or not steady_class:
        return NO_DATA
    if steady_class == NO_STEADY_STATE:
        return NOT_DECIDED
    if warmup <= 1:
        return ONE_SLOW_RUN
    return TWO_SLOW_RUNS if warmup == 2 else MORE_SLOW_RUNS


def slow_runs(by_compiles: str, by_times: str) -> str:
    """One or two slow runs where compilations and times both say so; else what keeps one from saying it."""
    if NO_DATA in (by_compiles, by_times):
        return NO_DATA
    if by_times == NOT_DECIDED:
        return NOT_DECIDED
    return by_times if by_times == by_compiles else COUNTS_DISAGREE


def same_direction(one: str, other: str) -> str:
    """Whether two verdicts on ratios are the same direction, opposite ones, or not both a direction."""
    if NO_DATA in (one, other):
        return NO_DATA
    if not {one, other} <= {SLOWER, FASTER}:
        return NOT_DECIDED
    return AGREES if one == other else DIFFERS


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
