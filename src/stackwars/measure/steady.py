"""Decide whether, and from which call on, a process runs at a steady speed.

Changepoints, as in Barrett et al., Virtual Machine Warmup Blows Hot and Cold, OOPSLA 2017, with a rule
that also serves series of a few calls. How often it is right: `tests/measure/steady_rates.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

AT_ONCE, WARM_UP, SLOWING, NONE = "steady at once", "warm-up", "slowing down", "no steady state"
BAND = math.log(1.05)  # levels this close are one level
MADS = 4  # medians of absolute deviations (not scaled: 2.7 standard deviations of a normal)
FAR = math.log(1.5)  # slow whatever the spread, which three calls cannot show
SHORTEST = 4  # points of a segment
BURST = 1 / 8  # share of the points that may be off: the machine's doing, not the program's


class Steady(NamedTuple):
    """The kind of a series, and where its steady part begins."""

    kind: str  # AT_ONCE, WARM_UP, SLOWING or NONE
    warmup: int  # leading slow points; in a warm-up, all before the steady part
    start: int  # index of the first point of the steady part


def classify(values_ms: Sequence[float]) -> Steady:
    """Classify call 1, call 2 and the blocks that follow, in ms a call, in the order of time.

    - Leading points that are slower than the last half allows are taken off.
    - Changepoints of the logarithms cut the rest into segments. The last that is longer than a burst
      sets the level; the steady part begins with the first from which on all but a burst is within
      5 % of that level.
    - "slowing down": all segments before it are over 5 % faster, or it rises by over 5 %. "steady at
      once": at most one point lies before it. "warm-up": more do, slower, and it covers half of the
      series. "no steady state": anything else, as when it falls by over 5 %.

    Raises ValueError for fewer than three values, or one that is not over zero.
    """
    if len(values_ms) < 3 or min(values_ms) <= 0:
        raise ValueError(
            f"expected call 1, call 2 and at least one block, all times over zero; got {list(values_ms)}"
        )
    logs = np.log(np.asarray(values_ms, dtype=float))
    slow = _slow(logs)
    rest = logs[slow:]
    ends = [0, *_changepoints(rest)]
    sizes = [end - begin for begin, end in pairwise(ends)]
    levels = [float(np.median(part)) for part in np.split(rest, ends[1:-1])]
    first, level = _steady_from(sizes, levels)
    start = slow + int(ends[first])
    trend, before = _trend(logs[start:]), levels[:first]
    change = level - float(np.median(rest[: ends[first]])) if before else trend
    if trend > BAND or (before and max(before) < level - BAND):
        return Steady(SLOWING, slow, start)
    if 2 * start > len(logs) or trend < -BAND or (before and change > 0):
        return Steady(NONE, slow, start)
    return Steady(AT_ONCE if start <= 1 else WARM_UP, start, start)


def _slow(logs: np.ndarray) -> int:
    """Return the number of leading points that are slower than the last half (or the last five) allows.

    Slower means over its median by 4 MAD, or by more if few points give the MAD; and over its
    tenth-slowest by 5 %, so that the slower of two modes is no warm-up.
    """
    from scipy import stats  # here and below: reading the rules does not need it, and importing takes a second

    points = max(len(logs) // 2, min(5, len(logs) - 2))
    tail = logs[-points:]
    middle, spread = float(np.median(tail)), float(stats.median_abs_deviation(tail))
    # The 99 % prediction limit of a normal's next point, its deviation being 1.4826 MAD.
    few = 1.4826 * stats.t.ppf(0.99, points - 1) * math.sqrt(1 + 1 / points)
    wide = min(FAR, few * spread) if points > 1 else FAR
    usual = float(np.quantile(tail, 0.9, method="lower"))
    limit = max(middle + MADS * spread, middle + wide, usual + BAND)
    within = np.flatnonzero(logs <= limit)
    return int(within[0])


def _changepoints(logs: np.ndarray) -> list[int]:
    """Return the ends of the segments of constant level, the last one being the number of points."""
    import ruptures
    from scipy import ndimage

    if len(logs) < 2 * SHORTEST:
        return [len(logs)]
    # A spike must make no segment and no variance: clip what is far from its neighbours. (Levels are
    # taken from the points as they are: clipped ones could hide a step.)
    near = ndimage.median_filter(logs, size=7, mode="reflect")
    reach = 1.5 * float(np.quantile(np.abs(logs - near), 0.9))
    clipped = np.clip(logs, near - reach, near + reach)
    variance = float(np.mean(np.diff(clipped) ** 2)) / 2
    if variance == 0:
        return [len(logs)]
    search = ruptures.KernelCPD("linear", min_size=SHORTEST).fit(clipped[:, None])
    penalty = 6 * math.log(len(logs)) * variance
    ends = search.predict(pen=penalty)
    left = np.concatenate([part - part.mean() for part in np.split(clipped, ends[:-1])])
    # Noise that drifts looks like steps, and steps look like drift: test whether the residuals correlate.
    if np.ptp(left) and np.corrcoef(left[:-1], left[1:])[0, 1] > 0.3:
        ends = search.predict(pen=2 * penalty)
    return ends


def _steady_from(sizes: list[int], levels: list[float]) -> tuple[int, float]:
    """Return the index of the segment with which the steady part begins, and its level."""
    lasting = [i for i, size in enumerate(sizes) if size >= BURST * sum(sizes)]
    last = lasting[-1] if lasting else len(sizes) - 1
    off = [0 if abs(level - levels[last]) <= BAND else size for size, level in zip(sizes, levels, strict=True)]
    held = (i for i in range(last) if not off[i] and sum(off[i:]) <= BURST * sum(sizes[i:]))
    return next(held, last), levels[last]


def _trend(logs: np.ndarray) -> float:
    """Return the change along the Theil-Sen line from first to last; 0 if Kendall's test sees no trend."""
    from scipy import stats

    order = np.arange(len(logs))
    if len(logs) < 2 or not stats.kendalltau(order, logs).pvalue < 0.01:
        return 0.0
    return float(stats.theilslopes(logs, order).slope) * (len(logs) - 1)
