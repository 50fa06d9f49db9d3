"""The class of each operation of a StableHLO text, in the words of profile.csv."""

from __future__ import annotations

import re

from stackwars.compilers.hlo import Instruction, Module
from stackwars.compilers.hlo_facts import FORWARDS
from stackwars.compilers.op_classes import class_of

_OPERATION = re.compile(r'= "?(?:\w+\.)?(\w+)"?')
_TARGET = re.compile(r'@([\w.]+)|call_target_name = "([^"]+)"')
_OPCODES = {"dot_general": "dot", "broadcast_in_dim": "broadcast"}
"""StableHLO's names that are not HLO's with other dashes."""
_CHLO = "mhlo."
_CONTROL = {"while", "case", "if", "call", "composite"}
"""Their time is that of the operations in them."""


def line_classes(text: str) -> list[str | None]:
    """Return of each line the class of its operation; None of other lines, and of what computes nothing.

    >>> line_classes("%1 = stablehlo.tanh %0 : tensor<2xf32>\\nreturn %1")
    ['elementwise', None]
    """
    return [_of(line) for line in text.splitlines()]


def _of(line: str) -> str | None:
    found = _OPERATION.search(line)
    if found is None:
        return None
    name, target = found[1], _TARGET.search(line)
    attributes = ""
    if name == "custom_call" and target:
        called = target[1] or target[2]
        # An operation of CHLO that went through HLO and back.
        if called.startswith(_CHLO):
            name = called.removeprefix(_CHLO)
        else:
            attributes = f'custom_call_target="{called}"'
    opcode = _OPCODES.get(name, name.replace("_", "-"))
    if name in _CONTROL or opcode in FORWARDS:
        return None
    return class_of(Module({}, ""), Instruction(name, opcode, (), (), attributes, root=False))
