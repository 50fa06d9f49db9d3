"""A StableHLO program by the MLIR bindings of a jaxlib: read, walk, print, write for other releases, interpret.

Runs in an environment with jaxlib, as a module of the tables' jobs and in a worker.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
from jaxlib import xla_client
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, mhlo, sdy, stablehlo
from jaxlib.mlir.passmanager import PassManager

from stackwars.core.compilers import ARTIFACT, function_type
from stackwars.core.program_text import LEGALISE, missing_reason, place, refusal
from stackwars.core.types import DTYPES, NUMPY, redrawn

NEEDED_ATTRIBUTES = {"mhlo.attributes", "mhlo.version"}
"""Attributes of a dialect without which XLA does not know a custom call."""
MOST_LISTED = 16
"""Most integers or truth values of a constant that is no table of weights or indices."""
_register_passes = cache(stablehlo.register_stablehlo_passes)
LOOP = 100
"""Number of times that a loop is assumed to run."""

# Their bodies are programs of their own; any other region is the scalar combiner of a reduction.
CONTROL_FLOW = {"stablehlo.while", "stablehlo.case", "stablehlo.if"}
DOT, CONSTANT, CONVOLUTION = "stablehlo.dot_general", "stablehlo.constant", "stablehlo.convolution"
RESHAPE, TRANSPOSE, BROADCAST = "stablehlo.reshape", "stablehlo.transpose", "stablehlo.broadcast_in_dim"


class ProgramError(ValueError):
    """The text is not a StableHLO program that this version of the bindings can read."""


@cache
def _context() -> ir.Context:
    # Registers the dialects that jax's own, private make_ir_context() registers, without importing jax.
    context, registry = ir.Context(), ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    stablehlo.register_dialect(context)
    chlo.register_dialect(context)
    mhlo.register_mhlo_dialect(context)
    sdy.register_dialect(context)
    return context


def read(data: bytes) -> ir.Module:
    """Return the program of a file: text, MLIR bytecode, a portable artifact of StableHLO, or VHLO.

    Its only public function becomes its `main`, whatever its name.

    :raises ProgramError: see `parse`.
    """
    if not data.startswith(ARTIFACT):
        module = parse(data.decode(errors="replace"))
    else:
        try:
            if b"StableHLO_v" in data[:64]:
                module = stablehlo.deserialize_portable_artifact(_context(), data)
            else:
                module = ir.Module.parse(data, _context())
        except Exception as error:
            raise ProgramError(f"expected bytecode of StableHLO, the parser stopped with: {error}") from None
    if any(op.operation.name == "vhlo.func_v1" for op in module.body.operations):
        newest = stablehlo.get_current_version()
        run_passes(module, f"builtin.module(vhlo-to-version{{target={newest}}},vhlo-legalize-to-stablehlo)")
    visibility = "sym_visibility"
    public = [
        function
        for function in functions(module)
        if visibility not in function.attributes or "private" not in str(function.attributes[visibility])
    ]
    if len(public) == 1 and name(public[0]) != "main":
        with module.context:
            ir.SymbolTable.replace_all_symbol_uses(name(public[0]), "main", module.operation)
            ir.SymbolTable.set_symbol_name(public[0], "main")
    return module


def parse(text: str) -> ir.Module:
    """Return the program of a text in MLIR's assembly form.

    :raises ProgramError: with the parser's first complaint and its line, or with the reason in a file that holds no
        program.
    """
    reason = missing_reason(text)
    if reason is not None:
        raise ProgramError(f"expected a StableHLO program, got a file that says why there is none: {reason}")
    if (why := refusal(text)).startswith("expected"):
        raise ProgramError(why)
    try:
        return ir.Module.parse(text, _context())
    except ir.MLIRError as error:
        complaint = next(map(_complaint, error.error_diagnostics), str(error))
        raise ProgramError(
            f"expected StableHLO text, the parser stopped with: {complaint}. The text begins with "
            f"{text[:60]!r}; fix: measure the cell that wrote it again"
        ) from None


def _complaint(diagnostic: ir.DiagnosticInfo) -> str:
    line = re.search(r":(\d+):\d+", str(diagnostic.location))
    return f"line {line[1]}: {diagnostic.message}" if line else diagnostic.message


def pretty(data: bytes) -> str:
    """Return the program of a file in the short form of its dialects."""
    return str(read(data))


def generic(data: bytes) -> dict[str, object]:
    """Return the program of a file in generic form, and facts of every operation of its functions.

    {"text"; "functions": {name: [{"place", "terms", "work"} of each operation, in order]}; "names": of all operations}.
    terms: the most that one element of a result sums, in nested operations and called functions too. work: the
    scalar operations of a call, in which a loop's body counts LOOP times.
    """
    module = read(data)
    facts = _Facts(module)
    return {
        "text": module.operation.get_asm(print_generic_op_form=True),
        "functions": {
            name(function): [
                {"place": place(str(op.location)), **dict(zip(("terms", "work"), facts.of(op), strict=True))}
                for op in operations(function)
            ]
            for function in functions(module)
        },
        "names": sorted(facts.names),
    }


class _Facts:
    """Numbers of the terms that operations sum and of scalar operations, nested ones included."""

    def __init__(self, module: ir.Module) -> None:
        self.names: set[str] = set()
        self._functions = {name(function): function for function in functions(module)}
        self._called: dict[str, tuple[int, int]] = {}

    def of(self, op: ir.Operation) -> tuple[int, int]:
        self.names.add(op.name)
        if op.name == "func.call":
            return self._call(callee(op))
        terms, work = _convolved(op) if op.name == CONVOLUTION else (_terms(op), 0)
        work = work or terms * max((_elements(result) for result in op.results), default=0)
        times = LOOP if op.name == "stablehlo.while" else 1
        for inner in nested(op):
            inner_terms, inner_work = self.of(inner)
            terms, work = max(terms, inner_terms), work + times * inner_work
        return terms, work

    def _call(self, wanted: str) -> tuple[int, int]:
        if wanted not in self._called:
            pairs = [self.of(op) for op in operations(self._functions[wanted])]
            self._called[wanted] = max((terms for terms, _ in pairs), default=1), sum(work for _, work in pairs)
        return self._called[wanted]


def _terms(op: ir.Operation) -> int:
    """Return how many terms each element of an operation's own results sums; 1 if it sums none."""
    if op.name == DOT:
        return math.prod(shape(op.operands[0])[axis] for axis in dimensions(op).lhs_contracting_dimensions)
    if op.name == "stablehlo.reduce":
        return max(1, _elements(op.operands[0]) // max(1, _elements(op.results[0])))
    if op.name == "stablehlo.reduce_window":
        return math.prod(op.attributes["window_dimensions"])
    return 1


def _convolved(op: ir.Operation) -> tuple[int, int]:
    """Return (the most products that an element of a convolution sums, the products of all elements).

    Products with the zeros of a dilated or padded input are not counted.
    """
    values = (*op.operands, op.results[0])
    if not all(map(_elements, values)):
        return 1, 0
    image, kernel, result = map(shape, values)
    numbers = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    axes = len(numbers.input_spatial_dimensions)

    def window(name: str, default: int) -> list[int]:
        listed = op.attributes[name] if name in op.attributes else [default] * axes
        return np.array(listed).reshape(axes, -1)[:, 0].tolist()

    steps = (window("window_strides", 1), window("rhs_dilation", 1), window("lhs_dilation", 1))
    most, total = 1, result[numbers.output_batch_dimension] * result[numbers.output_feature_dimension]
    spatial = zip(
        *(numbers.input_spatial_dimensions, numbers.kernel_spatial_dimensions),
        *(numbers.output_spatial_dimensions, window("padding", 0), *steps),
        strict=True,
    )
    for source, taps, target, padding, stride, spread, dilation in spatial:
        products = np.zeros(result[target], np.int64)
        for tap in range(kernel[taps]):
            place = np.arange(result[target]) * stride + tap * spread - padding
            products += (place >= 0) & (place % dilation == 0) & (place // dilation < image[source])
        most, total = most * int(products.max(initial=0)), total * int(products.sum())
    features = kernel[numbers.kernel_input_feature_dimension]
    return max(1, most * features), total * features


def _elements(value: ir.Value) -> int:
    return (
        math.prod(shape(value)) if is_tensor(value) and ir.RankedTensorType(value.type).has_static_shape else 0
    )


def run_passes(module: ir.Module, pipeline: str) -> None:
    """Run a pipeline of passes, StableHLO's among them, on a module in place."""
    with module.context:
        _register_passes()
        PassManager.parse(pipeline).run(module.operation)


def portable(text: str) -> tuple[bytes, str]:
    """Return the portable artifact of a program, and the version of StableHLO that it is in.

    The version is the oldest that has all of the program's operations, at best 1.0.0: StableHLO guarantees for five
    years that it can be read. CHLO has no such guarantee and is legalised first.

    :raises ProgramError: with MLIR's message if it is in no version.
    """
    module, problem = parse(text), ""
    run_passes(module, LEGALISE)
    with module.context:
        for minor in range(int(stablehlo.get_current_version().split(".")[1]) + 1):
            version = f"1.{minor}.0"
            try:
                return stablehlo.serialize_portable_artifact(module, version), version
            except Exception as error:
                problem = str(error)
    raise ProgramError(f"expected operations of StableHLO, got {problem}; fix: legalise or replace them")


def from_hlo(proto: bytes) -> str:
    """Return the StableHLO text of a module that XLA dumped as an HloProto.

    :raises ProgramError: for other bytes, and operations that StableHLO does not have.
    """
    # The module is the first field: a tag, its length in groups of seven bits, its bytes.
    start, length = 1, 0
    while start < len(proto):
        length |= (proto[start] & 127) << 7 * (start - 1)
        start += 1
        if proto[start - 1] < 128:
            break
    try:
        data = xla_client._xla.mlir.hlo_to_stablehlo(proto[start : start + length])
        module = ir.Module.parse(data, _context())
        # Its products are of a deprecated form.
        run_passes(module, "builtin.module(func.func(stablehlo-legalize-deprecated-ops))")
        return str(module)
    except Exception as error:
        raise ProgramError(f"expected an HLO module, XLA stopped with: {error}") from None


def interpret(text: str, arrays: Iterable[np.ndarray]) -> list[np.ndarray]:
    """Return the results of a program by the StableHLO reference interpreter.

    arrays: the values of its arguments, which are converted to their types. An operation that the interpreter does not
    have (`evaluate.NOT_INTERPRETED`) ends the process.
    """
    module = parse(text)
    run_passes(module, "builtin.module(func.func(chlo-legalize-to-stablehlo))")
    with module.context:
        kinds = map(ir.RankedTensorType, function_type(module, ir).inputs)
        values = [_attribute(array, kind) for array, kind in zip(arrays, kinds, strict=True)]
        return [_array(ir.DenseElementsAttr(one)) for one in stablehlo.eval_module(module, values)]


def _attribute(array: np.ndarray, kind: ir.RankedTensorType) -> ir.Attribute:
    extents, dtype = list(kind.shape), DTYPES[str(kind.element_type)]
    values = np.array(array.reshape(extents), dtype, order="C")
    return ir.DenseElementsAttr.get(values, type=kind.element_type, shape=extents)


def _array(elements: ir.DenseElementsAttr) -> np.ndarray:
    return np.array(np.broadcast_to(np.array(elements), ir.RankedTensorType(elements.type).shape))


def anonymous(data: bytes) -> str:
    """Return the program of a file in the short form without names, locations and weights.

    Functions but main are f0, f1 and so on, and values v0, v1. Attributes of other dialects, of the module and of
    arguments are left out. Constants of several floats, and of more than MOST_LISTED other elements, are drawn again,
    see `types.redrawn`.

    :raises ProgramError: for such a constant that cannot be read.
    """
    module, rng = read(data), np.random.default_rng(0)
    with module.context, ir.Location.unknown():
        for key in attribute_names(module.operation):
            del module.operation.attributes[key]
        module.operation.attributes["sym_name"] = ir.StringAttr.get("part")
        # A new name may be another function's old one.
        for prefix in ("renamed_", "f"):
            private = (function for function in functions(module) if name(function) != "main")
            for number, function in enumerate(private):
                new = f"{prefix}{number}"
                ir.SymbolTable.replace_all_symbol_uses(name(function), new, module.operation)
                ir.SymbolTable.set_symbol_name(function, new)
        for op in everything(module.operation):
            for key in attribute_names(op):
                if key in ("arg_attrs", "res_attrs") or ("." in key and key not in NEEDED_ATTRIBUTES):
                    del op.attributes[key]
            if op.name == CONSTANT:
                _redraw(op, rng)
    order: dict[str, int] = {}
    return re.sub(r"%([\w$.-]+)", lambda match: f"%v{order.setdefault(match[1], len(order))}", str(module))


def _redraw(constant: ir.Operation, rng: np.random.Generator) -> None:
    kind = ir.RankedTensorType(constant.results[0].type)
    value, scalar = str(constant.attributes["value"].type), str(kind.element_type)
    try:
        elements = ir.DenseElementsAttr(constant.attributes["value"])
    except ValueError:
        raise ProgramError(
            f"expected a dense constant, got another one of {value}; fix: print it whole"
        ) from None
    is_number = scalar.startswith(("f", "bf", "complex"))
    if elements.is_splat or (not is_number and math.prod(kind.shape) <= MOST_LISTED):
        return
    if scalar not in NUMPY:
        raise ProgramError(f"expected constants of NumPy's types, got {value}; fix: give it as an argument")
    constant.attributes["value"] = _attribute(redrawn(_array(elements), rng), kind)


def functions(module: ir.Module) -> list[ir.Operation]:
    """Return all functions, in the text's order."""
    return [op.operation for op in module.body.operations if op.operation.name == "func.func"]


def entry(module: ir.Module) -> ir.Operation:
    """Return the function that a caller sees: `main`, or the only one. Raises ProgramError without it."""
    candidates = functions(module)
    for function in candidates:
        if name(function) == "main" or len(candidates) == 1:
            return function
    names = [name(function) for function in candidates]
    raise ProgramError(f"expected a function called main, got functions called {names}")


def name(function: ir.Operation) -> str:
    """Return a function's name, without the @."""
    return ir.StringAttr(function.attributes["sym_name"]).value


def block(function: ir.Operation) -> ir.Block:
    """Return the one block of a function: its arguments and its operations."""
    return function.regions[0].blocks[0]


def operations(function: ir.Operation) -> list[ir.Operation]:
    """Return a function's operations in program order, without nested ones."""
    return [op.operation for op in block(function).operations]


def nested(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the operations of an operation's regions, in order."""
    return (view.operation for region in op.regions for part in region.blocks for view in part.operations)


def everything(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yield all operations inside an operation."""
    for inner in nested(op):
        yield inner
        yield from everything(inner)


def attribute_names(op: ir.Operation) -> list[str]:
    # Older bindings iterate over pairs, later ones over the names.
    return [getattr(one, "name", one) for one in op.attributes]


def walk(function: ir.Operation) -> Iterator[ir.Operation]:
    """Yield operations in order, with those in loops and branches; no combiners, no terminators."""
    for op in nested(function):
        if op.name not in ("func.return", "stablehlo.return"):
            yield op
            if op.name in CONTROL_FLOW:
                yield from walk(op)


def producer(value: ir.Value) -> ir.Operation | None:
    """Return the operation whose result the value is; None for an argument of a function."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def dimensions(dot: ir.Operation) -> stablehlo.DotDimensionNumbers:
    """Return which dimensions of a dot_general are contracted, and which are batching ones."""
    return stablehlo.DotDimensionNumbers(dot.attributes["dot_dimension_numbers"])


def callee(call: ir.Operation) -> str:
    """Return the name of the function that a func.call calls, without the @."""
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def shape(value: ir.Value) -> tuple[int, ...]:
    """Return the extents of a tensor value; () for a scalar. Raises ProgramError for any other type."""
    return tuple(_tensor(value).shape)


def element(value: ir.Value) -> str:
    """Return the element type of a tensor value as StableHLO writes it: f32, bf16, i32."""
    return str(_tensor(value).element_type)


def is_tensor(value: ir.Value) -> bool:
    """Return whether the value is a tensor of known rank, and not a token or a tuple."""
    return isinstance(ir.Type(value.type).maybe_downcast(), ir.RankedTensorType)


def _tensor(value: ir.Value) -> ir.RankedTensorType:
    if not is_tensor(value):
        raise ProgramError(f"expected a tensor of known rank, {value.get_name()} is a {value.type}")
    return ir.RankedTensorType(value.type)
