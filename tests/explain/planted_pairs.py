"""Pairs of programs for the finder of causes: with one planted cause, with one inside an operation, and with none.

`python tests/explain/planted_pairs.py OUTPUT [PAIR ...]`: search all of them, or those whose name has one of these
words, in jaxlib 0.7.1 and write OUTPUT, a JSON file with each answer; answers about other pairs stay in it. All take
about 20 minutes on a quiet machine of two cores.
"""

import json
import math
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.launch import REPOSITORY
from stackwars.core.program import Emitter, Graph, Op, Program
from stackwars.core.types import element, shape, tensor
from stackwars.explain import console
from stackwars.explain.answer import CAUSE, LAYOUT, NO_GAP, NOT_SEPARABLE, Cause
from stackwars.explain.cause import find
from stackwars.explain.task import Settings, Task, plain_arguments
from stackwars.setup.environments import ensure

COMPILER = "jaxlib-0.7.1"
Names = dict[int, str]
Change = Callable[[Emitter, Op, Names], None]
"""Called after an operation is written; changes the name by which later operations read its result."""

SOFTMAX = """\
func.func @main(%x: tensor<{rows}x{width}xf32>) -> tensor<{rows}x{width}xf32> {{
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %top = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1]
    : (tensor<{rows}x{width}xf32>, tensor<f32>) -> tensor<{rows}xf32>
  %wide = stablehlo.broadcast_in_dim %top, dims = [0] : (tensor<{rows}xf32>) -> tensor<{rows}x{width}xf32>
  %less = stablehlo.subtract %x, %wide : tensor<{rows}x{width}xf32>
  %power = stablehlo.exponential %less : tensor<{rows}x{width}xf32>
  %sum = stablehlo.reduce(%power init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<{rows}x{width}xf32>, tensor<f32>) -> tensor<{rows}xf32>
  %all = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<{rows}xf32>) -> tensor<{rows}x{width}xf32>
  %out = stablehlo.divide %power, %all : tensor<{rows}x{width}xf32>
  return %out : tensor<{rows}x{width}xf32>
}}
"""
GELU = """\
func.func @main(%x: tensor<{rows}x32xf32>, %w: tensor<32x{width}xf32>, %v: tensor<{width}x32xf32>)
    -> tensor<{rows}x32xf32> {{
  %c = stablehlo.constant dense<0.044715> : tensor<{rows}x{width}xf32>
  %s = stablehlo.constant dense<0.7978846> : tensor<{rows}x{width}xf32>
  %h = stablehlo.constant dense<0.5> : tensor<{rows}x{width}xf32>
  %one = stablehlo.constant dense<1.0> : tensor<{rows}x{width}xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<{rows}x32xf32>, tensor<32x{width}xf32>) -> tensor<{rows}x{width}xf32>
  %y2 = stablehlo.multiply %y, %y : tensor<{rows}x{width}xf32>
  %y3 = stablehlo.multiply %y2, %y : tensor<{rows}x{width}xf32>
  %cy = stablehlo.multiply %c, %y3 : tensor<{rows}x{width}xf32>
  %in = stablehlo.add %y, %cy : tensor<{rows}x{width}xf32>
  %sin = stablehlo.multiply %s, %in : tensor<{rows}x{width}xf32>
  %t = stablehlo.tanh %sin : tensor<{rows}x{width}xf32>
  %t1 = stablehlo.add %t, %one : tensor<{rows}x{width}xf32>
  %hy = stablehlo.multiply %h, %y : tensor<{rows}x{width}xf32>
  %g = stablehlo.multiply %hy, %t1 : tensor<{rows}x{width}xf32>
  %out = stablehlo.dot_general %g, %v, contracting_dims = [1] x [0]
    : (tensor<{rows}x{width}xf32>, tensor<{width}x32xf32>) -> tensor<{rows}x32xf32>
  return %out : tensor<{rows}x32xf32>
}}
"""
MLP = """\
func.func @main(%x: tensor<{rows}x{k}xf32>, %w: tensor<{k}x{n}xf32>, %v: tensor<{n}x{k}xf32>)
    -> tensor<{rows}x{k}xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<{rows}x{n}xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<{rows}x{k}xf32>, tensor<{k}x{n}xf32>) -> tensor<{rows}x{n}xf32>
  %r = stablehlo.maximum %y, %zero : tensor<{rows}x{n}xf32>
  %out = stablehlo.dot_general %r, %v, contracting_dims = [1] x [0]
    : (tensor<{rows}x{n}xf32>, tensor<{n}x{k}xf32>) -> tensor<{rows}x{k}xf32>
  return %out : tensor<{rows}x{k}xf32>
}}
"""
THIN = """\
func.func @main(%x: tensor<{rows}x{width}xf32>, %w: tensor<{width}x8xf32>) -> tensor<{rows}x8xf32> {{
  %half = stablehlo.constant dense<0.5> : tensor<{rows}x{width}xf32>
  %s = stablehlo.multiply %x, %half : tensor<{rows}x{width}xf32>
  %y = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0]
    : (tensor<{rows}x{width}xf32>, tensor<{width}x8xf32>) -> tensor<{rows}x8xf32>
  %t = stablehlo.tanh %y : tensor<{rows}x8xf32>
  return %t : tensor<{rows}x8xf32>
}}
"""
NORM = """\
func.func @main(%x: tensor<{rows}x{width}xf32>) -> tensor<{rows}xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.multiply %x, %x : tensor<{rows}x{width}xf32>
  %y = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<{rows}x{width}xf32>, tensor<f32>) -> tensor<{rows}xf32>
  %t = stablehlo.sqrt %y : tensor<{rows}xf32>
  return %t : tensor<{rows}xf32>
}}
"""
SHAPES = ((768, 3072), (512, 2048), (1024, 4096), (640, 2560))
FAMILIES = {
    "softmax": (SOFTMAX, ((512, 1024), (64, 16384))),
    "thin": (THIN, ((8192, 512), (4096, 1024), (16384, 256), (8192, 1024))),
    "norm": (NORM, ((512, 1024), (64, 16384), (4096, 256), (2048, 768))),
    "gelu": (GELU, ((512, 1024), (256, 4096), (2048, 512), (1024, 1024))),
}
BASES = {
    **{
        f"{family} {r}x{w}": text.format(rows=r, width=w)
        for family, (text, extents) in FAMILIES.items()
        for r, w in extents
    },
    **{
        f"{family} {k}x{n}": MLP.format(rows=rows, k=k, n=n)
        for family, rows in (("mlp", 128), ("narrow", 8))
        for k, n in SHAPES
    },
}


@dataclass
class Pair:
    """Two texts of one computation. planted: an operation, or "argument", that the answer has to name; "" for
    none. inside: words that it has to say about an operation of both.
    """

    name: str
    slow: str
    fast: str
    planted: str = ""
    inside: str = ""


def rewritten(graph: Graph, change: Change) -> str:
    """Return the program with a change after some of its operations."""
    emitter = Emitter()
    names = {value: emitter.argument(graph.types[value]) for value in graph.arguments}
    for op in graph.ops:
        emitter.op(graph, op, names)
        change(emitter, op, names)
    return emitter.module([(names[value], graph.types[value]) for value in graph.results])


def transposed(emitter: Emitter, name: str, kind: str) -> str:
    """Write a transpose of a matrix; return its name."""
    turned = tensor(shape(kind)[::-1], element(kind))
    order = "<{permutation = array<i64: 1, 0>}>"
    return emitter.line(f'"stablehlo.transpose"({name}) {order} : ({kind}) -> {turned}')


def with_transposes(graph: Graph) -> str:
    """Plant another order of what the last product sums: a transpose of either operand."""
    product = graph.ops[-1]

    def change(emitter: Emitter, op: Op, names: Names) -> None:
        if product.operands[0] in op.results:
            x, w = product.operands
            (rows, terms), (_, columns) = shape(graph.types[x]), shape(graph.types[w])
            moves = ((rows, terms // 64, 64), (0, 2, 1), (rows, terms))
            names[x] = emitter.move(names[x], graph.types[x], moves)
            moves = ((terms // 64, 64, columns), (1, 0, 2), (terms, columns))
            names[w] = emitter.move(names[w], graph.types[w], moves)

    return rewritten(graph, change)


def with_copy(graph: Graph) -> str:
    """Plant a concatenation with itself before the product, of which half is dropped after it."""
    product = next(op for op in graph.ops if op.name == "stablehlo.dot_general")
    text = product.form()

    def change(emitter: Emitter, op: Op, names: Names) -> None:
        if op is not product:
            return
        x, w = op.operands
        (rows, width), (_, columns) = shape(graph.types[x]), shape(graph.types[w])
        long, result = tensor((2 * rows, width), "f32"), tensor((2 * rows, columns), "f32")
        given = f"({names[x]}, {names[x]}) <{{dimension = 0 : i64}}> : ({graph.types[x]}, {graph.types[x]}) -> {long}"
        name = emitter.line(f'"stablehlo.concatenate"{given}')
        attributes = text[text.index("<{") : text.index(" : (")]
        kinds = f"({long}, {graph.types[w]}) -> {result}"
        name = emitter.line(f'"stablehlo.dot_general"({name}, {names[w]}) {attributes} : {kinds}')
        starts = "start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>"
        limits = f"<{{limit_indices = array<i64: {rows}, {columns}>, {starts}}}>"
        kinds = f"({result}) -> {graph.types[op.results[0]]}"
        names[op.results[0]] = emitter.line(f'"stablehlo.slice"({name}) {limits} : {kinds}')

    return rewritten(graph, change)


def unfused(graph: Graph) -> str:
    """Plant all sums of the rows' beginnings in place of a reduction, of which the last is read."""
    target = next(op for op in graph.ops if op.name == "stablehlo.reduce" and "stablehlo.add" in op.form())

    def change(emitter: Emitter, op: Op, names: Names) -> None:
        if op is target:
            source, init = op.operands
            kind = graph.types[source]
            rows, width = shape(kind)
            window = (
                f"<{{padding = dense<[[0, 0], [{width - 1}, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, "
                f"{width}>, window_strides = array<i64: 1, 1>}}> ({{\n"
                "    ^bb0(%r0: tensor<f32>, %r1: tensor<f32>):\n"
                '      %r2 = "stablehlo.add"(%r0, %r1) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n'
                '      "stablehlo.return"(%r2) : (tensor<f32>) -> ()\n    })'
            )
            given = f"({names[source]}, {names[init]})"
            name = emitter.line(f'"stablehlo.reduce_window"{given} {window} : ({kind}, tensor<f32>) -> {kind}')
            last = tensor((rows, 1), "f32")
            starts = f"start_indices = array<i64: 0, {width - 1}>, strides = array<i64: 1, 1>"
            limits = f"<{{limit_indices = array<i64: {rows}, {width}>, {starts}}}>"
            name = emitter.line(f'"stablehlo.slice"({name}) {limits} : ({kind}) -> {last}')
            names[op.results[0]] = emitter.move(name, last, ((rows, 1), (0, 1), (rows,)))

    return rewritten(graph, change)


def constant(emitter: Emitter, value: float, kind: str) -> str:
    return emitter.line(f'"stablehlo.constant"() <{{value = dense<{value:.17e}> : {kind}}}> : () -> {kind}')


def slow_gelu(graph: Graph) -> str:
    """Plant a power in place of the hyperbolic tangent: 1 - 2 / (exp(2)^x + 1)."""
    target = next(op for op in graph.ops if op.name == "stablehlo.tanh")

    def change(emitter: Emitter, op: Op, names: Names) -> None:
        if op is target:
            kind, source = graph.types[op.results[0]], names[op.reads[0]]

            def line(name: str, *given: str) -> str:
                kinds = ", ".join([kind] * len(given))
                return emitter.line(f'"stablehlo.{name}"({", ".join(given)}) : ({kinds}) -> {kind}')

            base, one, two = (constant(emitter, value, kind) for value in (math.exp(2), 1.0, 2.0))
            names[op.results[0]] = line(
                "subtract", one, line("divide", two, line("add", line("power", base, source), one))
            )

    return rewritten(graph, change)


def other_layout(graph: Graph) -> str:
    """Plant the first weight in the other layout, which the program transposes at every call."""
    emitter, weight, names = Emitter(), graph.arguments[1], {}
    for value in graph.arguments:
        kind = graph.types[value]
        if value == weight:
            turned = tensor(shape(kind)[::-1], element(kind))
            names[value] = transposed(emitter, emitter.argument(turned), turned)
        else:
            names[value] = emitter.argument(kind)
    for op in graph.ops:
        emitter.op(graph, op, names)
    return emitter.module([(names[value], graph.types[value]) for value in graph.results])


def reordered(graph: Graph, seed: int) -> str:
    """Return the program with its operations in another order."""
    rng, emitter = random.Random(seed), Emitter()
    names = {value: emitter.argument(graph.types[value]) for value in graph.arguments}
    left = list(graph.ops)
    while left:
        ready = [op for op in left if all(value in names for value in op.reads)]
        op = rng.choice(ready)
        emitter.op(graph, op, names)
        left.remove(op)
    return emitter.module([(names[value], graph.types[value]) for value in graph.results])


def text(arguments: str, *lines: str) -> str:
    """Return a program whose last line makes its result %y."""
    kind = lines[-1].rpartition(" : ")[2].rpartition("-> ")[2]
    body = "\n  ".join([*lines, f"return %y : {kind}"])
    return f"func.func @main({arguments}) -> {kind} {{\n  {body}\n}}\n"


def convolution(operands: str, kinds: str, window: str = "", features: int = 1, batch: int = 1) -> str:
    """Return a convolution in one dimension. kinds: of image, kernel and result."""
    *given, result = (f"tensor<{kind}xf32>" for kind in kinds.split())
    counts = f"{{batch_group_count = {batch} : i64, feature_group_count = {features} : i64}}"
    numbers = f"dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{{window}}}"
    return f"stablehlo.convolution({operands}) {numbers} {counts} : ({', '.join(given)}) -> {result}"


def combined(name: str, operands: str, attributes: str, kinds: str, body: str) -> str:
    """Return an operation whose inner ones make %c of %a and %b. kinds: its signature."""
    returned = "i1" if name == "sort" else "f32"
    return (
        f'"stablehlo.{name}"({operands}) <{{{attributes}}}> ({{\n  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n{body}\n'
        f"    stablehlo.return %c : tensor<{returned}>\n  }}) : {kinds}"
    )


def combiner(name: str) -> str:
    return f"    %c = stablehlo.{name} %a, %b : tensor<f32>"


def ordered(value: str) -> str:
    """Return operations of a comparator that make one of -0 and 0, and of all that are no number."""
    compare = "(tensor<f32>, tensor<f32>) -> tensor<i1>"
    return f"""\
    {value}z = stablehlo.compare EQ, {value}, %zero, FLOAT : {compare}
    {value}s = stablehlo.select {value}z, %zero, {value} : tensor<i1>, tensor<f32>
    {value}n = stablehlo.compare NE, {value}, {value}, FLOAT : {compare}
    {value}t = stablehlo.select {value}n, %nan, {value}s : tensor<i1>, tensor<f32>"""


def inside_pairs() -> Iterator[Pair]:
    """Yield pairs that differ inside one operation."""
    given = "%x: tensor<16x128x64xf32>, %w: tensor<64x64xf32>"
    x, w = "tensor<16x128x64xf32>", "tensor<64x64xf32>"
    yield Pair(
        "inside: operands of a product",
        text(
            given,
            f"%p = stablehlo.dot_general %w, %x, contracting_dims = [0] x [2] : ({w}, {x}) -> tensor<64x16x128xf32>",
            f"%y = stablehlo.transpose %p, dims = [1, 2, 0] : (tensor<64x16x128xf32>) -> {x}",
        ),
        text(given, f"%y = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : ({x}, {w}) -> {x}"),
        inside="operands exchanged",
    )
    given, kinds = (
        "%x: tensor<8x64x512xf32>, %w: tensor<64x512x16xf32>",
        "tensor<8x64x512xf32>, tensor<64x512x16xf32>",
    )
    yield Pair(
        "inside: order of contraction",
        *(
            text(
                given,
                f"%y = stablehlo.dot_general %x, %w, contracting_dims = {dims} : ({kinds}) -> tensor<8x16xf32>",
            )
            for dims in ("[2, 1] x [1, 0]", "[1, 2] x [0, 1]")
        ),
        inside="lhs_contracting_dimensions [2, 1] against [1, 2]",
    )
    given, x, w = "%x: tensor<128x512xf32>, %w: tensor<512x512xf32>", "tensor<128x512x", "tensor<512x512x"
    product = "stablehlo.dot_general {}, contracting_dims = [1] x [0] : ({x}{k}>, {w}{k}>) -> {x}{k}>"
    yield Pair(
        "inside: type of a product",
        text(
            given,
            f"%a = stablehlo.convert %x : ({x}f32>) -> {x}f64>",
            f"%b = stablehlo.convert %w : ({w}f32>) -> {w}f64>",
            f"%p = {product.format('%a, %b', x=x, w=w, k='f64')}",
            f"%y = stablehlo.convert %p : ({x}f64>) -> {x}f32>",
        ),
        text(given, f"%y = {product.format('%x, %w', x=x, w=w, k='f32')}"),
        inside="operands of f64 against f32",
    )
    given, mask, wide = (
        "%x: tensor<1x1024x64xf32>, %w: tensor<3x4x64xf32>",
        "tensor<16x16xi",
        "tensor<3x16x4x16x4x",
    )
    yield Pair(
        "inside: groups of a convolution",
        text(given, f"%y = {convolution('%x, %w', '1x1024x64 3x4x64 1x1022x64', features=16)}"),
        text(
            given,
            f"%i = stablehlo.iota dim = 0 : {mask}32>",
            f"%j = stablehlo.iota dim = 1 : {mask}32>",
            f"%e = stablehlo.compare EQ, %i, %j, SIGNED : ({mask}32>, {mask}32>) -> {mask}1>",
            f"%m = stablehlo.broadcast_in_dim %e, dims = [1, 3] : ({mask}1>) -> {wide}i1>",
            "%v = stablehlo.reshape %w : (tensor<3x4x64xf32>) -> tensor<3x4x16x4xf32>",
            f"%b = stablehlo.broadcast_in_dim %v, dims = [0, 2, 3, 4] : (tensor<3x4x16x4xf32>) -> {wide}f32>",
            f"%z = stablehlo.constant dense<0.0> : {wide}f32>",
            f"%s = stablehlo.select %m, %b, %z : {wide}i1>, {wide}f32>",
            f"%d = stablehlo.reshape %s : ({wide}f32>) -> tensor<3x64x64xf32>",
            f"%y = {convolution('%x, %d', '1x1024x64 3x64x64 1x1022x64')}",
        ),
        inside="grouped convolution (16 groups) against no groups",
    )
    given = "%x: tensor<8x512x8xf32>, %w: tensor<3x8x16xf32>"
    yield Pair(
        "inside: groups of the batch",
        text(given, f"%y = {convolution('%x, %w', '8x512x8 3x8x16 1x510x16', batch=8)}"),
        text(
            given,
            "%t = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<8x512x8xf32>) -> tensor<512x8x8xf32>",
            "%f = stablehlo.reshape %t : (tensor<512x8x8xf32>) -> tensor<1x512x64xf32>",
            f"%y = {convolution('%f, %w', '1x512x64 3x8x16 1x510x16', features=8)}",
        ),
        inside="grouped convolution (8 groups of the batch) against no groups of the batch",
    )
    given = "%x: tensor<1x1024x32xf32>, %w: tensor<8x32x16xf32>"
    yield Pair(
        "inside: dilation of a convolution",
        text(
            given,
            f"%y = {convolution('%x, %w', '1x1024x32 8x32x16 1x8192x16', 'pad = [[7, 7]], lhs_dilate = [8]')}",
        ),
        text(
            given,
            "%r = stablehlo.reverse %w, dims = [0] : tensor<8x32x16xf32>",
            "%t = stablehlo.transpose %r, dims = [1, 0, 2] : (tensor<8x32x16xf32>) -> tensor<32x8x16xf32>",
            "%v = stablehlo.reshape %t : (tensor<32x8x16xf32>) -> tensor<1x32x128xf32>",
            f"%c = {convolution('%x, %v', '1x1024x32 1x32x128 1x1024x128')}",
            "%y = stablehlo.reshape %c : (tensor<1x1024x128xf32>) -> tensor<1x8192x16xf32>",
        ),
        inside="dilated convolution (7 of 8 products are with zeros) against no dilation",
    )
    less = "    %c = stablehlo.compare LT, {}, {}, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>".format
    constants = (
        "    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>"
    )
    long = "\n".join(
        [constants, ordered("%a"), ordered("%b"), less("%at", "%bt").replace("FLOAT", "TOTALORDER")]
    )
    attributes, kinds = "dimension = 1 : i64, is_stable = true", "(tensor<1024x64xf32>) -> tensor<1024x64xf32>"
    yield Pair(
        "inside: comparator of a sort",
        *(
            text("%x: tensor<1024x64xf32>", f"%y = {combined('sort', '%x', attributes, kinds, body)}")
            for body in (long, less("%a", "%b"))
        ),
        inside="comparator of eleven operations against one operation (compare)",
    )
    given, zero, window = (
        "%x: tensor<64x512xf32>",
        "%z = stablehlo.constant dense<0.0> : tensor<f32>",
        "reduce_window",
    )
    kinds = "(tensor<64x512xf32>, tensor<f32>)"
    yield Pair(
        "inside: dilation of a window",
        *(
            text(
                given,
                zero,
                f"%w = {combined(window, '%x, %z', attributes, f'{kinds} -> {kind}', combiner('add'))}",
                f"%y = stablehlo.slice %w [0:64, 0:{505 * step - step + 1}:{step}] : ({kind}) -> tensor<64x505xf32>",
            )
            for step, attributes, kind in (
                (
                    8,
                    "window_dimensions = array<i64: 1, 56>, base_dilations = array<i64: 1, 8>",
                    "tensor<64x4034xf32>",
                ),
                (1, "window_dimensions = array<i64: 1, 7>", "tensor<64x506xf32>"),
            )
        ),
        inside="base_dilations [1, 8] against default",
    )
    low = "%z = stablehlo.constant dense<0xFF800000> : tensor<f32>"
    kinds = "(tensor<512x2048xf32>, tensor<f32>) -> tensor<512xf32>"
    longer = (
        less("%a", "%b").replace("LT", "GT").replace("FLOAT", "TOTALORDER").replace("%c", "%g")
        + "\n    %c = stablehlo.select %g, %a, %b : tensor<i1>, tensor<f32>"
    )
    yield Pair(
        "inside: reducer",
        *(
            text(
                "%x: tensor<512x2048xf32>",
                low,
                f"%y = {combined('reduce', '%x, %z', 'dimensions = array<i64: 1>', kinds, body)}",
            )
            for body in (longer, combiner("maximum"))
        ),
        inside="reducer of two operations (compare, select) against one operation (maximum)",
    )
    given = "%x: tensor<2048x64xf32>, %i: tensor<1024x1xi32>, %u: tensor<1024x64xf32>"

    def scatter(indices: str, kind: str, numbers: str) -> str:
        attributes = f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>"
        kinds = f"(tensor<2048x64xf32>, {kind}, tensor<1024x64xf32>) -> tensor<2048x64xf32>"
        return combined("scatter", f"%x, {indices}, %u", attributes, kinds, combiner("add"))

    one, two = "tensor<1024x64x1xi32>", "tensor<1024x64x2xi32>"
    yield Pair(
        "inside: slices of a scatter",
        text(
            given,
            f"%r = stablehlo.broadcast_in_dim %i, dims = [0, 2] : (tensor<1024x1xi32>) -> {one}",
            f"%j = stablehlo.iota dim = 1 : {one}",
            f"%k = stablehlo.concatenate %r, %j, dim = 2 : ({one}, {one}) -> {two}",
            "%y = "
            + scatter(
                "%k",
                two,
                "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2",
            ),
        ),
        text(
            given,
            "%y = "
            + scatter(
                "%i",
                "tensor<1024x1xi32>",
                "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
                "index_vector_dim = 1",
            ),
        ),
        inside="inserted_window_dims [0, 1] against [0]",
    )


PLANTS: dict[str, tuple[Callable[[Graph], str], str, tuple[str, ...]]] = {
    "extra transpose": (with_transposes, "transpose", ("narrow",)),
    "needless copy": (with_copy, "concatenate", ("thin",)),
    "unfused reduction": (unfused, "reduce_window", ("norm",)),
    "slower GELU": (slow_gelu, "power", ("gelu",)),
    "wrong layout": (other_layout, "argument", ("mlp",)),
}


def pairs(graphs: dict[str, Graph]) -> Iterator[Pair]:
    """Yield the pairs with a planted cause, those that differ inside an operation, then those with none."""
    for plant, (change, planted, families) in PLANTS.items():
        for name, graph in graphs.items():
            if name.partition(" ")[0] in families:
                yield Pair(f"{plant}: {name}", change(graph), graph.module(), planted)
    yield from inside_pairs()
    for number, (name, graph) in enumerate(list(graphs.items())[:10]):
        yield Pair(f"itself: {name}", graph.module(), graph.module())
        yield Pair(f"reordered: {name}", reordered(graph, number), graph.module())


def is_named(pair: Pair, cause: Cause) -> bool:
    """Return whether an answer names the planted cause, and not more than one other region."""
    if cause.verdict != CAUSE or not 1 <= len(cause.regions) <= 2:
        return False
    if pair.inside:
        return pair.inside in console.cause_text(cause)
    if pair.planted == "argument":
        return any(region.what == LAYOUT for region in cause.regions)
    return any(pair.planted in line for region in cause.regions for line in region.a)


def searched(worker: Worker, pair: Pair) -> Cause:
    """Return the answer about a pair, in the compiler of a worker."""
    slow, fast = (
        Program(name, text, plain_arguments(worker.graph(text), {}, seed=7))
        for name, text in (("slow", pair.slow), ("fast", pair.fast))
    )
    settings = Settings(budget_s=300)
    task = Task(pair.name, slow, worker.spec, worker.spec, fast, is_plain=True, settings=settings)
    return find(task, lambda text: None)


def main() -> None:
    output, *words = sys.argv[1:]
    compiler = CompilerSpec(COMPILER, python=str(ensure(REPOSITORY / "envs/xla-0.7.1.txt")))
    known = {row["pair"]: row for row in json.loads(Path(output).read_text())} if Path(output).exists() else {}
    with Worker(compiler) as worker:
        graphs = {name: worker.graph(text) for name, text in BASES.items()}
        for pair in pairs(graphs):
            if words and not any(word in pair.name for word in words):
                continue
            cause = searched(worker, pair)
            planted = pair.planted or pair.inside
            right = is_named(pair, cause) if planted else cause.verdict in (NO_GAP, NOT_SEPARABLE)
            row = {"pair": pair.name, "planted": planted, "right": right}
            names = ("verdict", "detail", "ratio", "closed", "seconds")
            known[pair.name] = row | {name: asdict(cause)[name] for name in names}
            if pair.inside:
                known[pair.name]["differs"] = [region.differs for region in cause.regions]
            print(
                *("right" if right else "WRONG", pair.name, "|", cause.verdict, "|", cause.detail[:150]),
                flush=True,
            )
            Path(output).write_text(json.dumps([*known.values()], indent=1) + "\n")


if __name__ == "__main__":
    main()
