"""Evaluates a lowered program on the workload's inputs, in an environment of jaxlib: see `main`."""

import gzip
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from stackwars.compilers import arguments, placement
from stackwars.compilers.xla import Compiler
from stackwars.workloads.base import INPUT_SETS


class Interpreter:
    """The StableHLO interpreter, with the verbs of a compiler that `main` uses."""

    def compile(self, text: str) -> SimpleNamespace:
        from jax._src.interpreters import mlir
        from jaxlib.mlir import ir, passmanager
        from jaxlib.mlir.dialects import stablehlo

        stablehlo.register_stablehlo_passes()
        context = mlir.make_ir_context()
        passes = "builtin.module(func.func(chlo-legalize-to-stablehlo))"
        with context:
            module = ir.Module.parse(text)
            passmanager.PassManager.parse(passes).run(module.operation)
            types, _ = arguments.signature(module, ir)
        buffers = [[None] * len(types) for _ in range(INPUT_SETS)]

        def attribute(value: np.ndarray) -> ir.Attribute:
            # Unsigned values are taken for signed ones unless their type is given.
            unsigned = value.dtype.kind == "u"
            kind = ir.IntegerType.get_unsigned(8 * value.itemsize) if unsigned else None
            return ir.DenseElementsAttr.get(value, type=kind)

        def call(which: int) -> list[np.ndarray]:
            with context:
                values = [attribute(value) for value in buffers[which]]
                results = stablehlo.eval_module(module, values)
                return [np.array(ir.DenseElementsAttr(result)) for result in results]

        return SimpleNamespace(types=types, buffers=buffers, call=call, fetch=lambda results: results)

    def put(self, array: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(array).reshape(array.shape)


def main() -> None:
    """`evaluated FOLDER interpreter|xla`: write FOLDER/outputs.npy, of both sets of inputs.

    FOLDER has a program and its arguments.json, as `stackwars.compilers.lower` writes them.
    """
    folder = Path(sys.argv[1])
    document, entries = arguments.load(folder / "arguments.json")
    compiler = Interpreter() if sys.argv[2] == "interpreter" else Compiler("cpu", {})
    program = compiler.compile(gzip.decompress((folder / "program.mlir.gz").read_bytes()).decode())
    spec = {key: document[key] for key in ("workload", "sizes")} | {"settings": {"seed": document["seed"]}}
    placement.place({"": program}, {"": entries}, spec, compiler.put)
    outputs = [program.fetch(program.call(which))[0] for which in range(INPUT_SETS)]
    np.save(folder / "outputs.npy", np.stack(outputs))
