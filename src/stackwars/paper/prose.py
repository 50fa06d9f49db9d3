"""The prose of the paper: the files in paper/, and which numbers, claims and studies they name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from stackwars.setup.environments import REPOSITORY

PAPER = REPOSITORY / "paper"
MACROS = "macros.tex"
"""Where the commands are defined, with arguments that are no names."""
VAL, CLAIM, ORIGIN = "val", "claimbox", "origin"
_USE = re.compile(rf"\\({VAL}|{CLAIM}|{ORIGIN})\{{([^{{}}]*)\}}")
_COMMENT = re.compile(r"(?<!\\)%.*")


class ProseError(ValueError):
    """The prose names something that does not exist, or interprets a verdict that the reference does not have."""


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
        for found in _USE.finditer(text):
            yield Use(found[1], " ".join(found[2].split()), place(name, text, found.start()))


def place(name: str, text: str, offset: int) -> str:
    """Return `paper/sections/method.tex, line 12`."""
    return f"paper/{name}, line {text.count(chr(10), 0, offset) + 1}"


def check(found: list[Use], known: dict[str, Collection[str]]) -> None:
    """Raise ProseError for every use of an unknown name. known: the names of each command."""
    unknown = [use for use in found if use.name not in known[use.command]]
    if unknown:
        raise ProseError("\n".join(_problem(use, known[use.command]) for use in unknown))


def _problem(use: Use, known: Collection[str]) -> str:
    return f"{use.place}: expected a known name in \\{use.command}, got {use.name!r}; fix: {close(use.name, known)}"


def close(name: str, known: Collection[str]) -> str:
    """Return what the name could have meant."""
    return "one of " + ", ".join(difflib.get_close_matches(name, known, 4, 0.4) or sorted(known)[:4])
