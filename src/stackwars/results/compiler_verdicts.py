"""Verdicts of the sections on replay, on memory and on programs: pure functions of numbers.

Beside :mod:`stackwars.results.verdicts`, whose words they use where these fit.
"""

from __future__ import annotations

from stackwars.results.values import is_missing
from stackwars.results.verdicts import FASTER, NO_DATA, NO_DIFFERENCE, NONE, SLOWER

# The IR effect in two generations of XLA.
SIGN_CHANGES = "the sign changes"
SAME_DIRECTION = "the same direction in both"
ONE_GENERATION = "in one generation only"
NO_EFFECT = "none in both"

# Which term of the native difference is the larger.
DUE_TO_IR = "the program"
DUE_TO_RUNTIME = "the runtime"
NEITHER_TERM = "neither term is resolved"

# What an edit of a program does to the IR effect.
CLOSES_MOST = "closes most of it"
CLOSES_PART = "closes a part of it"
WIDENS = "widens it"
MOST = 0.5  # the share of the difference from which on an edit is said to close most of it

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

MORE = "more"
LESS = "less"
SAME = "same"
DIFFERENT = "different"
NOT_SEPARATED = "not separated"  # two brackets that overlap

SAME_SIZE = 0.01  # byte counts within this share of each other are called the same


def generations(older: str, newer: str) -> str:
    """What two generations of XLA say of one workload's IR effect (words of split.csv)."""
    words = {older, newer}
    if not words <= {SLOWER, FASTER, NONE}:
        return NO_DATA
    if words == {NONE}:
        return NO_EFFECT
    if NONE in words:
        return ONE_GENERATION
    return SAME_DIRECTION if len(words) == 1 else SIGN_CHANGES


def source(ir_word: str, runtime_word: str, ir: float, runtime: float) -> str:
    """The larger of the terms whose interval leaves 0 outside."""
    resolved = {
        name: abs(value)
        for name, word, value in ((DUE_TO_IR, ir_word, ir), (DUE_TO_RUNTIME, runtime_word, runtime))
        if word in (SLOWER, FASTER)
    }
    if resolved:
        return max(resolved, key=resolved.get)
    return NEITHER_TERM if {ir_word, runtime_word} == {NONE} else NO_DATA


def share_closed(edited: float, other: float) -> float | None:
    """The share of the difference to the other framework's program that an edit takes away.

    Both are ratios to the program before the edit; None where one is missing or there is no difference.
    """
    if is_missing(edited) or is_missing(other) or other == 1:
        return None
    return (1 - edited) / (1 - other)


def edit_effect(low: float, high: float, share: float | None) -> str:
    """What an edit does, claimed only where the interval of edited/own leaves 1 outside.

    share: of the difference to the other framework's program, which the edit takes away.
    """
    if is_missing(low) or is_missing(high) or is_missing(share):
        return NO_DATA
    if low <= 1 <= high:
        return NO_DIFFERENCE
    if share < 0:
        return WIDENS
    return CLOSES_MOST if share >= MOST else CLOSES_PART


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
