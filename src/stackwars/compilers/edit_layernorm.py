"""Layer normalisation spelled as batch_norm_training, rewritten as arithmetic on the last axis.

A front end that reshapes [..., rows, k] to [1, rows of all, k] and normalises "features" of axis 1
computes a layer normalisation without its scale and offset.
"""

from __future__ import annotations

from typing import Any

from stackwars.compilers import stablehlo
from stackwars.compilers.arguments import Entry


def apply(module: Any, entries: list[Entry]) -> list[Entry]:
    """Replace every such batch_norm_training; raises ValueError where the module has none."""
    found = [op for op in stablehlo.named(module, "stablehlo.batch_norm_training") if _is_row_wise(op)]
    if not found:
        raise ValueError(
            "expected a program with batch_norm_training over single rows; this has none: no edit to make"
        )
    for op in found:
        _replace(op)
    return entries


def _is_row_wise(op: Any) -> bool:
    """Whether each feature has one row of its own, scale 1, offset 0, and only the output is used."""
    from jaxlib.mlir import ir

    x, scale, offset = op.operands
    extents = stablehlo.shape(x)
    return (
        len(extents) == 3
        and extents[0] == 1
        and ir.IntegerAttr(op.attributes["feature_index"]).value == 1
        and stablehlo.splat_value(scale) == 1
        and stablehlo.splat_value(offset) == 0
        and not any(stablehlo.users(result) for result in op.results[1:])
    )


def _replace(op: Any) -> None:
    from jaxlib.mlir import ir

    x, output = op.operands[0], op.results[0]
    source = _before_reshape(x)
    epsilon = ir.FloatAttr(op.attributes["epsilon"]).value
    with ir.InsertionPoint(op):
        result = _normalised(source, epsilon)
        for user, _ in stablehlo.users(output):
            if user.name == "stablehlo.reshape" and user.results[0].type == result.type:
                user.results[0].replace_all_uses_with(result)
                user.erase()
        if stablehlo.users(output):
            output.replace_all_uses_with(stablehlo.make("stablehlo.reshape", output.type, [result]))
    op.erase()
    if source != x and not stablehlo.users(x):
        x.owner.erase()


def _before_reshape(x: Any) -> Any:
    """What was reshaped to x, if its rows are x's rows; else x."""
    op = stablehlo.producer(x)
    if op is None or op.name != "stablehlo.reshape":
        return x
    source = op.operands[0]
    return source if stablehlo.shape(source)[-1:] == stablehlo.shape(x)[-1:] else x


def _normalised(x: Any, epsilon: float) -> Any:
    """(x - mean) / sqrt(mean of squares - mean squared + epsilon): as XLA expands batch_norm_training."""
    from jaxlib.mlir import ir

    extents = stablehlo.shape(x)
    rows, last = extents[:-1], len(extents) - 1
    row, full = stablehlo.tensor(rows, x), x.type

    def mean(value: Any) -> Any:
        zero = stablehlo.constant(0.0, x)
        dimensions = ir.Attribute.parse(stablehlo.integers([last]))
        sum_ = ir.Operation.create(
            "stablehlo.reduce", [row], [value, zero], {"dimensions": dimensions}, regions=1
        )
        scalar = stablehlo.tensor((), x)
        block = ir.Block.create_at_start(sum_.regions[0], [scalar, scalar])
        with ir.InsertionPoint(block):
            added = stablehlo.make("stablehlo.add", scalar, block.arguments)
            ir.Operation.create("stablehlo.return", [], [added])
        count = stablehlo.constant(float(extents[-1]), x, rows)
        return stablehlo.make("stablehlo.divide", row, [sum_.results[0], count])

    def along(value: Any) -> Any:
        dims = stablehlo.integers(range(last))
        return stablehlo.make("stablehlo.broadcast_in_dim", full, [value], broadcast_dimensions=dims)

    mean_x = mean(x)
    mean_squares = mean(stablehlo.make("stablehlo.multiply", full, [x, x]))
    squared_mean = stablehlo.make("stablehlo.multiply", row, [mean_x, mean_x])
    variance = stablehlo.make("stablehlo.subtract", row, [mean_squares, squared_mean])
    shifted = stablehlo.make("stablehlo.add", row, [variance, stablehlo.constant(epsilon, x, rows)])
    factor = along(stablehlo.make("stablehlo.rsqrt", row, [shifted]))
    centred = stablehlo.make("stablehlo.subtract", full, [x, along(mean_x)])
    return stablehlo.make("stablehlo.multiply", full, [centred, factor])
