"""Verdicts of the sections on replay, on memory and on programs: pure functions of numbers.

Beside :mod:`stackwars.results.verdicts`, whose words they use where these fit.
"""

from __future__ import annotations

import math

from stackwars.measure.comparison import direction
from stackwars.measure.log_ratio import LogRatio
from stackwars.results.values import is_missing
from stackwars.results.verdicts import (
    FASTER,
    NO_DATA,
    NO_DIFFERENCE,
    NOT_DECIDED,
    SLOWER,
    UNRESOLVED,
)

# The IR effect in two generations of XLA.
SIGN_CHANGES = "the sign changes"
SAME_DIRECTION = "the same direction in both"
ONE_GENERATION = "in one generation only"
NO_EFFECT = "none in both"

# Which term does more of the native ratio.
DUE_TO_IR = "the program"
DUE_TO_RUNTIME = "the runtime"
PART_FRONTEND, PART_COMPILER, PART_BOTH = "frontend", "compiler", "both"  # parts of a time
# What of the matrix is decomposed.
SUBSET_ALL, SUBSET_XLA = "all", "XLA alone"
SUBSET_ONE_EACH, SUBSET_BOTH = "one frontend a dialect", "both restrictions"
NOT_SEPARATED = "not separated"  # also: two brackets of a largest batch that overlap

# What an edit of a program does to the IR effect.
CLOSES_MOST = "closes most of it"
CLOSES_PART = "closes a part of it"
CLOSES_SOME = "closes an unknown share of it"
WIDENS = "widens it"
MOST = 0.5
"""The share of the difference, on logarithms, from which on an edit is said to close most of it."""

OFF = "off"  # a control that fails
FITS = "fits"
TOO_LARGE = "oom"

# A published out-of-memory outcome against the compiler's bytes.
EXPLAINED = "fits at no size compiled"
EXPLAINED_IF_LARGER = "fits at some sizes compiled"
NOT_EXPLAINED = "fits at every size compiled"

# The peak of a load-and-run against the memory of the device.
BELOW = "below the device's memory"
ABOVE = "above the device's memory"

LARGEST = "largest"
NOT_LARGEST = "not the largest"
MORE = "more"
LESS = "less"
SAME = "same"
DIFFERENT = "different"

# Whose form a third frontend's program has.
LIKE_SUBJECT = "as the subject's"
LIKE_BASELINE = "as the baseline's"
LIKE_NEITHER = "as neither's"

SAME_SIZE = 0.01  # byte counts within this share of each other are called the same


def generations(older: str, newer: str) -> str:
    """What two generations of XLA say of one workload's IR effect (words of split.csv).

    Unresolved unless both of them decide.
    """
    words = {older, newer}
    if NO_DATA in words or NOT_DECIDED in words:
        return NO_DATA
    if UNRESOLVED in words:
        return UNRESOLVED
    if words == {NO_DIFFERENCE}:
        return NO_EFFECT
    if NO_DIFFERENCE in words:
        return ONE_GENERATION
    return SAME_DIRECTION if len(words) == 1 else SIGN_CHANGES


def share_closed(edited: LogRatio, other: LogRatio) -> float | None:
    """The share of the difference to the other framework's program that an edit takes away, on logarithms.

    Both are ratios to the program before the edit; None where there is no difference.
    """
    return edited.log / other.log if other.log else None


def edit_effect(edited: LogRatio, other: LogRatio) -> str:
    """What an edit does to the difference to the other program, as far as intervals decide.

    Both are ratios to the program before the edit, taken as independent, which makes the interval of their
    difference too wide rather than too narrow: they have that program in common.
    """
    word, effect = direction(edited.estimate()), direction(other.estimate())
    if NOT_DECIDED in (word, effect):
        return NO_DATA
    if word not in (SLOWER, FASTER):
        return word
    if effect not in (SLOWER, FASTER):
        return UNRESOLVED  # no difference is known of which it could close a share
    towards = math.copysign(1.0, other.log)
    if edited.log * towards < 0:
        return WIDENS
    beyond_most = edited.plus(other, own=towards, others=-MOST * towards).estimate()
    if beyond_most.low > 1:
        return CLOSES_MOST
    return CLOSES_PART if beyond_most.high < 1 else CLOSES_SOME


def explains(verdicts: list[str]) -> str:
    """Whether the compiler's bytes explain an out-of-memory outcome, from fits/oom at each size."""
    known = [v for v in verdicts if v in (FITS, TOO_LARGE)]
    if not known:
        return NO_DATA
    if FITS not in known:
        return EXPLAINED
    return EXPLAINED_IF_LARGER if TOO_LARGE in known else NOT_EXPLAINED


def amount(one: float, base: float, within: float = SAME_SIZE) -> str:
    """``more``, ``less`` or ``same`` (within this share) of two amounts."""
    if is_missing(one) or is_missing(base) or not base:
        return NO_DATA
    if abs(one / base - 1) <= within:
        return SAME
    return MORE if one > base else LESS


def largest_batch(one: tuple[float, float], base: tuple[float, float]) -> str:
    """Two brackets (largest batch that fits, smallest that does not) against each other."""
    if is_missing(one[0]) or is_missing(base[0]):
        return NO_DATA
    if one == base and one[1] == one[0] + 1:
        return SAME
    if not is_missing(base[1]) and one[0] >= base[1]:
        return MORE
    if not is_missing(one[1]) and base[0] >= one[1]:
        return LESS
    return NOT_SEPARATED
