"""Write small StableHLO programs; pairs of them are two spellings of one program, or two programs that look alike."""

import re

TYPES = {"V": "tensor<4xf32>", "M": "tensor<4x4xf32>", "B": "tensor<2x3x4xf32>", "P": "tensor<4xi1>"}


def program(body: str, arguments: str = "%x: V, %y: V", result: str = "V", more: str = "", **types: str) -> str:
    """Return a module whose main has these operations, of StableHLO if they have no dialect, and returns %r.

    types: letters that stand for types in the program, as those of TYPES do.
    """
    lines = re.sub(r"= (?!call )(?=[a-z][a-z_0-9]* )", "= stablehlo.", body.replace("; ", "\n"))
    main = f"func.func public @main({arguments}) -> {result} {{\n{lines}\nreturn %r : {result}\n}}"
    known = TYPES | types
    return re.sub(
        r"\b[A-Z]\b", lambda found: known.get(found[0], found[0]), f"module @m {{\n{main}\n{more}\n}}\n"
    )


def of_x(body: str, kind: str = "V", result: str = "T") -> str:
    """Return a program of one argument, whose type T is."""
    return program(body, "%x: T", result, T=TYPES.get(kind, kind))


def product(axes: str = "[1] x [0]", precision: str = "HIGHEST") -> str:
    return f"%r = dot_general %s, %x, contracting_dims = {axes}, precision = [{precision}, {precision}] : (M, M) -> M"


def square(axes: str = "[1] x [0]", precision: str = "HIGHEST") -> str:
    return of_x(product(axes, precision).replace("%s", "%x"), "M")


def sums(*pairs: str) -> str:
    """Return the sum of four differences, added in pairs; each pair is two names of arguments."""
    parts = "; ".join(f"%t{i} = subtract %{one}, %{other} : V" for i, (one, other) in enumerate(pairs))
    adds = "%u = add %t0, %t1 : V; %v = add %t2, %t3 : V; %r = add %u, %v : V"
    return program(f"{parts}; {adds}", "%a: V, %b: V, %c: V, %d: V")


def compared(text: str) -> str:
    return program(f"%p = compare {text} : (V, V) -> P; %r = select %p, %x, %y : P, V")


def reduced(kind: str) -> str:
    zero = "%c = constant dense<0.0> : tensor<f32>"
    how = f"applies stablehlo.{kind} across dimensions = [0] : (V, tensor<f32>) -> tensor<f32>"
    return of_x(f"{zero}; %r = stablehlo.reduce(%x init: %c) {how}", "V", "tensor<f32>")


# name -> (one spelling, the other)
SAME = {
    "names, order of arguments": (
        program("%r = subtract %x, %y : V"),
        program("%r = subtract %right, %left : V", "%left: V, %right: V"),
    ),
    "operands of an addition": (
        program("%s = multiply %x, %x : V; %r = add %s, %y : V"),
        program("%s = multiply %x, %x : V; %r = add %y, %s : V"),
    ),
    "order of independent operations": (
        program("%s = multiply %x, %x : V; %t = add %y, %y : V; %r = divide %s, %t : V"),
        program("%t = add %y, %y : V; %s = multiply %x, %x : V; %r = divide %s, %t : V"),
    ),
    "a call": (
        program(
            "%r = call @f(%x) : (V) -> V", "%x: V",
            more="func.func private @f(%p: V) -> V {\n%s = stablehlo.add %p, %p : V\nreturn %s : V\n}",
        ),
        of_x("%r = add %x, %x : V"),
    ),
    "a constant of one value": (
        of_x(
            "%c = constant dense<2.0> : tensor<f32>; %d = broadcast_in_dim %c, dims = [] : (tensor<f32>) -> V; "
            "%r = multiply %x, %d : V"
        ),
        of_x("%d = constant dense<2.0> : V; %r = multiply %x, %d : V"),
    ),
    "arithmetic on constants": (
        of_x(
            "%c = constant dense<5.0> : V; %d = constant dense<1.0> : V; %e = subtract %c, %d : V; "
            "%r = multiply %x, %e : V"
        ),
        of_x("%e = constant dense<4.0> : V; %r = multiply %x, %e : V"),
    ),
    "repeated and unused work, an unused argument": (
        program(
            "%s = add %x, %x : V; %t = add %x, %x : V; %dead = divide %x, %t : V; %r = multiply %s, %t : V"
        ),
        of_x("%s = add %x, %x : V; %r = multiply %s, %s : V"),
    ),
    "a broadcast in two steps": (
        of_x(
            "%s = broadcast_in_dim %x, dims = [2] : (V) -> tensor<1x1x4xf32>; "
            "%r = broadcast_in_dim %s, dims = [0, 1, 2] : (tensor<1x1x4xf32>) -> B", "V", "B",
        ),
        of_x("%r = broadcast_in_dim %x, dims = [2] : (V) -> B", "V", "B"),
    ),
    "a sum with a kept extent of 1, broadcast": (
        of_x(
            "%s = reshape %x : (tensor<2x3x1xf32>) -> tensor<2x3xf32>; "
            "%r = broadcast_in_dim %s, dims = [0, 1] : (tensor<2x3xf32>) -> B", "tensor<2x3x1xf32>", "B",
        ),
        of_x("%r = broadcast_in_dim %x, dims = [0, 1, 2] : (tensor<2x3x1xf32>) -> B", "tensor<2x3x1xf32>", "B"),
    ),
    "a reshape in two steps": (
        of_x(
            "%s = reshape %x : (B) -> tensor<6x4xf32>; %r = reshape %s : (tensor<6x4xf32>) -> tensor<24xf32>",
            "B", "tensor<24xf32>",
        ),
        of_x("%r = reshape %x : (B) -> tensor<24xf32>", "B", "tensor<24xf32>"),
    ),
    "a comparison turned round": (compared("GT, %x, %y, FLOAT"), compared("LT, %y, %x")),
    "the error function of CHLO and of HLO": (
        of_x("%r = chlo.erf %x : V -> V"),
        of_x(
            "%r = stablehlo.custom_call @mhlo.erf(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (V) -> V"
        ),
    ),
    "arguments that only the search tells apart": (sums("ab", "ba", "cd", "dc"), sums("dc", "cd", "ba", "ab")),
}  # fmt: skip

# Two programs that differ, whatever their arguments are called.
DIFFERENT = {
    "a changed constant": (
        of_x("%c = constant dense<2.0> : V; %r = multiply %x, %c : V"),
        of_x("%c = constant dense<2.00000024> : V; %r = multiply %x, %c : V"),
    ),
    "a changed precision": (square(), square(precision="DEFAULT")),
    "other contracting dimensions": (square(), square("[1] x [1]")),
    "another type": (of_x("%r = add %x, %x : V"), of_x("%r = add %x, %x : tensor<4xbf16>", "tensor<4xbf16>")),
    "roles exchanged where they matter: (x - y) / x against (y - x) / x": (
        program("%s = subtract %x, %y : V; %r = divide %s, %x : V"),
        program("%s = subtract %y, %x : V; %r = divide %s, %x : V"),
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
        program("%c = constant dense<0.0> : V; %s = add %x, %c : V; %r = divide %y, %s : V"),
        program("%r = divide %y, %x : V"),
    ),
    "a transpose is more than a reshape": (
        of_x(f"%s = transpose %x, dims = [1, 0] : (M) -> M; {product()}", "M"),
        square(),
    ),
    "another direction of comparison": (compared("GT, %x, %y, FLOAT"), compared("GE, %x, %y, FLOAT")),
    "another combiner of a reduction": (reduced("add"), reduced("maximum")),
}
