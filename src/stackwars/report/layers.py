"""Stretches of a program that repeat: the layers of a model, which the page folds."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

LEAST = 6
"""Lines of the shortest layer that is worth folding."""
_PERIODS = 60
"""How many distances between equal lines are tried, the most frequent first."""


def repeats(keys: Sequence[Hashable]) -> list[list[int]]:
    """Return [first line, lines of one layer, number of layers] of the stretches that repeat, in their order.

    keys: what each line computes; lines with equal keys are taken for equal. No two stretches overlap: that which
    covers most lines is chosen first.

    >>> repeats(["a", *"bcdefg" * 3, "h"])
    [[1, 6, 3]]
    """
    number: dict[Hashable, int] = {}
    lines = [number.setdefault(key, len(number)) for key in keys]
    found = [stretch for period in _periods(lines) for stretch in _stretches(lines, period)]
    # Of two that cover as much, the shorter layer is the layer.
    found.sort(key=lambda one: (-one[1] * one[2], one[1]))
    chosen: list[list[int]] = []
    taken = [False] * len(lines)
    for start, period, copies in found:
        end = start + period * copies
        if not any(taken[start:end]):
            taken[start:end] = [True] * (end - start)
            chosen.append([start, period, copies])
    return sorted(chosen)


def _periods(lines: Sequence[int]) -> list[int]:
    """Return the distances between a line and the next that is equal to it, the most frequent first."""
    places = defaultdict(list)
    for place, line in enumerate(lines):
        places[line].append(place)
    gaps = Counter(b - a for every in places.values() for a, b in itertools.pairwise(every) if b - a >= LEAST)
    return [gap for gap, _ in gaps.most_common(_PERIODS)]


def _stretches(lines: Sequence[int], period: int) -> list[list[int]]:
    """Return the stretches of at least two layers of this length."""
    same = [one == other for one, other in zip(lines, lines[period:], strict=False)]
    result, place = [], 0
    for is_same, group in itertools.groupby(same):
        length = len(list(group))
        if is_same and length >= period:
            result.append([place, period, 1 + length // period])
        place += length
    return result
