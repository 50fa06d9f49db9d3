"""Pairs of programs for the finder of causes: with one planted cause, with one inside an operation, and with none.

`PYTHONPATH=src:tests .venv/bin/python tests/explain/planted_pairs.py OUTPUT [PAIR ...]`: search all of them, or those
with one of these words in the name, in jaxlib 0.7.1 and write OUTPUT, a JSON file with each answer; answers about other
pairs stay in it. All take about 20 minutes on a quiet machine of two cores.
"""

import json
import math
import random
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from ir.spellings import program
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.launch import REPOSITORY
from stackwars.core.program import Emitter, Graph, Program
from stackwars.core.types import tensor
from stackwars.explain import console
from stackwars.explain.answer import CAUSE, LAYOUT, NO_GAP, NOT_SEPARABLE, Cause
from stackwars.explain.cause import find
from stackwars.explain.files import plain_arguments
from stackwars.explain.task import Settings, Task
from stackwars.setup.environments import ensure

COMPILER = "jaxlib-0.7.1"


def sum_of(operand: str, what: str = "add", start: str = "%zero") -> str:
    return f"stablehlo.reduce({operand} init: {start}) applies stablehlo.{what} across dimensions = [1] : (X, S) -> R"


def product(operands: str, kinds: str) -> str:
    left, right, result = kinds.split()
    return f"dot_general {operands}, contracting_dims = [1] x [0] : ({left}, {right}) -> {result}"


TEXTS = {
    "softmax": (
        f"%low = constant dense<0xFF800000> : S; %zero = constant dense<0.0> : S; "
        f"%top = {sum_of('%x', 'maximum', '%low')}; %wide = broadcast_in_dim %top, dims = [0] : (R) -> X; "
        f"%less = subtract %x, %wide : X; %power = exponential %less : X; %sum = {sum_of('%power')}; "
        f"%all = broadcast_in_dim %sum, dims = [0] : (R) -> X; %r = divide %power, %all : X", "%x: X", "X",
    ),
    "thin": (
        f"%half = constant dense<0.5> : X; %s = multiply %x, %half : X; %y = {product('%s, %w', 'X E Y')}; "
        "%r = tanh %y : Y", "%x: X, %w: E", "Y",
    ),
    "norm": (
        f"%zero = constant dense<0.0> : S; %s = multiply %x, %x : X; %y = {sum_of('%s')}; %r = sqrt %y : R",
        "%x: X", "R",
    ),
    "gelu": (
        "%c = constant dense<0.044715> : X; %s = constant dense<0.7978846> : X; %h = constant dense<0.5> : X; "
        f"%one = constant dense<1.0> : X; %y = {product('%x, %w', 'I W X')}; %y2 = multiply %y, %y : X; "
        "%y3 = multiply %y2, %y : X; %cy = multiply %c, %y3 : X; %in = add %y, %cy : X; %sin = multiply %s, %in : X; "
        "%t = tanh %sin : X; %t1 = add %t, %one : X; %hy = multiply %h, %y : X; %g = multiply %hy, %t1 : X; "
        f"%r = {product('%g, %v', 'X U I')}", "%x: I, %w: W, %v: U", "I",
    ),
    "mlp": (
        f"%zero = constant dense<0.0> : X; %y = {product('%x, %w', 'I W X')}; %m = maximum %y, %zero : X; "
        f"%r = {product('%m, %v', 'X U I')}", "%x: I, %w: W, %v: U", "I",
    ),
}  # fmt: skip
"""{family: (operations, arguments, result)}."""


def base(family: str, rows: int, width: int, inner: int = 32, plant: str = "") -> str:
    """Return a program of a family, with the change of a plant."""
    body, arguments, result = TEXTS[family]
    for old, new in PLANTS[plant].changes.items() if plant else ():
        body, arguments = body.replace(old, new), arguments.replace(old, new)
    extents = {
        "X": (rows, width), "R": (rows,), "S": (), "I": (rows, inner), "W": (inner, width), "U": (width, inner),
        "E": (width, 8), "Y": (rows, 8), "C": (rows, 1), "L": (2 * rows, width), "B": (2 * rows, 8),
        "G": (rows, width // 64, 64), "H": (rows, 64, width // 64), "J": (width // 64, 64, inner),
        "K": (64, width // 64, inner),
    }  # fmt: skip
    types = {name: tensor(extent, "f32") for name, extent in extents.items()}
    places = {"<rows>": rows, "<width>": width, "<before>": width - 1}
    for name, place in places.items():
        body = body.replace(name, str(place))
    return program(body, arguments, result, F="tensor<f32>", **types)


@dataclass
class Plant:
    """A change of the texts of a family that makes a program slower. named: what the answer has to name."""

    named: str
    family: str
    changes: dict[str, str]


WINDOW = (
    '"stablehlo.reduce_window"(%s, %zero) <{padding = dense<[[0, 0], [<before>, 0]]> : tensor<2x2xi64>, '
    "window_dimensions = array<i64: 1, <width>>, window_strides = array<i64: 1, 1>}> ({\n^bb0(%a: F, %b: F):\n"
    "%c = add %a, %b : F\nstablehlo.return %c : F\n}) : (X, F) -> X"
)
PLANTS = {
    # Another order of what the last product sums: a transpose of either operand.
    "extra transpose": Plant("transpose", "narrow", {
        f"%r = {product('%m, %v', 'X U I')}":
        "%m1 = reshape %m : (X) -> G; %m2 = transpose %m1, dims = [0, 2, 1] : (G) -> H; %m3 = reshape %m2 : (H) -> X; "
        "%v1 = reshape %v : (U) -> J; %v2 = transpose %v1, dims = [1, 0, 2] : (J) -> K; %v3 = reshape %v2 : (K) -> U; "
        f"%r = {product('%m3, %v3', 'X U I')}",
    }),
    # A concatenation with itself before the product, of which half is dropped after it.
    "needless copy": Plant("concatenate", "thin", {
        f"%y = {product('%s, %w', 'X E Y')}":
        f"%long = concatenate %s, %s, dim = 0 : (X, X) -> L; %both = {product('%long, %w', 'L E B')}; "
        "%y = slice %both [0:<rows>, 0:8] : (B) -> Y",
    }),
    # All sums of the rows' beginnings in place of a reduction, of which the last is read.
    "unfused reduction": Plant("reduce_window", "norm", {
        f"%y = {sum_of('%s')}":
        f"%sums = {WINDOW}; %last = slice %sums [0:<rows>, <before>:<width>] : (X) -> C; %y = reshape %last : (C) -> R",
    }),
    # A power in place of the hyperbolic tangent: 1 - 2 / (exp(2)^x + 1).
    "slower GELU": Plant("power", "gelu", {
        "%t = tanh %sin : X":
        f"%e = constant dense<{math.exp(2)!r}> : X; %two = constant dense<2.0> : X; %e2 = power %e, %sin : X; "
        "%more = add %e2, %one : X; %part = divide %two, %more : X; %t = subtract %one, %part : X",
    }),
    # The first weight in the other layout, which the program transposes at every call.
    "wrong layout": Plant("argument", "mlp", {
        "%w: W": "%turned: U", "%y = ": "%w = transpose %turned, dims = [1, 0] : (U) -> W; %y = ",
    }),
}  # fmt: skip


SHAPES = ((768, 3072), (512, 2048), (1024, 4096), (640, 2560))
FAMILIES = {
    "softmax": ((512, 1024), (64, 16384)),
    "thin": ((8192, 512), (4096, 1024), (16384, 256), (8192, 1024)),
    "norm": ((512, 1024), (64, 16384), (4096, 256), (2048, 768)),
    "gelu": ((512, 1024), (256, 4096), (2048, 512), (1024, 1024)),
}
SIZES = {f"{family} {r}x{w}": (family, r, w) for family, extents in FAMILIES.items() for r, w in extents}
SIZES |= {
    f"{family} {k}x{n}": ("mlp", rows, n, k)
    for family, rows in (("mlp", 128), ("narrow", 8))
    for k, n in SHAPES
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


def inside(name: str, words: str, arguments: str, result: str, *texts: str, **extents: str) -> Pair:
    """Return a pair that differs inside an operation: the slow program, then the fast one. extents: of its types."""
    typed = {letter: one if "f" in one or "i" in one else f"{one}xf32" for letter, one in extents.items()}
    kinds = {letter: f"tensor<{one}>" for letter, one in typed.items()}
    slow, fast = (program(text, arguments, result, F="tensor<f32>", G="tensor<i1>", **kinds) for text in texts)
    return Pair(f"inside: {name}", slow, fast, inside=words)


def convolution(operands: str, kinds: str, window: str = "", features: int = 1, batch: int = 1) -> str:
    """Return a convolution in one dimension. kinds: of image, kernel and result."""
    image, kernel, result = kinds.split()
    counts = f"{{batch_group_count = {batch} : i64, feature_group_count = {features} : i64}}"
    numbers = f"dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{{window}}}"
    return f"stablehlo.convolution({operands}) {numbers} {counts} : ({image}, {kernel}) -> {result}"


def combined(name: str, operands: str, attributes: str, kinds: str, body: str, returned: str = "F") -> str:
    """Return an operation whose inner ones make %c of %a and %b. kinds: its signature."""
    return (
        f'"stablehlo.{name}"({operands}) <{{{attributes}}}> ({{\n^bb0(%a: F, %b: F):\n{body}\n'
        f"stablehlo.return %c : {returned}\n}}) : {kinds}"
    )


def compared(result: str, what: str, one: str, other: str, order: str = "FLOAT") -> str:
    return f"{result} = compare {what}, {one}, {other}, {order} : (F, F) -> G"


def ordered(value: str) -> str:
    """Return operations of a comparator that make one of -0 and 0, and of all that are no number."""
    return (
        f"{compared(f'{value}z', 'EQ', value, '%zero')}; {value}s = select {value}z, %zero, {value} : G, F; "
        f"{compared(f'{value}n', 'NE', value, value)}; {value}t = select {value}n, %nan, {value}s : G, F; "
    )


def scatter(indices: str, kind: str, numbers: str) -> str:
    attributes = f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>"
    return combined("scatter", f"%x, {indices}, %u", attributes, f"(X, {kind}, U) -> X", "%c = add %a, %b : F")


def window(step: int, attributes: str, kind: str) -> str:
    summed = combined("reduce_window", "%x, %z", attributes, f"(X, F) -> {kind}", "%c = add %a, %b : F")
    kept = f"[0:64, 0:{505 * step - step + 1}:{step}] : ({kind}) -> R"
    return f"%z = constant dense<0.0> : F; %w = {summed}; %r = slice %w {kept}"


def inside_pairs() -> Iterator[Pair]:
    """Yield pairs that differ inside one operation."""
    yield inside(
        "operands of a product", "operands exchanged", "%x: X, %w: W", "X",
        "%p = dot_general %w, %x, contracting_dims = [0] x [2] : (W, X) -> T; "
        "%r = transpose %p, dims = [1, 2, 0] : (T) -> X",
        "%r = dot_general %x, %w, contracting_dims = [2] x [0] : (X, W) -> X",
        X="16x128x64", W="64x64", T="64x16x128",
    )  # fmt: skip
    yield inside(
        "order of contraction", "lhs_contracting_dimensions [2, 1] against [1, 2]", "%x: X, %w: W", "R",
        *(f"%r = dot_general %x, %w, contracting_dims = {dims} : (X, W) -> R"
          for dims in ("[2, 1] x [1, 0]", "[1, 2] x [0, 1]")),
        X="8x64x512", W="64x512x16", R="8x16",
    )  # fmt: skip
    yield inside(
        "type of a product", "operands of f64 against f32", "%x: X, %w: W", "X",
        f"%a = convert %x : (X) -> D; %b = convert %w : (W) -> E; %p = {product('%a, %b', 'D E D')}; "
        "%r = convert %p : (D) -> X",
        f"%r = {product('%x, %w', 'X W X')}",
        X="128x512", W="512x512", D="128x512xf64", E="512x512xf64",
    )  # fmt: skip
    yield inside(
        "groups of a convolution", "grouped convolution (16 groups) against no groups", "%x: X, %w: W", "R",
        f"%r = {convolution('%x, %w', 'X W R', features=16)}",
        "%i = iota dim = 0 : I; %j = iota dim = 1 : I; %e = compare EQ, %i, %j, SIGNED : (I, I) -> E; "
        "%m = broadcast_in_dim %e, dims = [1, 3] : (E) -> M; %v = reshape %w : (W) -> V; "
        "%b = broadcast_in_dim %v, dims = [0, 2, 3, 4] : (V) -> B; %z = constant dense<0.0> : B; "
        f"%s = select %m, %b, %z : M, B; %d = reshape %s : (B) -> D; %r = {convolution('%x, %d', 'X D R')}",
        X="1x1024x64", W="3x4x64", R="1x1022x64", I="16x16xi32", E="16x16xi1", M="3x16x4x16x4xi1", V="3x4x16x4",
        B="3x16x4x16x4", D="3x64x64",
    )  # fmt: skip
    yield inside(
        "groups of the batch", "grouped convolution (8 groups of the batch) against no groups of the batch",
        "%x: X, %w: W", "R",
        f"%r = {convolution('%x, %w', 'X W R', batch=8)}",
        "%t = transpose %x, dims = [1, 0, 2] : (X) -> T; %f = reshape %t : (T) -> L; "
        f"%r = {convolution('%f, %w', 'L W R', features=8)}",
        X="8x512x8", W="3x8x16", R="1x510x16", T="512x8x8", L="1x512x64",
    )  # fmt: skip
    yield inside(
        "dilation of a convolution", "dilated convolution (7 of 8 products are with zeros) against no dilation",
        "%x: X, %w: W", "R",
        f"%r = {convolution('%x, %w', 'X W R', 'pad = [[7, 7]], lhs_dilate = [8]')}",
        "%k = reverse %w, dims = [0] : W; %t = transpose %k, dims = [1, 0, 2] : (W) -> T; %v = reshape %t : (T) -> V; "
        f"%c = {convolution('%x, %v', 'X V C')}; %r = reshape %c : (C) -> R",
        X="1x1024x32", W="8x32x16", R="1x8192x16", T="32x8x16", V="1x32x128", C="1x1024x128",
    )  # fmt: skip
    numbers = "%zero = constant dense<0.0> : F; %nan = constant dense<0x7FC00000> : F; "
    long = f"{numbers}{ordered('%a')}{ordered('%b')}{compared('%c', 'LT', '%at', '%bt', 'TOTALORDER')}"
    yield inside(
        "comparator of a sort", "comparator of eleven operations against one operation (compare)", "%x: X", "X",
        *(f"%r = {combined('sort', '%x', 'dimension = 1 : i64, is_stable = true', '(X) -> X', body, 'G')}"
          for body in (long, compared("%c", "LT", "%a", "%b"))),
        X="1024x64",
    )  # fmt: skip
    yield inside(
        "dilation of a window", "base_dilations [1, 8] against default", "%x: X", "R",
        window(8, "window_dimensions = array<i64: 1, 56>, base_dilations = array<i64: 1, 8>", "D"),
        window(1, "window_dimensions = array<i64: 1, 7>", "W"),
        X="64x512", R="64x505", D="64x4034", W="64x506",
    )  # fmt: skip
    longer = f"{compared('%g', 'GT', '%a', '%b', 'TOTALORDER')}; %c = select %g, %a, %b : G, F"
    yield inside(
        "reducer", "reducer of two operations (compare, select) against one operation (maximum)", "%x: X", "R",
        *(f"%z = constant dense<0xFF800000> : F; "
          f"%r = {combined('reduce', '%x, %z', 'dimensions = array<i64: 1>', '(X, F) -> R', body)}"
          for body in (longer, "%c = maximum %a, %b : F")),
        X="512x2048", R="512",
    )  # fmt: skip
    both = "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2"
    rows = "update_window_dims = [1], inserted_window_dims = [0], "
    rows += "scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
    yield inside(
        "slices of a scatter", "inserted_window_dims [0, 1] against [0]", "%x: X, %i: I, %u: U", "X",
        "%m = broadcast_in_dim %i, dims = [0, 2] : (I) -> J; %j = iota dim = 1 : J; "
        f"%k = concatenate %m, %j, dim = 2 : (J, J) -> K; %r = {scatter('%k', 'K', both)}",
        f"%r = {scatter('%i', 'I', rows)}",
        X="2048x64", I="1024x1xi32", U="1024x64", J="1024x64x1xi32", K="1024x64x2xi32",
    )  # fmt: skip


def pairs(worker: Worker) -> Iterator[Pair]:
    """Yield the pairs with a planted cause, those that differ inside an operation, then those with none."""
    for name, plant in PLANTS.items():
        for label, sizes in SIZES.items():
            if label.partition(" ")[0] == plant.family:
                yield Pair(f"{name}: {label}", base(*sizes, plant=name), base(*sizes), plant.named)
    yield from inside_pairs()
    for number, (label, sizes) in enumerate(list(SIZES.items())[:10]):
        text = base(*sizes)
        yield Pair(f"itself: {label}", text, text)
        yield Pair(f"reordered: {label}", reordered(worker.graph(text), number), text)


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
        for pair in pairs(worker):
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
