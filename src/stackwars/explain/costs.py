"""Search the cause of a difference in a cost that a compilation has: bytes of memory, or seconds of the processor.

A hybrid is compiled and its cost is read; calls are not timed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from stackwars.core.numbers import percent
from stackwars.core.outcome import Failed
from stackwars.explain import answer
from stackwars.explain.answer import CAUSE, NOT_DECIDED, SPREAD, Region, Share
from stackwars.explain.bench import Bench, ClosedShare, format_share
from stackwars.explain.cause import Finder
from stackwars.explain.hybrids import A, B, CutProgram, Hybrids, RegionKind
from stackwars.explain.regions import CauseRegions
from stackwars.explain.search import ENOUGH, MOST_KINDS, MOST_SHARE, Choice, Findings, KindTime, Retimed, Search


@dataclass
class CostSearch(Search):
    """A search by the costs of programs. ends: of A and of B. error: standard error of a share."""

    ends: tuple[float, float] = (0, 0)
    error: float = 0.0

    def cost(self, program: CutProgram) -> float:
        """Return the cost of a program.

        :raises Failed: if the compiler does not take it.
        """
        raise NotImplementedError

    def difference(self, kind: RegionKind, parts: Sequence[CutProgram]) -> tuple[float, float, float]:
        """Return the cost of one region alone in A and in B, and the difference that ranks the kind."""
        a, b = (self.cost(part) if part.ops else 0 for part in parts)
        return a, b, a - b

    def rank(self) -> list[KindTime]:
        """Return the kinds whose regions differ, by the cost of one alone, the largest difference first."""
        rows = [row for kind in self.hybrids.kinds if not kind.is_same and (row := self._rank(kind))]
        return sorted(rows, key=lambda row: -row.difference)

    def _rank(self, kind: RegionKind) -> KindTime | None:
        parts = [self.hybrids.region(kind.classes[0], side) for side in (A, B)]
        try:
            row = KindTime(kind, *self.difference(kind, parts))
        except Failed as error:
            self._note("a region alone", error)
            return None
        return row if row.a or row.b else None

    def alone(self, parts: Sequence[CutProgram], seconds: float) -> None:
        """Return no times."""

    def share(self, hybrid: CutProgram, seconds: float = 0) -> ClosedShare:
        a, b = self.ends
        return ClosedShare((a - self.cost(hybrid)) / (a - b), self.error)

    def is_closed(self, found: ClosedShare) -> bool:
        # A region that costs less in A makes up for another: the gap is closed by both, not by the other alone.
        return super().is_closed(found) and found.value - found.error <= MOST_SHARE


class CostRegions(CauseRegions):
    """The regions of a cause of a difference in cost. The share of one is what it closes alone."""

    def _of_choice(self, choice: Choice, *_: object) -> Region:
        found = self._search.closed([choice])
        what = answer.LAYOUT if choice.kind.is_layout else answer.OPERATIONS
        return self._region(choice, what, None, found and found.value)


class CostFinder(Finder):
    """One search between two programs, of which the first has the larger cost."""

    searches: type[CostSearch]
    _ends: tuple[float, float]
    """Costs of the programs that hybrids are compared with."""
    _error = 0.0

    def _search_among(self, bench: Bench, hybrids: Hybrids) -> Search:
        end = self.start + 0.8 * self.settings.budget_s
        return self.searches(bench, hybrids, 0.0, end, self.say, self.kept, self._ends, self._error)

    inconsistent = (
        NOT_DECIDED,
        "not decided: a program of both sides needs less than either",
    )

    def _decide(self, search: Search, findings: Findings, retimed: Retimed | None) -> tuple[str, str]:
        if not findings.choices:
            what, most = f"all regions from {self.programs[B].label} close", findings.most
            if findings.most >= ENOUGH:
                what = "the regions that were tried close at most"
                most = max(findings.curve.values(), default=0.0)
            return NOT_DECIDED, f"not decided: {what} {percent(most)}"
        families = {search.hybrids.family(choice.kind) for choice in findings.choices}
        if len(families) > MOST_KINDS:
            return SPREAD, f"no single region: the difference is spread over {findings.kinds} kinds"
        hybrid = search.hybrids.hybrid(findings.classes)
        self._check_hybrid(search.bench, hybrid)
        closed = self._confirmed(search, findings, hybrid)
        if (closed.share if closed.low is None else closed.low) > MOST_SHARE:
            return self.inconsistent
        regions = CostRegions(search, self.programs).regions(findings, 0)
        self.cause = replace(self.cause, closed=closed, regions=regions)
        return CAUSE, f"{format_share(closed)} of the difference of {self._difference()}"

    def _confirmed(self, search: Search, findings: Findings, hybrid: CutProgram) -> Share:
        """Return the share that the cause closes.

        :raises Verdict: if that is not decided.
        """
        return Share(search.closed(findings.choices).value)

    def _difference(self) -> str:
        """Return the difference of the costs in words."""
        raise NotImplementedError
