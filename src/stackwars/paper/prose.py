"""The filters of the paper's templates: numbers with units, and lists of findings as words."""

from __future__ import annotations

from collections.abc import Callable

from stackwars.frameworks import title
from stackwars.paper import latex
from stackwars.results.read_compilers import compiler_title


def percent(share: float) -> latex.Latex:
    """A share of 1 as a whole percentage."""
    return latex.Latex(rf"\qty{{{100 * share:.0f}}}{{\percent}}")


def judged(claim: dict) -> latex.Latex:
    """``Supported: JAX ....``: the verdict and the claim."""
    verdict = latex.escape(claim["verdict"].capitalize())
    return latex.Latex(rf"\emph{{{verdict}:}} {latex.escape(claim['sentence'])}")


def _title(finding: dict) -> latex.Latex:
    return latex.escape(finding["title"])


def _framework(finding: dict) -> latex.Latex:
    return latex.escape(title(finding["framework"]))


MOST_NAMED = 4
"""A sentence names at most so many things, and counts more than that."""


def listed(found: list[dict], noun: str, each: str = "titles") -> latex.Latex:
    """``MHA, FFN and GEMM``, or from five on ``7 workloads``. each: titles, or with_framework."""
    names = [_title(f) if each == "titles" else who(f) for f in found]
    names = list(dict.fromkeys(names))
    return latex.series(names) if len(names) <= MOST_NAMED else latex.count(len(names), noun)


def who(finding: dict) -> latex.Latex:
    """``FFN under JAX``."""
    return latex.Latex(f"{_title(finding)} under {_framework(finding)}")


def capital(text: str) -> latex.Latex:
    """LaTeX text at the beginning of a sentence."""
    return latex.Latex(text[:1].upper() + text[1:])


def _edited(finding: dict) -> latex.Latex:
    """``pretransposed weights in torch_xla's program``."""
    edits = latex.series(edit.replace("_", " ") for edit in finding["edits"])
    base = finding["framework"].partition("+")[0]
    return latex.Latex(f"{edits} in {latex.escape(title(base))}'s program")


def by_edit(found: list[dict]) -> list[tuple[latex.Latex, list[dict]]]:
    """Findings about edited programs, those of the same edit together: (the edit in words, its findings)."""
    grouped: dict[latex.Latex, list[dict]] = {}
    for finding in found:
        grouped.setdefault(_edited(finding), []).append(finding)
    return list(grouped.items())


FILTERS: dict[str, Callable[..., object]] = {
    "num": latex.number,
    "plain": latex.plain,
    "duration": latex.duration,
    "gib": latex.gibibytes,
    "sci": latex.scientific,
    "series": latex.series,
    "percent": percent,
    "framework": title,
    "compiler": compiler_title,
    "latex": lambda text: latex.Latex(text.strip()),
    "capital": capital,
    "judged": judged,
    "titles": lambda found: latex.series(f["title"] for f in found),
    "listed": listed,
    "by_edit": by_edit,
    "with_framework": lambda found: latex.series(map(who, found)),
}
