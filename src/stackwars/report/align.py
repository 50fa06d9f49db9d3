"""Match the operations of every two programs, and give each line its class."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any

from stackwars.compilers.hlo import Instruction, Module
from stackwars.compilers.hlo_facts import FORWARDS
from stackwars.compilers.op_classes import class_of
from stackwars.ir.program_text import source_lines

_OPERATION = re.compile(r"^\s*%[^=]*= \"?([\w.]+)\"?")
_TYPE = re.compile(r"tensor<[^>]*>(?=[^>]*$)")
_OPCODE = re.compile(r'= "?(?:\w+\.)?(\w+)"?')
_TARGET = re.compile(r'@([\w.]+)|call_target_name = "([^"]+)"')
_HLO_NAMES = {"dot_general": "dot", "broadcast_in_dim": "broadcast"}
"""StableHLO's names that are not HLO's with other dashes."""
_CHLO = "mhlo."
_CONTROL = {"while", "case", "if", "call", "composite"}
"""Their time is that of the operations in them."""
Keys = list[str | None]
"""The operation computed by each line of a program; None for a line without one."""
FRAME = "#"
"""The key of a line begins with it if the line is no operation and yet matches its like."""
Side = dict[str, Any]
"""The lines of one program: `texts`, `classes` and `sources` (None for a text that names none);
`operations`, 1 for a line that is an operation, else 0; `keys`, which are for matching alone."""


def operations(text: str) -> Keys:
    """Return the operation computed by each line, its name and the type of its result; None for other lines.

    >>> operations("%1 = stablehlo.add %0, %0 : tensor<2xf32>")
    ['stablehlo.add tensor<2xf32>']
    """
    keys: Keys = []
    for line in text.splitlines():
        name, result = _OPERATION.match(line), _TYPE.search(line)
        keys.append(f"{name[1]} {result[0] if result else ''}" if name else None)
    return keys


def side(text: str, sources: list[str | None] | None = None) -> Side:
    """Return what the page shows of a StableHLO text. sources: one for each line, if the text has none."""
    keys = operations(text)
    return {
        "texts": text.splitlines(),
        "classes": line_classes(text),
        "sources": sources or source_lines(text),
        "operations": flags(keys),
        "keys": keys,
    }


def flags(keys: Keys) -> str:
    """Return 1 for each line that is an operation, else 0."""
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
    matches = SequenceMatcher(None, *keys, autojunk=False).get_matching_blocks()
    blocks = [list(block) for block in matches if block.size]
    own, others = flags(ours), flags(theirs)
    every = (own + others).count("1")
    both = 2 * sum(own[a : a + size].count("1") for a, _, size in blocks)
    return {"blocks": blocks, "share": both / every if every else None}


def line_classes(text: str) -> list[str | None]:
    """Return the class of each line's operation; None for other lines, and for what computes nothing.

    >>> line_classes("%1 = stablehlo.tanh %0 : tensor<2xf32>\\nreturn %1")
    ['elementwise', None]
    """
    return [_class_of_line(line) for line in text.splitlines()]


def _class_of_line(line: str) -> str | None:
    match = _OPCODE.search(line)
    if match is None:
        return None
    name, target = match[1], _TARGET.search(line)
    attributes = ""
    if name == "custom_call" and target:
        called = target[1] or target[2]
        # An operation of CHLO that went through HLO and back.
        if called.startswith(_CHLO):
            name = called.removeprefix(_CHLO)
        else:
            attributes = f'custom_call_target="{called}"'
    opcode = _HLO_NAMES.get(name, name.replace("_", "-"))
    if name in _CONTROL or opcode in FORWARDS:
        return None
    return class_of(Module({}, ""), Instruction(name, opcode, (), (), attributes, root=False))
