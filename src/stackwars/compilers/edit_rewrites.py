"""The edits that rewrite a program's structure; `edits` has the list.

Layer normalisation: a front end that reshapes [..., rows, k] to [1, rows of all, k] and normalises "features" of
axis 1 computes a layer normalisation without its scale and offset.

Weights: one kept as (out, in) is transposed in every call, or contracted along its rows; which XLA does what, and
what it costs, is the compiler's business. Only arguments that are weights are changed, and their axes in
arguments.json with them: the values stay the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from stackwars.compilers import stablehlo
from stackwars.compilers.arguments import Entry


def spell_out_layernorm(module: Any, entries: list[Entry]) -> list[Entry]:
    """Replace every layer normalisation spelled as batch_norm_training by arithmetic on the last axis.

    Raises ValueError if the module has none.
    """
    result = [op for op in stablehlo.named(module, "stablehlo.batch_norm_training") if _is_row_wise(op)]
    if not result:
        raise ValueError(
            "expected a program with batch_norm_training over single rows; this has none: no edit to make"
        )
    for op in result:
        _replace_layernorm(op)
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


def _replace_layernorm(op: Any) -> None:
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
    """Return the value that was reshaped to x if it has x's rows, else x."""
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


def pretranspose_weights(module: Any, entries: list[Entry]) -> list[Entry]:
    """Transpose every weight whose readers all want it in the same other order of axes.

    Raises ValueError where there is none (a weight with a second reader that wants it as it is,
    such as a token embedding's look-up, stays), and for entries that are not this program's.
    """
    from jaxlib.mlir import ir

    main = stablehlo.main_function(module)
    parameters = main.regions[0].blocks[0].arguments
    if len(parameters) != len(entries):
        raise ValueError(f"expected {len(parameters)} entries, one an argument; got {len(entries)}")
    after = list(entries)
    for i, (parameter, entry) in enumerate(zip(parameters, entries, strict=True)):
        order = _wanted(parameter) if _is_weight(parameter, entry) else None
        if order is not None:
            _transpose(parameter, order)
            after[i] = replace(entry, axes=tuple(entry.axes[axis] for axis in order))
    if after == entries:
        raise ValueError("expected a program that transposes a weight; this transposes none: no edit to make")
    results = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results
    signature = ir.FunctionType.get([parameter.type for parameter in parameters], results)
    main.attributes["function_type"] = ir.TypeAttr.get(signature)
    return after


def _is_weight(parameter: Any, entry: Entry) -> bool:
    """Whether the argument is a weight with one axis of the program for each of its own."""
    transposed = tuple(entry.shape[axis] for axis in entry.axes)
    return entry.kind == "weight" and transposed == stablehlo.shape(parameter)


def _wanted(parameter: Any) -> tuple[int, ...] | None:
    """The order of axes that every reader wants; None if they differ or have it already."""
    orders = {_wanted_by(op, operand) for op, operand in stablehlo.users(parameter)}
    order = orders.pop() if len(orders) == 1 else None
    return None if order is None or order == tuple(sorted(order)) else order


def _wanted_by(op: Any, operand: int) -> tuple[int, ...] | None:
    """The order of axes that a reader wants; None for a reader that is not one of the three."""
    if op.name == "stablehlo.transpose":
        return _ints(op.attributes["permutation"])
    if op.name == "stablehlo.dot_general" and operand == 1:
        from jaxlib.mlir.dialects import stablehlo as dialect

        numbers = dialect.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
        contracted = tuple(numbers.rhs_contracting_dimensions)
        if numbers.rhs_batching_dimensions or len(contracted) != 1:
            return None
        rank = len(stablehlo.shape(op.operands[1]))
        return contracted + tuple(axis for axis in range(rank) if axis not in contracted)
    if op.name == "stablehlo.convolution" and operand == 1:
        numbers = _convolution(op)
        return (
            *numbers.kernel_spatial_dimensions,
            numbers.kernel_input_feature_dimension,
            numbers.kernel_output_feature_dimension,
        )
    return None


def _transpose(parameter: Any, order: Sequence[int]) -> None:
    """Give the argument this order of axes, and tell its readers."""
    from jaxlib.mlir import ir

    extents = stablehlo.shape(parameter)
    readers = stablehlo.users(parameter)
    parameter.set_type(stablehlo.tensor([extents[axis] for axis in order], parameter))
    for op, _ in readers:
        if op.name == "stablehlo.transpose":
            op.results[0].replace_all_uses_with(parameter)
            op.erase()
        elif op.name == "stablehlo.dot_general":
            _contract_first(op)
        else:
            rank = len(_convolution(op).kernel_spatial_dimensions)
            kernel = "x[" + ", ".join([*map(str, range(rank)), "i", "o"]) + "]"
            before = str(op.attributes["dimension_numbers"])
            start, end = before.index("]x[") + 1, before.index("]->") + 1
            text = before[:start] + kernel + before[end:]
            op.attributes["dimension_numbers"] = ir.Attribute.parse(text)


def _contract_first(op: Any) -> None:
    from jaxlib.mlir.dialects import stablehlo as dialect

    numbers = dialect.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    op.attributes["dot_dimension_numbers"] = dialect.DotDimensionNumbers.get(
        lhs_batching_dimensions=[],
        rhs_batching_dimensions=[],
        lhs_contracting_dimensions=list(numbers.lhs_contracting_dimensions),
        rhs_contracting_dimensions=[0],
    )


def _convolution(op: Any) -> Any:
    from jaxlib.mlir.dialects import stablehlo as dialect

    return dialect.ConvDimensionNumbers(op.attributes["dimension_numbers"])


def _ints(attribute: Any) -> tuple[int, ...]:
    from jaxlib.mlir import ir

    return tuple(ir.DenseI64ArrayAttr(attribute))
