"""Evaluate a StableHLO program without trusting a compiler's optimisations: the judge of every other result.

Small programs are evaluated by the StableHLO reference interpreter, operation by operation. Larger ones are compiled by
XLA with its optimisation passes and its library of kernels off. Both take the program in float64, in which float32
becomes float64, or as it is.

Runs in a compiler's environment with jaxlib 0.10.2, after `stackwars.compilers.xla.Compiler` has opened the device.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from stackwars.compilers.arguments import function_type
from stackwars.compilers.xla import Compiler
from stackwars.ir.element_types import DTYPES
from stackwars.ir.program_text import not_donated, readable, with_chlo_erf

INTERPRETED_WORK = 1e7
"""Most scalar operations that the interpreter is given: it takes a few microseconds for each."""
LOOP = 100
"""How often a loop is assumed to run."""
SMALL_PROGRAM = 200
"""Most operations of a program that is worth optimising by LLVM: larger ones take longer to compile than to run, unless
they have convolutions, which take 20 times as long as they are."""
NOT_INTERPRETED = {
    f"stablehlo.{name}"
    for name in (
        *(
            "batch_norm_grad",
            "batch_norm_inference",
            "batch_norm_training",
            "broadcast",
            "cholesky",
            "composite",
        ),
        *(
            "create_token",
            "custom_call",
            "dot",
            "einsum",
            "fft",
            "rng",
            "rng_bit_generator",
            "torch_index_select",
        ),
        *("set_dimension_size", "trace", "triangular_solve", "unary_einsum"),
    )
}
"""Operations at which the interpreter aborts the process (StableHLO issue 1571)."""
PASSES_OFF = {
    "xla_disable_hlo_passes": "algsimp,constant_folding,fusion,cpu-instruction-fusion,cse,reshape-mover,dot-merger,"
    "simplify-fp-conversions,while-loop-constant-sinking,while-loop-invariant-code-motion",
    "xla_cpu_experimental_ynn_fusion_type": "",
}
UNIT_ROUNDOFF = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
"""By element type, half of the distance between 1 and the next number."""
Evaluate = Callable[[Iterable[np.ndarray]], list[np.ndarray]]
"""Evaluates a program with the values of its arguments."""
_LAYOUT = re.compile(r'(, )?(xla_shape = "[^"]*"|result_layout = dense<[^>]*> : tensor<\d+xindex>)')
_HEXADECIMAL = re.compile(r'dense<("?)0x([0-9A-Fa-f]+)"?> : tensor<((?:\d+x)*(?:complex<)?)(f32|f16|bf16)>')
_NARROW = re.compile(r"tensor<((?:\d+x)*(?:complex<)?)(?:f32|f16|bf16)>")
_FLOATS = re.compile(r"(?:x|<)(bf16|f16|f32|f64)>")


def float64_text(text: str) -> str:
    """Return the program with float64 in place of narrower floating-point types."""

    def literal(found: re.Match) -> str:
        # Without quotes it is one value, most significant byte first; with them bytes in the memory's order.
        order = 1 if found[1] else -1
        value = _widened(bytes.fromhex(found[2])[::order], found[4])
        return f"dense<{found[1]}0x{value.tobytes()[::order].hex().upper()}{found[1]}> : tensor<{found[3]}f64>"

    return _NARROW.sub(r"tensor<\1f64>", _HEXADECIMAL.sub(literal, _LAYOUT.sub("", text)))


def _widened(data: bytes, name: str) -> np.ndarray:
    """Return the floating-point numbers of an element type as float64."""
    if name == "bf16":
        # The upper half of a float32.
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return np.frombuffer(data, np.float16 if name == "f16" else np.float32).astype(np.float64)


def unit_roundoff(text: str) -> float:
    """Return the unit roundoff of the program's least precise floating-point type; 0 if it has none."""
    return max((UNIT_ROUNDOFF[name] for name in set(_FLOATS.findall(text))), default=0.0)


class Program:
    """A program as it was emitted, with what decides how it can be evaluated.

    operations: how many it has. accumulation: the most terms that one of its sums has. work: the scalar operations of
    a call, in which a loop's body counts LOOP times. interpretable: whether the interpreter has all of its
    operations, and is done with them in seconds.
    """

    def __init__(self, text: str) -> None:
        from jax._src.interpreters import mlir
        from jaxlib.mlir import ir

        self.text = readable(not_donated(with_chlo_erf(text)))
        with mlir.make_ir_context():
            # No operation may outlive its context: the bindings would abort.
            facts = [(op.name, times, _size(op)) for op, times in _every(ir.Module.parse(self.text))]
        names, sizes = {name for name, *_ in facts}, [size for *_, size in facts]
        self.operations, self._convolves = len(sizes), "stablehlo.convolution" in names
        self.accumulation = max((terms for terms, _ in sizes), default=1)
        self.work = sum(times * terms * elements for _, times, (terms, elements) in facts)
        # MLIR's bindings hand out no values of bfloat16.
        readable_types = "bf16>" not in self.text
        self.interpretable = self.work <= INTERPRETED_WORK and not names & NOT_INTERPRETED and readable_types

    def interpreter(self, double: bool) -> Evaluate:
        """Return a function that evaluates the program on the values of its arguments by the interpreter."""
        return partial(interpret, float64_text(self.text) if double else self.text)

    def compiled(self, double: bool) -> Evaluate:
        """Return a function that evaluates the program by XLA with its passes off."""
        is_large = self.operations > SMALL_PROGRAM and not self._convolves
        level = {"xla_backend_optimization_level": 0} if is_large else {}
        compiler = Compiler("cpu", PASSES_OFF | level)
        program = compiler.compile(float64_text(self.text) if double else self.text)

        def evaluate(arrays: Iterable[np.ndarray]) -> list[np.ndarray]:
            types = zip(arrays, program.types, strict=True)
            program.buffers[0] = [
                compiler.put(one.reshape(shape).astype(dtype)) for one, (shape, dtype) in types
            ]
            return program.fetch(program.call(0))

        return evaluate


def interpret(text: str, arrays: Iterable[np.ndarray]) -> list[np.ndarray]:
    """Evaluate a program by the StableHLO reference interpreter.

    arrays: the values of its arguments, which are converted to their types.

    Raises what the bindings raise if the program has an operation that the interpreter does not have.
    """
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir, passmanager
    from jaxlib.mlir.dialects import stablehlo as dialect

    dialect.register_stablehlo_passes()
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        legalise = "builtin.module(func.func(chlo-legalize-to-stablehlo))"
        passmanager.PassManager.parse(legalise).run(module.operation)
        types = map(ir.RankedTensorType, function_type(module, ir).inputs)
        given = [_attribute(array, kind, ir) for array, kind in zip(arrays, types, strict=True)]
        return [_array(ir.DenseElementsAttr(one), ir) for one in dialect.eval_module(module, given)]


def _attribute(array: np.ndarray, kind: Any, ir: Any) -> Any:
    shape, dtype = list(kind.shape), DTYPES[str(kind.element_type)]
    values = np.array(array.reshape(shape), dtype, order="C")
    return ir.DenseElementsAttr.get(values, type=kind.element_type, shape=shape)


def _array(elements: Any, ir: Any) -> np.ndarray:
    shape = ir.RankedTensorType(elements.type).shape
    return np.array(np.broadcast_to(np.array(elements), shape))


def _every(operation: Any, times: int = 1) -> Iterator[tuple[Any, int]]:
    """Yield every operation inside a module or another operation, and how often it is assumed to run."""
    for region in operation.operation.regions:
        for block in region.blocks:
            for op in block.operations:
                if op.operation.name != "func.func":
                    yield op.operation, times
                yield from _every(op, times * LOOP if op.operation.name == "stablehlo.while" else times)


def _size(op: Any) -> tuple[int, int]:
    """Return how many terms each result of an operation sums, and how many results it has."""
    from jaxlib.mlir.dialects import stablehlo as dialect

    if op.name == "stablehlo.dot_general":
        axes = dialect.DotDimensionNumbers(op.attributes["dot_dimension_numbers"]).lhs_contracting_dimensions
        terms = math.prod(_shape(op.operands[0])[axis] for axis in axes)
    elif op.name == "stablehlo.convolution":
        kernel = _shape(op.operands[1])
        numbers = dialect.ConvDimensionNumbers(op.attributes["dimension_numbers"])
        terms = math.prod(kernel) // max(1, kernel[numbers.kernel_output_feature_dimension])
    elif op.name == "stablehlo.reduce":
        terms = _elements(op.operands[0]) // max(1, _elements(op.results[0]))
    elif op.name == "stablehlo.reduce_window":
        terms = math.prod(op.attributes["window_dimensions"])
    else:
        terms = 1
    return terms, max((_elements(one) for one in op.results), default=0)


def _shape(value: Any) -> tuple[int, ...]:
    from jaxlib.mlir import ir

    return tuple(ir.RankedTensorType(value.type).shape)


def _elements(value: Any) -> int:
    from jaxlib.mlir import ir

    return math.prod(_shape(value)) if isinstance(value.type, ir.RankedTensorType) else 0
