"""What a picture of a program says about one operation: its kind, and a line of text."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from stackwars.ir import module

KINDS = ("argument", "constant", "compute", "layout", "product", "reduction", "result")
PRODUCTS = {"dot_general", "dot", "convolution"}
REDUCTIONS = {"reduce", "reduce_window", "batch_norm_training", "batch_norm_inference"}
# These move numbers and change none.
LAYOUT = {
    "reshape", "transpose", "broadcast_in_dim", "slice", "dynamic_slice", "dynamic_update_slice",
    "concatenate", "pad", "reverse", "gather",
}  # fmt: skip
COMMUTES = {"add", "multiply", "maximum", "minimum", "and", "or", "xor"}
INPUT = "\u00b7"  # stands for an operand that comes by an arrow
FOLDED = 28  # characters of a constant expression that still go into a label
_INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_COMPARE = {"EQ": "==", "NE": "!=", "GE": ">=", "GT": ">", "LE": "<=", "LT": "<"}
_IDENTITY = {"add": "0", "multiply": "1", "maximum": "-inf", "minimum": "inf", "or": "false"}


def short(op: ir.Operation) -> str:
    """An operation's name without its dialect; of a custom call, what it calls."""
    if op.name == "stablehlo.custom_call":
        return ir.StringAttr(op.attributes["call_target_name"]).value.rpartition(".")[2]
    return op.name.rpartition(".")[2]


def kind(op: ir.Operation) -> str:
    """One of KINDS, `compute` for all that is not listed."""
    name = short(op)
    for found, names in (
        ("product", PRODUCTS), ("reduction", REDUCTIONS), ("layout", LAYOUT),
        ("constant", {"constant", "iota"}),
    ):  # fmt: skip
        if name in names:
            return found
    return "compute"


def ordered(op: ir.Operation) -> bool:
    """Whether the operation means something else with its operands exchanged."""
    return short(op) not in COMMUTES


def shape(value: ir.Value) -> str:
    """Extents like 128x64x256, `scalar` without any; the element type too where it is not f32."""
    if not module.is_tensor(value):
        return str(value.type)
    extents = "x".join(map(str, module.shape(value))) or "scalar"
    element = module.element(value)
    return extents if element == "f32" else f"{extents} {element}"


def constant(op: ir.Operation, sources: list[int | str]) -> str | None:
    """The one value that fills the operation's result, as text, where it depends on no argument.

    None for a result of several values, and for an expression too long for a label.
    """
    name = short(op)
    if name == "constant":
        values = ir.DenseElementsAttr(op.attributes["value"])
        return _number(values.get_splat_value()) if values.is_splat else None
    if not sources or not all(isinstance(source, str) for source in sources) or op.regions:
        return None
    texts = [str(source) for source in sources]
    if name in ("broadcast_in_dim", "reshape", "transpose", "convert", "slice"):
        return texts[0]
    if kind(op) != "compute" or len(op.results) != 1:
        return None
    infix = _COMPARE[_direction(op)] if name == "compare" else _INFIX.get(name)
    if infix and len(texts) == 2:
        left, right = (f"({text})" if " " in text else text for text in texts)
        found = f"{left} {infix} {right}"
    else:
        found = f"{name}({', '.join(texts)})"
    return found if len(found) <= FOLDED else None


def label(op: ir.Operation, sources: list[int | str]) -> str:
    """The operation with what a reader needs to know of its attributes and constant operands."""
    name = short(op)
    if name == "reduce":
        body = op.regions[0].blocks[0].operations[0].operation
        start = sources[-1]
        first = "" if not isinstance(start, str) or start == _IDENTITY.get(short(body)) else start
        return f"reduce {short(body)} over {_integers(op, 'dimensions')}" + (f" from {first}" if first else "")
    if name == "transpose":
        return f"transpose {_integers(op, 'permutation')}"
    if name == "dot_general":
        numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
        batch = _pair(numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions)
        over = _pair(numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions)
        return f"dot_general {over}" + (f" batch {batch}" if batch else "")
    if name == "compare":
        name = f"compare {_direction(op)}"
    if name == "slice":
        return f"slice {_bounds(op)}"
    if len(sources) == 2 and isinstance(sources[0], int) and sources[0] == sources[1]:
        return f"{name} by itself"
    if any(isinstance(source, str) for source in sources):
        listed = (source if isinstance(source, str) else INPUT for source in sources)
        name = f"{name}({', '.join(listed)})"
    if "feature_index" in op.attributes:
        epsilon = _number(op.attributes["epsilon"])
        name += f" feature {_number(op.attributes['feature_index'])} epsilon {epsilon}"
    return name


def _number(value: ir.Attribute) -> str:
    if isinstance(value, ir.FloatAttr):
        return f"{value.value:.6g}"
    if isinstance(value, ir.BoolAttr):
        return str(value.value).lower()
    return str(value).split(" : ")[0]


def _direction(op: ir.Operation) -> str:
    return stablehlo.ComparisonDirectionAttr(op.attributes["comparison_direction"]).value


def _integers(op: ir.Operation, key: str) -> str:
    return ", ".join(str(i) for i in ir.DenseI64ArrayAttr(op.attributes[key]))


def _bounds(op: ir.Operation) -> str:
    """Where the slice begins and ends in the dimensions that it does not take whole."""
    starts, limits = (list(ir.DenseI64ArrayAttr(op.attributes[f"{key}_indices"])) for key in ("start", "limit"))
    extents = module.shape(op.operands[0])
    cut = zip(starts, limits, extents, strict=True)
    parts = [f"{a}:{b} of {extent}" for a, b, extent in cut if b - a < extent]
    return ", ".join(parts)


def _pair(left: list[int], right: list[int]) -> str:
    sides = (",".join(map(str, side)) for side in (left, right))
    return "[{}] x [{}]".format(*sides) if left else ""
