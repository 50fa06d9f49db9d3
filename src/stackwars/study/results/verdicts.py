"""Verdicts: what the numbers allow one to say. Pure functions of numbers.

A ratio is always subject over baseline, so above 1 means that the subject took longer, or has more.
"""

from __future__ import annotations

from collections.abc import Sequence

from stackwars.core.ratio import EQUIVALENT as EQUIVALENT
from stackwars.core.ratio import FASTER, INCONCLUSIVE, NO_DATA, SAME_SIZE, SLOWER, Estimate, is_within
from stackwars.core.ratio import NO_INTERVAL as NO_INTERVAL
from stackwars.study.results.schema import is_missing

DECIDED = (SLOWER, FASTER)
NOT_DECIDED = "not decided"
OPPOSITE = "opposite"
"""Kinds of machine decide a comparison for different sides."""

AGREES = "agrees"
DIFFERS = "differs"
NOT_COMPARABLE = "not comparable"

ONE_SLOW_RUN = "one slow run"
TWO_SLOW_RUNS = "two slow runs"
MORE_SLOW_RUNS = "more than two slow runs"
COUNTS_DISAGREE = "compilations and times disagree"
NO_STEADY_STATE = "no steady state"  # of stackwars.measure.steady

DUE_TO_PROGRAM, DUE_TO_REST = "the program", "everything else"
NOT_SEPARATED = "not separated"
PASSED, NATIVE_SLOWER, NATIVE_FASTER = "passed", "native slower", "native faster"
CONTROL = 0.03
"""A control passes if the interval of its ratio lies within this share of 1."""

FRONTEND, COMPILER, INTERACTION = "frontend", "compiler", "interaction"

REMOVED, REMAINS = "most removed", "most remains"

FITS, TOO_LARGE = "fits", "oom"
MORE, LESS, SAME, DIFFERENT = "more", "less", "same", "different"

_SIDES = ({SLOWER, FASTER}, {DUE_TO_PROGRAM, DUE_TO_REST}, {NATIVE_SLOWER, NATIVE_FASTER}, {REMOVED, REMAINS})

AS_CLAIMED, NOT_AS_CLAIMED = "as claimed", "not as claimed"
LIKE_SUBJECT, LIKE_BASELINE = "as the subject's", "as the baseline's"
LIKE_BOTH, LIKE_NEITHER = "as both", "as neither's"

FLAT, GROWS, SUPERLINEAR = "flat", "grows", "grows faster than the size"
FLAT_UP_TO = 0.1
"""An exponent whose interval includes 0 and ends below this is flat: twice the size costs 7 % more at most."""
COMPILED, SHARED, REUSED, COMPILED_AGAIN = "compiled", "shared", "reused", "compiled again"
"""Outcomes of a call with a shape: the first two of its first call, the others of its second."""


def over_kinds(words: Sequence[str]) -> str:
    """Return what holds on every kind of machine, by the verdict on each of them.

    The common one if all agree; OPPOSITE if two decide for different sides; else an undecided kind's.
    """
    distinct = set(words)
    if len(distinct) == 1:
        return words[0]
    if any(distinct >= sides for sides in _SIDES):
        return OPPOSITE
    return NOT_SEPARATED if NOT_SEPARATED in distinct else INCONCLUSIVE


def agreement(published_ratio: float, verdict: str) -> str:
    """Return whether our verdict on a ratio has the direction of the published one; ours if it has none."""
    if is_missing(published_ratio) or verdict == NO_DATA:
        return NOT_COMPARABLE
    if verdict not in DECIDED:
        return verdict
    return AGREES if verdict == (SLOWER if published_ratio > 1 else FASTER) else DIFFERS


def runs_by_compiles(compiles_second: float) -> str:
    if is_missing(compiles_second):
        return NO_DATA
    return TWO_SLOW_RUNS if compiles_second > 0 else ONE_SLOW_RUN


def runs_by_times(steady_class: str, warmup: float) -> str:
    """Return how many leading calls were slow, by the changepoints of :mod:`stackwars.measure.steady`."""
    if is_missing(steady_class) or is_missing(warmup) or not steady_class:
        return NO_DATA
    if steady_class == NO_STEADY_STATE:
        return NOT_DECIDED
    if warmup <= 1:
        return ONE_SLOW_RUN
    return TWO_SLOW_RUNS if warmup == 2 else MORE_SLOW_RUNS


def slow_runs(by_compiles: str, by_times: str) -> str:
    """Return the number of slow runs if compilations and times agree on it, else what keeps it open."""
    if NO_DATA in (by_compiles, by_times):
        return NO_DATA
    if by_times == NOT_DECIDED:
        return NOT_DECIDED
    return by_times if by_times == by_compiles else COUNTS_DISAGREE


def shape(is_first: bool, compiles: float) -> str:
    """Return what a call with a shape did: its first call, or its second."""
    if is_missing(compiles):
        return ""
    if is_first:
        return COMPILED if compiles > 0 else SHARED
    return COMPILED_AGAIN if compiles > 0 else REUSED


def control(ratio: Estimate) -> str:
    """Return whether a native call takes the time of the replay of its program, by the interval of their ratio."""
    if ratio.low is not None and is_within(ratio.low, ratio.high, CONTROL):
        return PASSED
    return side(ratio, NATIVE_SLOWER, NATIVE_FASTER, INCONCLUSIVE)


def side(ratio: Estimate, above: str, below: str, neither: str = NOT_SEPARATED) -> str:
    """Return on which side of 1 the interval of a ratio lies."""
    if ratio.low is None:
        return NO_DATA
    if ratio.low > 1:
        return above
    return below if ratio.high < 1 else neither


def scaling(low: float, high: float) -> str:
    """Return how a cost grows with a size, by the interval of its exponent."""
    if low > 1:
        return SUPERLINEAR
    if low <= 0:
        return FLAT if high <= FLAT_UP_TO else INCONCLUSIVE
    return GROWS if high <= 1 else INCONCLUSIVE


def amount(one: float, base: float, within: float = SAME_SIZE) -> str:
    """Return ``more``, ``less`` or ``same`` (within this share) of two amounts."""
    if is_missing(one) or is_missing(base) or not base:
        return NO_DATA
    if abs(one / base - 1) <= within:
        return SAME
    return MORE if one > base else LESS


def largest_batch(one: tuple[float, float], base: tuple[float, float]) -> str:
    """Compare two brackets: the largest batch that fits, and the smallest that does not."""
    if is_missing(one[0]) or is_missing(base[0]):
        return NO_DATA
    if one == base and one[1] == one[0] + 1:
        return SAME
    if not is_missing(base[1]) and one[0] >= base[1]:
        return MORE
    if not is_missing(one[1]) and base[0] >= one[1]:
        return LESS
    return NOT_SEPARATED
