"""Read what the prose prints, and guard what it says.

The prose is the LaTeX under paper/. It prints numbers and claims by name; \\begin{relies}{program_is_reason=supported,
steady/gemm/torch_xla=slower} names the verdicts that a paragraph interprets: of claims by id, of comparisons and
of checks (check/losses=passed) by key. A build of the reference fails if a verdict differs; a build of another run
prints the paragraph in grey, with both verdicts, if that run decides one otherwise.

``python -m stackwars.publish.paper.prose MAIN.AUX`` refuses a paper of the reference that is too long: ten pages before
the references, an appendix of at most fourteen, and the figure with the answer on the first page.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from stackwars.core.launch import REPOSITORY
from stackwars.study.claims.votes import CLAIM_VERDICTS, NOT_TESTABLE
from stackwars.study.results import verdicts

PAPER = REPOSITORY / "paper"
MACROS = "macros.tex"
"""The file that defines the commands, with arguments that are no names."""
VAL, CLAIM, ORIGIN = "val", "claimbox", "origin"
_USE = re.compile(rf"\\({VAL}|{CLAIM}|{ORIGIN})\{{([^{{}}]*)\}}")
_COMMENT = re.compile(r"(?<!\\)%.*")
_GUARD = re.compile(r"\\begin\{relies\}\{([^{}]*)\}(.*?)\\end\{relies\}", re.S)
_MARKUP = re.compile(r"\\label\{[^}]*\}|\\\w+\*?|[{}~$]")
COMPARISON_VERDICTS = {
    value for name, value in vars(verdicts).items() if name.isupper() and isinstance(value, str)
}
MOST_PAGES, MOST_IN_APPENDIX = 10, 14
END, APPENDIX, LAST, ANSWER = "sec:end", "sec:build", "sec:last", "fig:compilers"
UNDECIDED = {
    *(verdicts.INCONCLUSIVE, verdicts.NO_INTERVAL, verdicts.NO_DATA, verdicts.NOT_DECIDED),
    *(verdicts.NOT_SEPARATED, verdicts.OPPOSITE, NOT_TESTABLE),
}


class ProseError(ValueError):
    """The prose names something that does not exist, interprets a verdict that the reference does not have, or is too
    long."""


class Use(NamedTuple):
    """One use of a command in the prose: \\val{name}, and where."""

    command: str
    name: str
    place: str


def texts(paper: Path = PAPER) -> dict[str, str]:
    """Return the files of the prose by their names, LaTeX and templates, without comments."""
    paths = sorted([*paper.rglob("*.tex"), *paper.rglob("*.tex.j2")])
    named = {path.relative_to(paper).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    return {name: _COMMENT.sub("", text) for name, text in named.items() if name != MACROS}


def uses(paper: Path = PAPER) -> Iterator[Use]:
    """Return every use of a number, a claim box or an origin."""
    for name, text in texts(paper).items():
        for result in _USE.finditer(text):
            yield Use(result[1], " ".join(result[2].split()), place(name, text, result.start()))


def place(name: str, text: str, offset: int) -> str:
    """Return `paper/sections/method.tex, line 12`."""
    return f"paper/{name}, line {text.count(chr(10), 0, offset) + 1}"


def check(uses: list[Use], known: dict[str, Collection[str]]) -> None:
    """Raise ProseError for every use of an unknown name. known: the names of each command."""
    _refuse(
        f"{use.place}: expected a known name in \\{use.command}, got {use.name!r}; fix: "
        f"{close(use.name, known[use.command])}"
        for use in uses
        if use.name not in known[use.command]
    )


def _refuse(problems: Iterable[str], head: str = "") -> None:
    if text := "\n".join(problems):
        raise ProseError(head + text)


def close(name: str, known: Collection[str]) -> str:
    """Return what the name could have meant."""
    return "one of " + ", ".join(difflib.get_close_matches(name, known, 4, 0.4) or sorted(known)[:4])


class Guard(NamedTuple):
    """A paragraph and the verdicts that it relies on. text: as written, with single spaces, as TeX reads it."""

    text: str
    expected: dict[str, str]
    place: str
    words: str


class Stale(NamedTuple):
    """A verdict that a paragraph does not expect: its name, the expected and the actual verdict."""

    name: str
    expected: str
    got: str


def read_guards(paper: Path = PAPER) -> list[Guard]:
    """Return the guards of the prose. Raises ProseError for one that is not `name=verdict, ...`."""
    guards = []
    for name, text in texts(paper).items():
        for result in _GUARD.finditer(text):
            where, expected = place(name, text, result.start()), " ".join(result[1].split())
            pairs = [part.strip().partition("=") for part in expected.split(",")]
            if not all(name and verdict for name, _, verdict in pairs):
                wanted = "\\begin{relies}{name=verdict, ...}"
                raise ProseError(f"{where}: expected {wanted}, got {{{expected}}}; fix: the guard")
            words = " ".join(_MARKUP.sub(" ", result[2]).split()[:8])  # identify the paragraph in a message
            guards.append(Guard(expected, {name: verdict for name, _, verdict in pairs}, where, words))
    return guards


def check_guards(guards: list[Guard], reference: dict[str, str]) -> None:
    """Raise ProseError for names and words of verdicts that do not exist. reference: its verdicts by name."""
    problems = []
    for guard in guards:
        for name, verdict in guard.expected.items():
            words = CLAIM_VERDICTS if "/" not in name else COMPARISON_VERDICTS
            for what, value, known in (("claim or comparison", name, reference), ("verdict", verdict, words)):
                if value not in known:
                    problems.append(
                        f"{guard.place}: expected a {what}, got {value!r}; fix: {close(value, known)}"
                    )
    _refuse(problems)


def require(guards: list[Guard], reference: dict[str, str]) -> None:
    """Raise ProseError with every paragraph that expects another verdict than the reference has."""
    problems = (
        f"{guard.place} ({guard.words} ...): {one.name}: expected {one.expected}, got {one.got}; "
        "fix: rewrite the paragraph and its guard"
        for guard in guards
        for one in _different(guard, reference)
    )
    _refuse(problems, "paragraphs that the results of the reference no longer support:\n")


def stale(guards: list[Guard], run: dict[str, str]) -> dict[str, list[Stale]]:
    """Return, by the text of a guard, the verdicts that this run decides otherwise; undecided ones do not count."""
    result = {
        guard.text: [one for one in _different(guard, run) if one.got not in UNDECIDED] for guard in guards
    }
    return {text: some for text, some in result.items() if some}


def _different(guard: Guard, got: dict[str, str]) -> list[Stale]:
    pairs = (Stale(name, verdict, got.get(name, verdicts.NO_DATA)) for name, verdict in guard.expected.items())
    return [one for one in pairs if one.got != one.expected]


def page_of(aux: str, label: str) -> int:
    """Return the page of a label by the text of main.aux. Raises ProseError if it has none."""
    match = re.search(rf"\\newlabel\{{{label}\}}\{{\{{[^{{}}]*\}}\{{(\d+)\}}", aux)
    if not match:
        raise ProseError(f"expected the label {label} in main.aux, got none; fix: typeset the paper again")
    return int(match[1])


def check_length(aux: str) -> None:
    """Raise ProseError if a part is too long or the answer stands elsewhere."""
    body, answer = page_of(aux, END), page_of(aux, ANSWER)
    appendix = page_of(aux, LAST) - page_of(aux, APPENDIX) + 1
    if body > MOST_PAGES:
        raise ProseError(
            f"expected a body of at most {MOST_PAGES} pages before the references, got {body}; fix: shorten "
            "paper/sections or move a float to paper/appendix"
        )
    if appendix > MOST_IN_APPENDIX:
        raise ProseError(
            f"expected an appendix of at most {MOST_IN_APPENDIX} pages, got {appendix}; fix: shorten paper/appendix"
        )
    if answer != 1:
        raise ProseError(f"expected {ANSWER} on page 1, got page {answer}; fix: shorten what stands before it")


if __name__ == "__main__":
    try:
        check_length(Path(sys.argv[1]).read_text(errors="replace"))
    except ProseError as error:
        sys.exit(str(error))
