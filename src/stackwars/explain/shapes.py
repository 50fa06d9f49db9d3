"""Find the smallest sizes of a workload with which its program still has a fault: bisect each by lowering again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from stackwars.explain.question import Side

SMALL = (1, 2, 3, 4)
"""Tried first: some faults are of small extents alone."""
Sizes = dict[str, int]
Lower = Callable[[Sizes], Side | None]
"""Returns the program with these sizes, or None if there is none."""


def smallest(sizes: Sizes, is_faulty: Callable[[Sizes], bool]) -> Sizes:
    """Return sizes with the fault of which none can be made smaller alone.

    is_faulty: is true of `sizes`; raises TimeoutError once no time is left, and the smallest so far is the answer.
    """
    known: dict[tuple[int, ...], bool] = {}
    found = dict(sizes)

    def fails(changed: Sizes) -> bool:
        key = tuple(changed.values())
        if key not in known:
            known[key] = is_faulty(changed)
        return known[key]

    with contextlib.suppress(TimeoutError):
        searched: dict[str, Sizes] = {}  # {size: all sizes after it was searched}
        while any(searched.get(name) != found for name in sizes):
            for name in sizes:
                if searched.get(name) != found:
                    for extent in _smaller(found[name], lambda one, name=name: fails({**found, name: one})):
                        found[name] = extent
                    searched[name] = dict(found)
    return found


def _smaller(extent: int, fails: Callable[[int], bool]) -> Iterator[int]:
    """Yield ever smaller extents that fail."""
    for small in SMALL:
        if small < extent and fails(small):
            yield small
            return
    # A size that must divide another, or be a multiple, is halved or stays.
    while extent // 2 > max(SMALL) and fails(extent // 2):
        extent //= 2
        yield extent
    low = max(extent // 2, max(SMALL))
    while extent - low > 1:
        middle = (low + extent) // 2
        if fails(middle):
            extent = middle
            yield extent
        else:
            low = middle
