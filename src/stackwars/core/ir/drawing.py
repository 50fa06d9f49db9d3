"""Draw programs side by side, as text for Graphviz's `dot`.

Each operation is a box, and an arrow leads from a value to its reader. Operations that several programs have
stand in one row; those of one program alone are marked.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from jaxlib.mlir import ir

from stackwars.core import mlir, program_text
from stackwars.core.ir.normalise import normalise, splat
from stackwars.core.mlir import CONTROL_FLOW, CONVOLUTION, DOT, TRANSPOSE, ProgramError

ARGUMENT, RESULT, NOTE = "argument", "result", "note"
"""Kinds of boxes; any other box has the name of its operation."""
HEAD = """\
digraph {
graph [newrank=true, ordering=in, nodesep=0.08, ranksep=0.14, margin=0]
node [shape=box, fontname="FONT", fontsize=7, margin="0.035,0.03", width=0, height=0, penwidth=0.6]
edge [arrowsize=0.4, penwidth=0.6]"""
PANEL = 'subgraph cluster_{} {{\nlabel="{}"; fontname="FONT"; fontsize=8.5; margin=3; penwidth=0;'


@dataclass(frozen=True)
class Box:
    """An argument, an operation or a result. reads: the boxes whose values it takes, in the order of its operands."""

    kind: str
    lines: list[str]
    reads: list[int]


def side_by_side(programs: Mapping[str, list[Box]]) -> str:
    """Return the text for `dot` of several programs, by their titles. FONT stands for the name of the font.

    An operation that no other program has is marked, unless there is no other program.
    """
    every = list(programs.values())
    pairs = [(number, pair) for number, other in enumerate(every[1:], 1) for pair in matched(every[0], other)]
    shared = {(0, ours) for _, (ours, _) in pairs} | {(number, theirs) for number, (_, theirs) in pairs}
    lines = [HEAD]
    for number, (title, boxes) in enumerate(programs.items()):
        lines.append(PANEL.format(number, title))
        for at, box in enumerate(boxes):
            is_marked = bool(pairs) and (number, at) not in shared
            lines.append(_box(f"p{number}_{at}", box, is_marked))
            lines += [f"p{number}_{source} -> p{number}_{at};" for source in dict.fromkeys(box.reads)]
        lines.append("}")
    # The first value that each program reads stands at the top, and so do the titles.
    first = [next((source for box in boxes for source in box.reads), 0) for boxes in every]
    lines.append("{{rank=min; {}}}".format(" ".join(f"p{number}_{at};" for number, at in enumerate(first))))
    # An invisible arrow within a row keeps the programs in their order from left to right.
    lines += [
        f"{{rank=same; p0_{ours} -> p{number}_{theirs} [style=invis, minlen=1];}}"
        for number, (ours, theirs) in pairs
    ]
    return "\n".join([*lines, "}\n"])


def matched(ours: list[Box], theirs: list[Box]) -> list[tuple[int, int]]:
    """Return the boxes of two programs that stand for each other: the longest series of the same operations."""
    places = [
        [at for at, box in enumerate(boxes) if box.kind not in (ARGUMENT, NOTE)] for boxes in (ours, theirs)
    ]
    kinds = [[boxes[at].kind for at in listed] for boxes, listed in zip((ours, theirs), places, strict=True)]
    blocks = SequenceMatcher(None, *kinds, autojunk=False).get_matching_blocks()
    return [(places[0][a + i], places[1][b + i]) for a, b, size in blocks for i in range(size)]


def read(path: Path) -> list[Box]:
    """Return the boxes of the program in a file, or one box with the reason for none.

    :raises OSError: if the file cannot be read.
    """
    text = program_text.read(path)
    try:
        return boxes(normalise(mlir.parse(text)))
    except ProgramError as error:
        missing = program_text.missing_reason(text)
        reason = str(error) if missing is None else missing
        return [Box(NOTE, textwrap.wrap(f"no program: {reason}", 24), [])]


def boxes(program: ir.Module) -> list[Box]:
    """Return the boxes of a normalised program, in program order.

    A constant that fills a tensor with one value is written into the operations that read it.

    :raises ProgramError: for a program with a loop or a branch.
    """
    function = mlir.entry(program)
    place: dict[ir.Value, int] = {}
    drawn: list[Box] = []
    for number, argument in enumerate(mlir.block(function).arguments):
        place[argument] = len(drawn)
        drawn.append(Box(ARGUMENT, [f"arg{number}", _shape(argument)], []))
    for op in mlir.operations(function):
        if op.name in CONTROL_FLOW:
            raise ProgramError(f"expected a program without loops and branches, got {op.name}")
        if op.name == "func.return":
            drawn += [
                Box(RESULT, [RESULT, _shape(value)], [place[value]]) for value in op.operands if value in place
            ]
        elif not any(splat(result) is not None for result in op.results):
            place |= dict.fromkeys(op.results, len(drawn))
            drawn.append(Box(op.name, _lines(op), [place[value] for value in op.operands if value in place]))
    return drawn


def _box(name: str, box: Box, is_marked: bool) -> str:
    label = "\\n".join(line.replace("\\", "\\\\").replace('"', r"\"") for line in box.lines)
    # Operations that move numbers and change none.
    moves = ("reshape", "transpose", "broadcast_in_dim", "slice", "dynamic_slice", "dynamic_update_slice")
    moves += ("concatenate", "pad", "reverse", "gather")
    is_move = box.kind.removeprefix("stablehlo.") in moves
    style = ["rounded"] if box.kind in (ARGUMENT, RESULT) else ["dashed"] if is_move else []
    if is_marked and box.kind not in (ARGUMENT, NOTE):
        style.append("filled")
    width = 1.6 if box.kind in (DOT, CONVOLUTION) else 0.6
    return f'{name} [label="{label}", style="{",".join(style)}", fillcolor="#f7c7a8", penwidth={width}];'


def _lines(op: ir.Operation) -> list[str]:
    """Return the operation, the attributes that a reader needs, and the shape of its result."""
    name = op.name.removeprefix("stablehlo.")
    numbers = [splat(value) for value in op.operands]
    detail = []
    if op.name == DOT:
        dimensions = mlir.dimensions(op)
        over = (dimensions.lhs_contracting_dimensions, dimensions.rhs_contracting_dimensions)
        detail = ["over {} x {}".format(*map(list, over))]
    elif op.name == TRANSPOSE:
        detail = [f"to {list(ir.DenseI64ArrayAttr(op.attributes['permutation']))}"]
    elif name == "reduce":
        body = op.regions[0].blocks[0].operations[0].operation.name.rpartition(".")[2]
        detail = [f"{body} over {list(ir.DenseI64ArrayAttr(op.attributes['dimensions']))}"]
    elif any(number is not None for number in numbers):
        name += "({})".format(", ".join("\u00b7" if number is None else f"{number:g}" for number in numbers))
    return [name, *detail, _shape(op.results[0])]


def _shape(value: ir.Value) -> str:
    """Return extents like 128x64x256, and the element type if it is not f32."""
    extents = "\u00d7".join(map(str, mlir.shape(value))) or "scalar"
    element = mlir.element(value)
    return extents if element == "f32" else f"{extents} {element}"
