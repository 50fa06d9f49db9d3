"""Pairs of small programs: two spellings of one, or two programs that look alike."""

V, M = "tensor<4xf32>", "tensor<4x4xf32>"


def program(body: str, arguments: str = f"%x: {V}, %y: {V}", result: str = V, more: str = "") -> str:
    """A module whose main has this body; `%r` is what it returns."""
    head = f"func.func public @main({arguments}) -> {result} {{"
    return f"module @m {{\n{head}\n{body}\nreturn %r : {result}\n}}\n{more}\n}}\n"


def binary(kind: str, left: str, right: str, name: str = "r", of: str = V) -> str:
    return f"%{name} = stablehlo.{kind} %{left}, %{right} : {of}\n"


def constant(number: str, name: str, of: str = V) -> str:
    return f"%{name} = stablehlo.constant dense<{number}> : {of}\n"


def broadcast(value: str, name: str, axes: str, before: str, after: str) -> str:
    return f"%{name} = stablehlo.broadcast_in_dim %{value}, dims = [{axes}] : ({before}) -> {after}\n"


def reshape(value: str, name: str, before: str, after: str) -> str:
    return f"%{name} = stablehlo.reshape %{value} : ({before}) -> {after}\n"


def dot(left: str, right: str, axes: str = "[1] x [0]", precision: str = "HIGHEST") -> str:
    return (
        f"%r = stablehlo.dot_general %{left}, %{right}, contracting_dims = {axes}, "
        f"precision = [{precision}, {precision}] : ({M}, {M}) -> {M}\n"
    )


TWO = f"%x: {M}, %y: {M}"
FOUR = f"%a: {V}, %b: {V}, %c: {V}, %d: {V}"
BLOCK = "tensor<2x3x4xf32>"
DOUBLE = f"func.func private @f(%p: {V}) -> {V} {{\n%s = stablehlo.add %p, %p : {V}\nreturn %s : {V}\n}}"


def sums(first: str, second: str, third: str, fourth: str) -> str:
    """The sum of four differences, added in pairs; each is two names of arguments."""
    parts = [
        binary("subtract", pair[0], pair[1], f"t{i}") for i, pair in enumerate((first, second, third, fourth))
    ]
    pairs = binary("add", "t0", "t1", "u") + binary("add", "t2", "t3", "v") + binary("add", "u", "v")
    return program("".join(parts) + pairs, FOUR)


# name -> (one spelling, the other)
SAME = {
    "names, order of arguments": (
        program(binary("subtract", "x", "y")),
        program(binary("subtract", "right", "left"), f"%left: {V}, %right: {V}"),
    ),
    "operands of an addition": (
        program(binary("multiply", "x", "x", "s") + binary("add", "s", "y")),
        program(binary("multiply", "x", "x", "s") + binary("add", "y", "s")),
    ),
    "order of independent operations": (
        program(binary("multiply", "x", "x", "s") + binary("add", "y", "y", "t") + binary("divide", "s", "t")),
        program(binary("add", "y", "y", "t") + binary("multiply", "x", "x", "s") + binary("divide", "s", "t")),
    ),
    "a call": (
        program(f"%r = call @f(%x) : ({V}) -> {V}", f"%x: {V}", more=DOUBLE),
        program(binary("add", "x", "x"), f"%x: {V}"),
    ),
    "a constant of one value": (
        program(
            constant("2.0", "c", "tensor<f32>")
            + broadcast("c", "d", "", "tensor<f32>", V)
            + binary("multiply", "x", "d"),
            f"%x: {V}",
        ),
        program(constant("2.0", "d") + binary("multiply", "x", "d"), f"%x: {V}"),
    ),
    "arithmetic on constants": (
        program(
            constant("5.0", "c")
            + constant("1.0", "d")
            + binary("subtract", "c", "d", "e")
            + binary("multiply", "x", "e"),
            f"%x: {V}",
        ),
        program(constant("4.0", "e") + binary("multiply", "x", "e"), f"%x: {V}"),
    ),
    "repeated and unused work, an unused argument": (
        program(
            binary("add", "x", "x", "s")
            + binary("add", "x", "x", "t")
            + binary("divide", "x", "t", "dead")
            + binary("multiply", "s", "t")
        ),
        program(binary("add", "x", "x", "s") + binary("multiply", "s", "s"), f"%x: {V}"),
    ),
    "a broadcast in two steps": (
        program(
            broadcast("x", "s", "2", V, "tensor<1x1x4xf32>")
            + broadcast("s", "r", "0, 1, 2", "tensor<1x1x4xf32>", BLOCK),
            f"%x: {V}",
            BLOCK,
        ),
        program(broadcast("x", "r", "2", V, BLOCK), f"%x: {V}", BLOCK),
    ),
    "a sum with a kept extent of 1, broadcast": (
        program(
            reshape("x", "s", "tensor<2x3x1xf32>", "tensor<2x3xf32>")
            + broadcast("s", "r", "0, 1", "tensor<2x3xf32>", BLOCK),
            "%x: tensor<2x3x1xf32>",
            BLOCK,
        ),
        program(broadcast("x", "r", "0, 1, 2", "tensor<2x3x1xf32>", BLOCK), "%x: tensor<2x3x1xf32>", BLOCK),
    ),
    "a reshape in two steps": (
        program(
            reshape("x", "s", BLOCK, "tensor<6x4xf32>")
            + reshape("s", "r", "tensor<6x4xf32>", "tensor<24xf32>"),
            f"%x: {BLOCK}",
            "tensor<24xf32>",
        ),
        program(reshape("x", "r", BLOCK, "tensor<24xf32>"), f"%x: {BLOCK}", "tensor<24xf32>"),
    ),
    "a comparison turned round": (
        program(
            f"%p = stablehlo.compare GT, %x, %y, FLOAT : ({V}, {V}) -> tensor<4xi1>\n"
            f"%r = stablehlo.select %p, %x, %y : tensor<4xi1>, {V}\n"
        ),
        program(
            f"%p = stablehlo.compare LT, %y, %x : ({V}, {V}) -> tensor<4xi1>\n"
            f"%r = stablehlo.select %p, %x, %y : tensor<4xi1>, {V}\n"
        ),
    ),
    "the error function of CHLO and of HLO": (
        program(f"%r = chlo.erf %x : {V} -> {V}", f"%x: {V}"),
        program(
            f"%r = stablehlo.custom_call @mhlo.erf(%x) {{mhlo.attributes = {{}}, "
            f"mhlo.version = 1 : i64}} : ({V}) -> {V}",
            f"%x: {V}",
        ),
    ),
    "arguments that only the search tells apart": (sums("ab", "ba", "cd", "dc"), sums("dc", "cd", "ba", "ab")),
}

# Two programs that differ, whatever their arguments are called.
DIFFERENT = {
    "a changed constant": (
        program(constant("2.0", "c") + binary("multiply", "x", "c"), f"%x: {V}"),
        program(constant("2.00000024", "c") + binary("multiply", "x", "c"), f"%x: {V}"),
    ),
    "a changed precision": (
        program(dot("x", "y"), TWO, M),
        program(dot("x", "y", precision="DEFAULT"), TWO, M),
    ),
    "other contracting dimensions": (
        program(dot("x", "y"), TWO, M),
        program(dot("x", "y", "[1] x [1]"), TWO, M),
    ),
    "another shape": (
        program(binary("add", "x", "x"), f"%x: {V}"),
        program(binary("add", "x", "x", of="tensor<5xf32>"), "%x: tensor<5xf32>", "tensor<5xf32>"),
    ),
    "another element type": (
        program(binary("add", "x", "x"), f"%x: {V}"),
        program(binary("add", "x", "x", of="tensor<4xbf16>"), "%x: tensor<4xbf16>", "tensor<4xbf16>"),
    ),
    "roles exchanged where they matter: (x - y) / x against (y - x) / x": (
        program(binary("subtract", "x", "y", "s") + binary("divide", "s", "x")),
        program(binary("subtract", "y", "x", "s") + binary("divide", "s", "x")),
    ),
    "the same operations wired otherwise": (
        program(binary("add", "x", "y", "s") + binary("multiply", "s", "x", "t") + binary("divide", "t", "s")),
        program(binary("add", "x", "y", "s") + binary("multiply", "s", "x", "t") + binary("divide", "s", "t")),
    ),
    "alike to colour refinement: cycles of two against a cycle of four": (
        sums("ab", "ba", "cd", "dc"),
        sums("ab", "bc", "cd", "da"),
    ),
    "alike to colour refinement: other pairs are added": (
        sums("ab", "ba", "cd", "dc"),
        sums("ab", "cd", "ba", "dc"),
    ),
    "x + 0 is not x for a negative zero": (
        program(constant("0.0", "c") + binary("add", "x", "c", "s") + binary("divide", "y", "s")),
        program(binary("divide", "y", "x")),
    ),
    "a transpose is more than a reshape": (
        program(f"%s = stablehlo.transpose %x, dims = [1, 0] : ({M}) -> {M}\n" + dot("s", "x"), f"%x: {M}", M),
        program(dot("x", "x"), f"%x: {M}", M),
    ),
    "another direction of comparison": (
        program(
            f"%p = stablehlo.compare GT, %x, %y, FLOAT : ({V}, {V}) -> tensor<4xi1>\n"
            f"%r = stablehlo.select %p, %x, %y : tensor<4xi1>, {V}\n"
        ),
        program(
            f"%p = stablehlo.compare GE, %x, %y, FLOAT : ({V}, {V}) -> tensor<4xi1>\n"
            f"%r = stablehlo.select %p, %x, %y : tensor<4xi1>, {V}\n"
        ),
    ),
}

REDUCED = """module @m {
func.func public @main(%x: tensor<2x4xf32>) -> tensor<2xf32> {
%c = stablehlo.constant dense<0.0> : tensor<f32>
%r = stablehlo.reduce(%x init: %c) applies stablehlo.KIND across dimensions = [1] :
  (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
return %r : tensor<2xf32>
}
}
"""
DIFFERENT["another combiner of a reduction"] = (
    REDUCED.replace("KIND", "add"),
    REDUCED.replace("KIND", "maximum"),
)
