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

    >>> source_lines('%0 = stablehlo.tanh %a : tensor<2xf32> loc("/home/x/workloads/mha.py":31:8)')
    ['workloads/mha.py:31']
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


def of_plain(plain: str, located: str) -> list[str | None] | None:
    """Of each line of a text its source, from the same text printed with locations; None where that has none.

    Raises ValueError where they are not line by line the same text.
    """
    sources = source_lines(located)
    if sources is None:
        return None
    kept = [
        source for line, source in zip(located.splitlines(), sources, strict=True) if not _DEFINED.match(line)
    ]
    count = len(plain.splitlines())
    if len(kept) != count:
        raise ValueError(f"expected the {count} lines of the text; {len(kept)} have a location or none")
    return kept


def dump(sources: list[str | None]) -> dict:
    """Sources as JSON: each name once, and the number of each line's, or -1, in one string."""
    names = sorted({source for source in sources if source})
    places = {name: place for place, name in enumerate(names)} | {None: -1}
    return {"names": names, "lines": " ".join(str(places[source]) for source in sources)}


def load(document: dict) -> list[str | None]:
    """What `dump` wrote."""
    names = [*document["names"], None]
    return [names[int(place)] for place in document["lines"].split()]


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
