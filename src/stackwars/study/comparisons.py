"""Which framework is compared with which, and what of them: the configuration's `comparisons`."""

from __future__ import annotations

from dataclasses import dataclass

CELLS, PROGRAMS = "cells", "programs"


@dataclass(frozen=True)
class Comparison:
    """A subject beside its baseline; a ratio is always the subject's number over the baseline's."""

    subject: str
    baseline: str
    of: tuple[str, ...] = (CELLS, PROGRAMS)

    @property
    def sides(self) -> tuple[str, str]:
        """Both, the baseline first."""
        return self.baseline, self.subject


def comparisons(document: dict, of: str) -> list[Comparison]:
    """Those of a configuration, or of context.json, that compare `of`: CELLS or PROGRAMS."""
    rows = document["comparisons"]
    return [Comparison(r["subject"], r["baseline"], tuple(r["of"])) for r in rows if of in r["of"]]


def told(document: dict) -> list[Comparison]:
    """The comparison that the paper's text is about, the first of cells, and the others of programs."""
    main = comparisons(document, CELLS)[0]
    return [main, *(pair for pair in comparisons(document, PROGRAMS) if pair != main)]


def baseline(document: dict, framework: str) -> str | None:
    """The framework whose cells those of this one are compared with; None where there is none."""
    pairs = comparisons(document, CELLS)
    return next((pair.baseline for pair in pairs if pair.subject == framework), None)


def with_programs(document: dict) -> list[str]:
    """The frameworks whose programs go to compilers other than their own, the baseline first."""
    pairs = comparisons(document, PROGRAMS)
    return list(dict.fromkeys([p.baseline for p in pairs] + [p.subject for p in pairs]))
