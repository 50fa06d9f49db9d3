"""Programs side by side: which operation of the one stands for which of the other, for every two of them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any

from stackwars.ir.program_text import source_lines
from stackwars.report.line_class import line_classes

_OPERATION = re.compile(r"^\s*%[^=]*= \"?([\w.]+)\"?")
_TYPE = re.compile(r"tensor<[^>]*>(?=[^>]*$)")
Keys = list[str | None]
"""Of each line of a program what it computes; None of one that is no operation."""
FRAME = "#"
"""What the key of a line begins with that stands opposite its like and yet is no operation."""
Side = dict[str, Any]
"""Of one program, for each of its lines: `texts`, `classes` and `sources` (None of a text that names none);
`operations`, 1 for a line that is an operation, else 0; `keys`, which are for matching alone."""


def operations(text: str) -> Keys:
    """Return of each line what it computes, the operation's name and the type of its result; None of others.

    >>> operations("%1 = stablehlo.add %0, %0 : tensor<2xf32>")
    ['stablehlo.add tensor<2xf32>']
    """
    found: Keys = []
    for line in text.splitlines():
        name, result = _OPERATION.match(line), _TYPE.search(line)
        found.append(f"{name[1]} {result[0] if result else ''}" if name else None)
    return found


def side(text: str, sources: list[str | None] | None = None) -> Side:
    """Return what the page shows of a StableHLO text. sources: of each line, if the text itself has none."""
    keys = operations(text)
    return {
        "texts": text.splitlines(),
        "classes": line_classes(text),
        "sources": sources or source_lines(text),
        "operations": flags(keys),
        "keys": keys,
    }


def flags(keys: Keys) -> str:
    """Return of each line 1 if it is an operation, else 0."""
    return "".join("01"[key is not None and not key.startswith(FRAME)] for key in keys)


def form(sides: Mapping[str, Side]) -> dict[str, Any]:
    """Return {"sides": each without its keys, "pairs": {"A B": of `matched`} for every two, in their order}.

    A name has no space.
    """
    return {
        "sides": {name: {k: v for k, v in one.items() if k != "keys"} for name, one in sides.items()},
        "pairs": {
            f"{left} {right}": matched(sides[left]["keys"], sides[right]["keys"])
            for left, right in itertools.combinations(sides, 2)
        },
    }


def matched(ours: Keys, theirs: Keys) -> dict[str, Any]:
    """Return {"blocks": [line of ours, line of theirs, how many lines from there match], in the order of both;
    "share": of both programs' operations those that have one opposite, None if neither has any}.

    Lines are counted from 0. They match if they compute the same to the same type, as a longest common
    series of them (difflib.SequenceMatcher). A line that is no operation matches none but, of frames, its like.
    """
    keys = [
        [key if key is not None else f"{place}{number}" for number, key in enumerate(lines)]
        for place, lines in (("left", ours), ("right", theirs))
    ]
    found = SequenceMatcher(None, *keys, autojunk=False).get_matching_blocks()
    blocks = [list(block) for block in found if block.size]
    own, others = flags(ours), flags(theirs)
    every = (own + others).count("1")
    both = 2 * sum(own[a : a + size].count("1") for a, _, size in blocks)
    return {"blocks": blocks, "share": both / every if every else None}
