"""Guards of the prose: the verdicts that a paragraph interprets.

\\begin{relies}{program_is_reason=supported, steady/gemm/torch_xla=slower} names claims by id and comparisons by key.
A build of the reference fails if a verdict differs; a build of another run prints the paragraph in grey, with both
verdicts, if that run decides one otherwise.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from stackwars.claims.verdicts import CLAIM_VERDICTS, NOT_TESTABLE
from stackwars.paper.prose import PAPER, ProseError, close, place, texts
from stackwars.results import verdicts

_GUARD = re.compile(r"\\begin\{relies\}\{([^{}]*)\}(.*?)\\end\{relies\}", re.S)
_MARKUP = re.compile(r"\\label\{[^}]*\}|\\\w+\*?|[{}~$]")
WORDS = 8
"""So many words of a paragraph identify it to a reader."""
COMPARISON_VERDICTS = {
    value for name, value in vars(verdicts).items() if name.isupper() and isinstance(value, str)
}
UNDECIDED = {
    *(verdicts.INCONCLUSIVE, verdicts.NO_INTERVAL, verdicts.NO_DATA, verdicts.NOT_DECIDED),
    *(verdicts.NOT_SEPARATED, verdicts.CLOSES_SOME, NOT_TESTABLE),
}


class Guard(NamedTuple):
    """A paragraph and the verdicts that it relies on. text: as written, with single spaces, as TeX reads it."""

    text: str
    expected: dict[str, str]
    place: str
    words: str


class Stale(NamedTuple):
    """A verdict that a paragraph does not expect."""

    guard: Guard
    name: str
    got: str

    @property
    def expected(self) -> str:
        """The verdict that the paragraph expects."""
        return self.guard.expected[self.name]


def read(paper: Path = PAPER) -> list[Guard]:
    """Return the guards of the prose. Raises ProseError for one that is not `name=verdict, ...`."""
    return [
        _guard(found[1], found[2], place(name, text, found.start()))
        for name, text in texts(paper).items()
        for found in _GUARD.finditer(text)
    ]


def _guard(given: str, paragraph: str, where: str) -> Guard:
    text = " ".join(given.split())
    pairs = [part.strip().partition("=") for part in text.split(",")]
    if not all(name and verdict for name, _, verdict in pairs):
        raise ProseError(
            f"{where}: expected \\begin{{relies}}{{name=verdict, ...}}, got {{{text}}}; fix: the guard"
        )
    words = " ".join(_MARKUP.sub(" ", paragraph).split()[:WORDS])
    return Guard(text, {name: verdict for name, _, verdict in pairs}, where, words)


def check(guards: list[Guard], reference: dict[str, str]) -> None:
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
    if problems:
        raise ProseError("\n".join(problems))


def require(guards: list[Guard], reference: dict[str, str]) -> None:
    """Raise ProseError with every paragraph that expects another verdict than the reference has."""
    found = [_stale_text(one) for guard in guards for one in _different(guard, reference)]
    if found:
        raise ProseError("paragraphs that the results of the reference no longer support:\n" + "\n".join(found))


def stale(guards: list[Guard], run: dict[str, str]) -> dict[str, list[Stale]]:
    """Return, by the text of a guard, the verdicts that this run decides otherwise; undecided ones do not count."""
    found = {
        guard.text: [one for one in _different(guard, run) if one.got not in UNDECIDED] for guard in guards
    }
    return {text: some for text, some in found.items() if some}


def _different(guard: Guard, got: dict[str, str]) -> list[Stale]:
    return [
        Stale(guard, name, got.get(name, verdicts.NO_DATA))
        for name, verdict in guard.expected.items()
        if got.get(name, verdicts.NO_DATA) != verdict
    ]


def _stale_text(one: Stale) -> str:
    return (
        f"{one.guard.place} ({one.guard.words} ...): {one.name}: expected {one.expected}, got {one.got}; "
        "fix: rewrite the paragraph and its guard"
    )
