"""Describe what an operation computes, without its operands: the same string for the same work.

Attributes that say nothing about the result are left out: layouts, the names that an extractor
notes, and attributes that are written out with their default value.
"""

from __future__ import annotations

import hashlib
import re

from jaxlib.mlir import ir

from stackwars.ir.module import ProgramError, element

COMMUTATIVE = {f"stablehlo.{kind}" for kind in ("add", "multiply", "maximum", "minimum", "and", "or", "xor")}
_NOTES = {"result_layout", "xla_shape"}  # with every attribute of a dialect, such as mhlo.x
_DEFAULTS = {
    **dict.fromkeys(
        ("window_strides", "base_dilations", "window_dilations", "lhs_dilation", "rhs_dilation"), "1"
    ),
    "padding": "0",
    **dict.fromkeys(("window_reversal", "indices_are_sorted", "unique_indices", "has_side_effect"), "false"),
}
_PADDED = "stablehlo.pad"  # spells its padding with other attributes, always in full
_COMPARED = {"f": "FLOAT", "b": "FLOAT", "i": "SIGNED", "u": "UNSIGNED"}
_SWAPPED = {"GT": "LT", "GE": "LE"}


def digest(*parts: object) -> str:
    """Return a hash of the parts' texts, in order."""
    return hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=16).hexdigest()


def signature(op: ir.Operation) -> tuple[str, list[ir.Value], bool]:
    """Return what the operation does, the values it reads, and whether their order is free.

    `a > b` is written as `b < a`. Values that a region reads from outside follow the operands, in
    the order in which the region's text reads them first.
    """
    attributes = _attributes(op)
    operands, free = list(op.operands), op.name in COMMUTATIVE
    if op.name == "stablehlo.compare":
        direction = re.search(r"\b(EQ|NE|LT|LE|GT|GE)\b", attributes["comparison_direction"])[1]
        if direction in _SWAPPED:
            operands.reverse()
            attributes["comparison_direction"] = _SWAPPED[direction]
        else:
            attributes["comparison_direction"] = direction
        free = direction in ("EQ", "NE")
    captured: list[ir.Value] = []
    regions = [_region(region, captured) for region in op.regions]
    types = [str(result.type) for result in op.results]
    return digest(op.name, sorted(attributes.items()), types, regions), operands + captured, free


def _attributes(op: ir.Operation) -> dict[str, str]:
    result = {}
    for attribute in op.attributes:
        # Iteration gives pairs in older bindings, names in newer ones.
        name = getattr(attribute, "name", attribute)
        value = str(op.attributes[name])
        if "." in name or name in _NOTES or _is_default(op, name, value):
            continue
        result[name] = value
    return result


def _is_default(op: ir.Operation, name: str, value: str) -> bool:
    if name == "precision_config":
        return not re.search(r"HIGH", value)
    if name == "compare_type":
        kind = element(op.operands[0])
        return re.search(r"[A-Z]{2,}", value)[0] == ("UNSIGNED" if kind == "i1" else _COMPARED[kind[0]])
    if name not in _DEFAULTS or op.name == _PADDED:
        return False
    numbers = value.split(":")[1] if value.startswith("array<") else value.split(":")[0]
    return set(re.findall(r"-?\d+|true|false", numbers)) <= {_DEFAULTS[name]}


def _region(region: ir.Region, captured: list[ir.Value]) -> str:
    """Return a hash of a region's body; values from outside are added to `captured`."""
    if len(region.blocks) == 0:
        return "empty"
    if len(region.blocks) != 1:
        raise ProgramError(f"expected regions of one block, got one of {len(region.blocks)}")
    known: dict[ir.Value, str] = {}
    for index, argument in enumerate(region.blocks[0].arguments):
        known[argument] = f"argument {index} {argument.type}"
    last = ""
    every: list[str] = []
    for view in region.blocks[0].operations:
        does, operands, free = signature(view.operation)
        names = [_named(value, known, captured) for value in operands]
        last = digest(does, sorted(names) if free else names)
        every.append(last)
        for index, result in enumerate(view.operation.results):
            known[result] = f"{last} {index}"
    return digest(last, sorted(every))


def _named(value: ir.Value, known: dict[ir.Value, str], captured: list[ir.Value]) -> str:
    if value in known:
        return known[value]
    if value not in captured:
        captured.append(value)
    return f"outside {captured.index(value)}"
