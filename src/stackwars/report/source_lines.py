"""Where the source of each line of an MLIR text is, as far as the text has locations."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_DEFINED = re.compile(r"^(#loc\d*) = loc\((.*)\)\s*$")
_USED = re.compile(r"\bloc\((.*)\)\s*$")
_ALIAS = re.compile(r"#loc\d*")
_FILE = re.compile(r'"([^"]+)":(\d+):\d+')


def source_lines(text: str) -> list[str | None] | None:
    """Of each line the file, by its last folder and name, and its line; None of a text without locations.

    >>> source_lines('%0 = stablehlo.tanh %a : tensor<2xf32> loc("/home/x/mha/in_jax.py":31:8)')
    ['mha/in_jax.py:31']
    """
    lines = text.splitlines()
    aliases = {found[1]: found[2] for line in lines if (found := _DEFINED.match(line))}
    sources = [
        _resolved(used[1], aliases, frozenset())
        if not _DEFINED.match(line) and (used := _USED.search(line))
        else None
        for line in lines
    ]
    return sources if any(sources) else None


def short(path: str) -> str:
    """A file by its last folder and name."""
    return "/".join(PurePosixPath(path).parts[-2:])


def _resolved(location: str, aliases: dict[str, str], seen: frozenset[str]) -> str | None:
    """The first file of a location: its own, or that of what it refers to."""
    if found := _FILE.search(location):
        return f"{short(found[1])}:{found[2]}"
    for alias in _ALIAS.findall(location):
        if alias in aliases and alias not in seen:
            source = _resolved(aliases[alias], aliases, seen | {alias})
            if source:
                return source
    return None
