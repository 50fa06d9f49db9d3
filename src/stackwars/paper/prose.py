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


def listed(
    found: list[dict], noun: str, each: str = "titles", of: int | None = None
) -> latex.Latex:
    """``MHA, FFN and GEMM``, or from five on ``7 workloads``. each: titles, or with_framework.

    of: how many there could be; where these are all, ``all 7 workloads``.
    """
    names = [f["title"] if each == "titles" else (f["title"], f["framework"]) for f in found]
    names = list(dict.fromkeys(names))
    if len(names) > MOST_NAMED:
        number = latex.count(len(names), noun)
        return latex.Latex(f"all {number}") if len(names) == of else number
    return latex.series(names) if each == "titles" else with_framework(found)


def with_framework(found: list[dict]) -> latex.Latex:
    """``GEMM and FFN under JAX, and MHA under JAX and torch_xla``: those of the same frameworks together."""
    frameworks: dict[str, list[latex.Latex]] = {}
    for one in found:
        frameworks.setdefault(one["title"], []).append(_framework(one))
    titles: dict[tuple[latex.Latex, ...], list[str]] = {}
    for name, own in frameworks.items():
        titles.setdefault(tuple(dict.fromkeys(own)), []).append(name)
    parts = [
        latex.Latex(f"{latex.series(names)} under {latex.series(own)}")
        for own, names in titles.items()
    ]
    *others, last = parts
    return latex.Latex(", ".join(others) + ", and " + last) if others else last


def share(part: int, total: int, noun: str, which: str = "") -> latex.Latex:
    """``3 of 7 cells``, ``none of 7 cells``, ``all 7 cells``, ``both cells``; of one ``the only`` or ``no``.

    which: LaTeX that says of which cells there are no others, where "both" and "the only" say so.
    """
    which = f" {which}" if which else ""
    if total == 1:
        return latex.Latex(f"{'the only' if part else 'no'} {latex.escape(noun)}{which}")
    number = latex.count(total, noun)
    if part == total:
        return latex.Latex(f"both {latex.escape(noun)}s{which}" if total == 2 else f"all {number}")
    return latex.Latex(f"{part or 'none'} of {number}{which if total == 2 else ''}")


def of_which(part: int, total: int, noun: str) -> latex.Latex:
    """The same at the beginning of a sentence, which no digit should be: ``Of 7 cells, 3``."""
    if 0 < part < total or (not part and total > 1):
        return latex.Latex(f"Of {latex.count(total, noun)}, {part or 'none'}")
    return capital(share(part, total, noun))


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
    "with_framework": with_framework,
}
