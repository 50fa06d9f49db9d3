"""The largest batch that fits, from as few tries as can be: a bracket, and a line that guesses into it.

Memory grows with the batch along an almost straight line, so each guess is where a line through known
points meets what is usable. A guess never leaves the bracket of a batch that fits and one that does
not, and where no line helps, the bracket is halved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from stackwars.compilers.ahead_row import FITS, OOM

CLOSE = 0.02
"""A bracket no wider than this share of the batch that fits ends the search."""
LARGEST = 2**20
GROWTH = 4096
"""With nothing known not to fit, a guess is at most this many times the batch that does."""


@dataclass(frozen=True)
class Probe:
    """What one compilation said of a batch. verdict: fits, oom, or empty where it told neither;
    demand: bytes of memory that it needs, None where it did not tell."""

    batch: int
    verdict: str
    demand: int | None


@dataclass
class BatchSearch:
    """What is known so far. usable: bytes of memory; weights: bytes needed whatever the batch, None if
    unknown; probes: oldest first."""

    usable: int | None
    weights: int | None
    probes: list[Probe] = field(default_factory=list)

    @property
    def oom(self) -> int | None:
        """The smallest batch known not to fit, None where none is."""
        return min((p.batch for p in self.probes if p.verdict == OOM), default=None)

    @property
    def fits(self) -> int:
        """The largest batch known to fit below the smallest that does not; 0 where none is."""
        below = self.oom or math.inf
        return max((p.batch for p in self.probes if p.verdict == FITS and p.batch < below), default=0)

    def guess(self) -> int | None:
        """The next batch to try; None where the bracket is closed, or close, or cannot be narrowed."""
        low, high = self.fits, self._ceiling()
        if high - low <= 1 or (self.oom == high and high - low <= CLOSE * low):
            return None
        if self.probes and not self.probes[-1].verdict:
            return (low + high) // 2  # the last try told nothing: nearer to what is known
        line = self._line()
        if self.oom is None:
            at = 2 * low if line is None else line
            return min(max(at, low + 1), GROWTH * low or 1, high - 1)
        if line is None or line >= high:
            return (low + high) // 2
        return max(line, low + 1)

    def _ceiling(self) -> int:
        """No guess reaches this: a batch that does not fit, or whose compilation told nothing."""
        told_nothing = [p.batch for p in self.probes if not p.verdict and p.batch > self.fits]
        return min([LARGEST + 1, *told_nothing, *([self.oom] if self.oom else [])])

    def _line(self) -> int | None:
        """The batch at which a line through two known points meets `usable`.

        One point on each side of it, where there are; but the two next to it where three tries in a
        row fell on one side, for then the line across is far from the curve.
        """
        if self.usable is None:
            return None
        points = {p.batch: p.demand for p in self.probes if p.demand is not None}
        if self.weights is not None:
            points.setdefault(0, self.weights)
        nearest = sorted(points.items(), key=lambda point: abs(point[1] - self.usable))
        below = [point for point in nearest if point[1] <= self.usable]
        above = [point for point in nearest if point[1] > self.usable]
        last = [p.verdict for p in self.probes[-3:]]
        across = below and above and not (len(last) == 3 and len(set(last)) == 1)
        chosen = [below[0], above[0]] if across else nearest[:2]
        if len(chosen) < 2:
            return None
        (x0, y0), (x1, y1) = chosen
        if (y1 - y0) * (x1 - x0) <= 0:
            return None
        return math.floor(x0 + (self.usable - y0) * (x1 - x0) / (y1 - y0))


def search(known: BatchSearch, limit: int, probe: Callable[[int], Probe]) -> BatchSearch:
    """Try batches until the edge is exact, the bracket is close, or `limit` tries were made."""
    for _ in range(limit):
        batch = known.guess()
        if batch is None:
            break
        known.probes.append(probe(batch))
    return known
