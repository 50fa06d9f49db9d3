"""Print chosen operations of a function in their own words, with a comment for what is not shown.

An excerpt keeps the SSA names of the whole program, so that a reader finds them again there, and
says how many operations were left out, and where.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from jaxlib.mlir import ir

from stackwars.ir.dataflow import producer
from stackwars.ir.module import block, name, operations

ELEMENTS_PRINTED = 8  # constants of more elements are printed as dense<...>
_PREFIX = re.compile(r"^((?:%[\w:, %#]+ = )?)func\.(?=call |return)")


@dataclass(frozen=True)
class Function:
    """One function of an excerpt: the line that opens it, its body's lines, and its name."""

    name: str
    head: str
    body: list[str]


@dataclass(frozen=True)
class Excerpt:
    """Functions cut from a program; `head` opens the module, or is empty where it is left out."""

    head: list[str]
    functions: list[Function]

    def lines(self) -> list[tuple[int, str]]:
        """The text as (depth of nesting, line)."""
        inner = 1 if self.head else 0
        result = [(min(i, inner), line) for i, line in enumerate(self.head)]
        for function in self.functions:
            result.append((inner, function.head))
            result.extend((inner + 1, line) for line in function.body)
            result.append((inner, "}"))
        return result + ([(0, "}")] if self.head else [])


def fragment(function: ir.Operation, kept: set[ir.Operation]) -> Function:
    """The kept operations of a function, its return where all that it returns is kept."""
    read = [operand for op in kept for operand in op.operands]
    body, skipped = [], 0
    for op in operations(function):
        if op in kept or (op.name == "func.return" and _made_by(op) <= kept):
            body.extend([left_out(skipped)] if skipped else [])
            body.extend(text(op).splitlines())
            skipped = 0
        else:
            skipped += op.name != "func.return"
    body.extend([left_out(skipped)] if skipped else [])
    return Function(name(function), _head(function, read), body)


def _made_by(op: ir.Operation) -> set[ir.Operation]:
    return {made_by for value in op.operands if (made_by := producer(value)) is not None}


def _head(function: ir.Operation, read: list[ir.Value]) -> str:
    """The signature; arguments that nothing shown reads become one `...`."""
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    values = list(block(function).arguments)
    arguments = _with_attributes(function, "arg_attrs", [f"{a.get_name()}: {a.type}" for a in values])
    shown = [part for part, a in zip(arguments, values, strict=True) if any(a == v for v in read)]
    if len(shown) < len(arguments):
        shown.append("...")
    results = _with_attributes(function, "res_attrs", [str(result) for result in signature.results])
    returned = ", ".join(results)
    if len(results) != 1 or "{" in returned:
        returned = f"({returned})"
    attributes = function.attributes
    visibility = ""
    if "sym_visibility" in attributes:
        visibility = ir.StringAttr(attributes["sym_visibility"]).value + " "
    return f"func.func {visibility}@{name(function)}({', '.join(shown)}) -> {returned} {{"


def _with_attributes(function: ir.Operation, key: str, texts: list[str]) -> list[str]:
    if key not in function.attributes:
        return texts
    attributes = [str(a) for a in ir.ArrayAttr(function.attributes[key])]
    pairs = zip(texts, attributes, strict=True)
    return [part if extra == "{}" else f"{part} {extra}" for part, extra in pairs]


def left_out(count: int) -> str:
    """The comment that stands for operations which are not shown."""
    return f"// ... {count} operation{'' if count == 1 else 's'} left out"


def text(op: ir.Operation) -> str:
    """An operation as the frameworks write it, large constants elided."""
    printed = op.get_asm(large_elements_limit=ELEMENTS_PRINTED)
    # Within a function `call` and `return` need no prefix, and the frameworks write none.
    return _PREFIX.sub(r"\1", printed).replace("dense_resource<__elided__>", "dense<...>")
