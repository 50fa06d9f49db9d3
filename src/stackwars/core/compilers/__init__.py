"""Compilers of StableHLO, a module each; a release of a compiler is the same module in an environment with other pins.

A module has a class `Compiler(device, options)`, whose constructor imports the compiler and opens the device (cpu, cuda
or tpu). Methods of a Compiler:

    compile(program)  a StableHLO program, text or a portable artifact; raises the compiler's exception against it
    load(text, bytes) the same from what its `serialize` returned in another process
    put(array)        place a NumPy array on the device; return the buffer once it is there
    device_kind()     the compiler's name for the device
    versions()        package versions, {name: version}

The result of `compile` has

    types             shape and element type of each argument; None if this release cannot read them
    buffers           for each set of inputs, a buffer from `put` for each argument; to be filled
    call(which)       start one call on that set of inputs, return its results
    fence(results)    return only when the device has finished them
    fetch(results)    their values, a list of NumPy arrays
    serialize()       the compiled program as bytes
    facts()           some of FACTS, counted in the optimised program
    optimised_hlo()   the text of the optimised program, which a profile is joined with; XLA only
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from stackwars.core.types import DTYPES

XLA = "xla"
"""The module of a compiler whose row does not name one."""
INPUT_SETS = 2
"""Sets of inputs on which every program is called, so that a result that ignores its inputs is noticed."""
ARTIFACT = b"ML\xefR"
"""First bytes of MLIR's bytecode, and so of a portable artifact."""
FACTS = {
    "fusions": "fusions in the optimised program, YNN's too; this and the next five of XLA",
    "products": "dots and convolutions in it, fused ones too",
    "ynn": "fusions that the library YNN computes",
    "library_calls": "other custom calls in it; a dot that Eigen computes is none",
    "transposes": "transposes in it, fused ones too",
    "copies": "copies in it, fused ones too",
    "dispatches": "kernels that one call dispatches; of compilers that are not XLA",
}
"""Counts of an optimised program by column, with their meanings."""
Types = list[tuple[tuple[int, ...], np.dtype]]
"""Shape and element type of each argument."""


class CompilerCrash(Exception):
    """A signal ended the separate process of a compiler."""


def names() -> list[str]:
    """Return every module here that is a compiler."""
    return sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))


def load(name: str) -> ModuleType:
    """Return a compiler's module; it imports the compiler once a device is opened."""
    return import_module(f"{__name__}.{name}")


def function_type(module: Any, ir: Any) -> Any:
    """Return the type of the main function of a module that `ir`, the MLIR bindings of the compiler, parsed.

    :raises ValueError: if it has none.
    """
    for op in module.body.operations:
        if "function_type" in op.attributes and op.attributes["sym_name"].value == "main":
            return ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
    raise ValueError("expected a module with a function `main`, got none; fix: name its entry main")


def signature(module: Any, ir: Any) -> tuple[Types, int]:
    """Return the types of the main function's arguments, and how many results it has.

    module, ir: see `function_type`.

    :raises ValueError: for a type that NumPy and ml_dtypes do not have.
    """
    function = function_type(module, ir)
    types = []
    for kind in map(ir.RankedTensorType, function.inputs):
        element = str(kind.element_type)
        if element not in DTYPES:
            raise ValueError(f"expected arguments of {', '.join(DTYPES)}, got {element}")
        types.append((tuple(kind.shape), np.dtype(DTYPES[element])))
    return types, len(function.results)
