"""The class of work of each operation of an optimised program.

Standard library only: it runs in a compiler's environment, and the tables name the classes by it.
"""

from __future__ import annotations

import re

from stackwars.compilers.hlo import CALLS, Instruction, Module
from stackwars.compilers.hlo_facts import FORWARDS, LAYOUT

PRODUCTS, TRANSPOSES, REDUCTIONS = "products", "transposes", "reductions"
ELEMENTWISE, LIBRARY, DISPATCH = "elementwise", "library", "dispatch"
CLASSES: dict[str, str] = {
    PRODUCTS: "products and convolutions",
    TRANSPOSES: "transposes and copies",
    REDUCTIONS: "reductions and norms",
    ELEMENTWISE: "elementwise",
    LIBRARY: "other library calls",
    DISPATCH: "dispatch",
}
"""Name of a class -> what a reader calls it. Dispatch is what of a call no operation takes."""

_PRODUCTS = {"dot", "convolution", "ragged-dot"}
_REDUCTIONS = {"reduce", "reduce-window", "select-and-scatter", "batch-norm-training", "batch-norm-inference"}
_MOVES = {*LAYOUT, "slice", "concatenate", "pad", "reverse", "gather", "dynamic-slice"}
_MOVES |= {"dynamic-update-slice", "copy-start", "copy-done"}
_LIBRARY = {"custom-call", "fft", "cholesky", "triangular-solve", "topk"}
_CONTROL = {"while", "conditional"}
# Library calls that multiply: oneDNN's __onednn$matmul, cuBLAS's __cublas$gemm and the like.
_MULTIPLIES = re.compile(r"matmul|gemm|dot|conv", re.IGNORECASE)
_NORMALISES = re.compile(r"layernorm|batchnorm|softmax|reduce", re.IGNORECASE)


def class_of(module: Module, instruction: Instruction) -> str:
    """The class of one operation that runs by itself.

    A fusion or a call is classified by all that its body holds: with a product, it is a product (a YNN
    fusion of a dot too), else with a reduction a reduction; where it only moves elements, a transpose; else
    elementwise. A loop's own work is dispatch.
    """
    if instruction.opcode in _CONTROL:
        return DISPATCH
    if instruction.opcode == "custom-call":
        target = instruction.attribute("custom_call_target")
        if _MULTIPLIES.search(target):
            return PRODUCTS
        return REDUCTIONS if _NORMALISES.search(target) else LIBRARY
    kinds = _kinds(module, instruction) - set(FORWARDS)
    if kinds & _PRODUCTS:
        return PRODUCTS
    if kinds & _REDUCTIONS:
        return REDUCTIONS
    if kinds & _LIBRARY:
        return LIBRARY
    return TRANSPOSES if kinds <= _MOVES else ELEMENTWISE


def _kinds(module: Module, instruction: Instruction) -> set[str]:
    """Opcodes of what runs in this operation: of itself, or of the bodies of a fusion or a call."""
    if instruction.opcode not in ("fusion", "call"):
        return {instruction.opcode}
    result: set[str] = set()
    for name in instruction.called:
        for inner in module.computations[name].instructions.values():
            result |= _kinds(module, inner)
    return result


def callers(module: Module) -> dict[str, str]:
    """Operation -> the loop or call in whose body it runs; those of the entry and of fusions have none."""
    result: dict[str, str] = {}
    for computation in module.computations.values():
        for instruction in computation.instructions.values():
            if instruction.opcode in (*CALLS, *_CONTROL):
                for name in instruction.called:
                    inner = module.computations[name].instructions
                    result |= dict.fromkeys(inner, instruction.name)
    return result
