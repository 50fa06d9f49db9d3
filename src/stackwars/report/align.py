"""Two programs side by side: which operation of the one stands for which of the other."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Any

from stackwars.report.line_class import line_classes
from stackwars.report.source_lines import source_lines

_OPERATION = re.compile(r"= \"?([\w.]+)\"?")
_TYPE = re.compile(r"tensor<[^>]*>(?=[^>]*$)")


def operations(text: str) -> list[str | None]:
    """Of each line what it computes: the operation's name and the type of its result; None of other lines.

    >>> operations("%1 = stablehlo.add %0, %0 : tensor<2xf32>")
    ['stablehlo.add tensor<2xf32>']
    """
    found: list[str | None] = []
    for line in text.splitlines():
        name, result = _OPERATION.search(line), _TYPE.search(line)
        found.append(f"{name[1]} {result[0] if result else ''}" if name else None)
    return found


def aligned(left: str, right: str) -> list[tuple[int | None, int | None]]:
    """Pairs of line numbers from 0, in the order of both; None opposite a line that the other has not.

    Lines match where they compute the same to the same type, as a longest common series of them
    (difflib.SequenceMatcher). A line that is no operation matches none.
    """
    ours, theirs = operations(left), operations(right)
    keys = [
        [key if key is not None else f"{side}{number}" for number, key in enumerate(lines)]
        for side, lines in (("left", ours), ("right", theirs))
    ]
    pairs: list[tuple[int | None, int | None]] = []
    matcher = SequenceMatcher(None, *keys, autojunk=False)
    for kind, a, a_end, b, b_end in matcher.get_opcodes():
        if kind == "equal":
            pairs += zip(range(a, a_end), range(b, b_end), strict=True)
            continue
        pairs += [(line, None) for line in range(a, a_end)]
        pairs += [(None, line) for line in range(b, b_end)]
    return pairs


def share(left: str, right: str, pairs: list[tuple[int | None, int | None]]) -> float | None:
    """The share of both programs' operations that have one opposite; None where neither has any."""
    every = sum(key is not None for text in (left, right) for key in operations(text))
    matched = 2 * sum(None not in pair for pair in pairs)
    return matched / every if every else None


def side_by_side(left: str, right: str) -> dict[str, Any]:
    """Lines of both, which line stands for which, and the share of operations that have one opposite; of each
    line the class of its operation, and where its source is, None of a text that names none.
    """
    pairs = aligned(left, right)
    return {
        "classes": [line_classes(left), line_classes(right)],
        "sources": [source_lines(left), source_lines(right)],
        "texts": [left.splitlines(), right.splitlines()],
        "pairs": pairs,
        "share": share(left, right, pairs),
    }
