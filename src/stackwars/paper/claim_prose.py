"""Filters of the paper's templates for claims."""

from __future__ import annotations

from stackwars.claims.evidence import tally
from stackwars.claims.verdicts import CONTRADICTED, NOT_TESTABLE, SUPPORTED
from stackwars.paper import latex
from stackwars.results.verdicts import NOT_DECIDED


def became(claim: dict) -> latex.Latex:
    """The verdict, the count that it rests on, and the claim: ``Supported (slower in 2 of 2): JAX ....``"""
    verdict = latex.escape(claim["verdict"].capitalize())
    told = (
        "" if claim["verdict"] == NOT_TESTABLE else f" ({latex.escape(tally(claim['evidence']))})"
    )
    return latex.Latex(rf"\emph{{{verdict}{told}:}} {latex.escape(claim['sentence'])}")


def spread(counts: dict[str, int]) -> latex.Latex:
    """``7 are supported, 9 contradicted, 3 not decided and 2 not testable here``."""
    others = (CONTRADICTED, NOT_DECIDED, NOT_TESTABLE)
    rest = [f"{counts[word]} {word}" for word in others]
    return latex.series([f"{counts[SUPPORTED]} are {SUPPORTED}", *rest])
