"""How often an HLO loop runs: as XLA says it, or by following the loop's own counter.

XLA for the TPU leaves no trip count in its optimised text, so the integer scalars of the loop's
state are followed from their first values through condition and body until the condition fails.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackwars.compilers.hlo import Computation, Instruction, Module

LIMIT = 100_000
_KNOWN = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_COMPARE = {
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
}
_BINARY = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "maximum": max,
    "minimum": min,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
}
_SAME = ("copy", "bitcast", "copy-start", "copy-done", "convert", "reshape")


def trip_count(module: Module, computation: Computation, loop: Instruction) -> int | None:
    """Runs of the loop's body; None where a data-dependent value decides, or after LIMIT runs."""
    known = _KNOWN.search(loop.attributes)
    if known:
        return int(known.group(1))
    condition = module.computations[loop.attribute("condition").lstrip("%")]
    body = module.computations[loop.attribute("body").lstrip("%")]
    state = _value(module, computation, loop.operands[0], [])
    for count in range(LIMIT):
        go_on = _value(module, condition, condition.root.name, [state])
        if go_on is None:
            return None
        if not go_on:
            return count
        state = _value(module, body, body.root.name, [state])
    return None


def _value(module: Module, computation: Computation, name: str, arguments: list):
    """An integer scalar, a list of such for a tuple, None for what is not known from the text."""
    i = computation.instructions[name]

    def operand(number: int):
        return _value(module, computation, i.operands[number], arguments)

    if i.opcode == "parameter":
        number = int(i.literal)
        return arguments[number] if number < len(arguments) else None
    if i.opcode == "tuple":
        return [operand(n) for n in range(len(i.operands))]
    if i.opcode == "get-tuple-element":
        of = operand(0)
        return of[int(i.attribute("index"))] if isinstance(of, list) else None
    if len(i.arrays) > 1 and i.opcode not in ("copy-start", "fusion"):
        return None
    if i.arrays[0].extents or i.arrays[0].dtype[0] not in "sup":
        return None
    if i.opcode == "constant":
        return {"true": 1, "false": 0}.get(i.literal) if i.literal[0] in "tf" else int(i.literal)
    if i.opcode in _SAME:
        return operand(0)
    if i.opcode == "fusion":
        called = module.computations[i.called[0]]
        values = [operand(n) for n in range(len(i.operands))]
        return _value(module, called, called.root.name, values)
    if i.opcode in _BINARY or i.opcode == "compare":
        left, right = operand(0), operand(1)
        if left is None or right is None:
            return None
        act = _COMPARE[i.attribute("direction")] if i.opcode == "compare" else _BINARY[i.opcode]
        return act(left, right)
    return None
