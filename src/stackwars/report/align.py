"""Two programs side by side: which operation of the one stands for which of the other."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Any

from stackwars.report.line_class import line_classes
from stackwars.report.source_lines import source_lines

_OPERATION = re.compile(r"^\s*%[^=]*= \"?([\w.]+)\"?")
_TYPE = re.compile(r"tensor<[^>]*>(?=[^>]*$)")
Keys = list[str | None]
"""Of each line of a program what it computes; None of one that is no operation."""
FRAME = "#"
"""What the key of a line begins with that stands opposite its like and yet is no operation."""
Pair = tuple[int | None, int | None]


def operations(text: str) -> Keys:
    """Of each line what it computes: the operation's name and the type of its result; None of other lines.

    >>> operations("%1 = stablehlo.add %0, %0 : tensor<2xf32>")
    ['stablehlo.add tensor<2xf32>']
    """
    found: Keys = []
    for line in text.splitlines():
        name, result = _OPERATION.match(line), _TYPE.search(line)
        found.append(f"{name[1]} {result[0] if result else ''}" if name else None)
    return found


def aligned(ours: Keys, theirs: Keys) -> list[Pair]:
    """Pairs of line numbers from 0, in the order of both; None opposite a line that the other has not.

    Lines match where they compute the same to the same type, as a longest common series of them
    (difflib.SequenceMatcher). A line that is no operation matches none.
    """
    keys = [
        [key if key is not None else f"{side}{number}" for number, key in enumerate(lines)]
        for side, lines in (("left", ours), ("right", theirs))
    ]
    pairs: list[Pair] = []
    matcher = SequenceMatcher(None, *keys, autojunk=False)
    for kind, a, a_end, b, b_end in matcher.get_opcodes():
        if kind == "equal":
            pairs += zip(range(a, a_end), range(b, b_end), strict=True)
            continue
        pairs += [(line, None) for line in range(a, a_end)]
        pairs += [(None, line) for line in range(b, b_end)]
    return pairs


def matched(ours: Keys, theirs: Keys) -> dict[str, Any]:
    """What stands opposite what, of two programs' lines.

    pairs: of `aligned`. share: of both programs' operations those that have one opposite; None where neither
    has an operation. operations: of each program 1 for a line that is an operation, else 0.
    """
    pairs = aligned(ours, theirs)
    flags = [
        [key is not None and not key.startswith(FRAME) for key in keys] for keys in (ours, theirs)
    ]
    every = sum(map(sum, flags))
    both = 2 * sum(flags[0][a] for a, b in pairs if a is not None and b is not None)
    return {
        "pairs": pairs,
        "share": both / every if every else None,
        "operations": ["".join("01"[flag] for flag in one) for one in flags],
    }


def side_by_side(left: str, right: str) -> dict[str, Any]:
    """Lines of both, which line stands for which, and the share of operations that have one opposite; of each
    line the class of its operation, and where its source is, None of a text that names none.
    """
    return {
        "classes": [line_classes(left), line_classes(right)],
        "sources": [source_lines(left), source_lines(right)],
        "texts": [left.splitlines(), right.splitlines()],
        **matched(operations(left), operations(right)),
    }
