"""A StableHLO program in an XLA client: compiled as `jax.jit` compiles, called like a session.

Runs in a compiler's environment: NumPy and JAX, whose modules are imported once a device is opened.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from stackwars.measure.inputs import INPUT_SETS

DTYPES = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "i1": np.bool_, "i8": np.int8,
    "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8, "ui32": np.uint32,
}  # fmt: skip
"""Element types of a StableHLO tensor and what NumPy calls them."""


class CompiledProgram:
    """One compiled program with its arguments on the device; `call` and `fence` as a session has them."""

    def __init__(self, executable: Any, types: list[tuple[tuple[int, ...], np.dtype]]) -> None:
        """types: shape and element type of each argument of the program's main function."""
        self.types = types
        self.buffers: list[list[Any]] = [[None] * len(types) for _ in range(INPUT_SETS)]
        self._executable = executable

    def call(self, which: int) -> Any:
        return self._executable.execute(self.buffers[which])[0]

    def fence(self, output: Any) -> None:
        output.block_until_ready()

    def optimised_hlo(self) -> str:
        """Text of what the compiler made of the program."""
        return self._executable.hlo_modules()[0].to_string()


def open_device(kind: str) -> Any:
    """The first device of this kind; raises RuntimeError where JAX finds none."""
    os.environ["JAX_PLATFORMS"] = kind
    import jax

    # Only for placing arguments: torch's programs have 64-bit integers among them.
    jax.config.update("jax_enable_x64", True)
    return jax.devices()[0]


def compile_program(text: str, device: Any) -> CompiledProgram:
    """Parse and compile StableHLO text for a device.

    Raises ValueError where the program has not exactly one result or an argument of an unknown type,
    and whatever the parser and the compiler raise.
    """
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        types = _argument_types(module, ir)
        chosen = options(module, len(types), device)
        executable = compiler.backend_compile_and_load(
            device.client, module, xla_client.DeviceList((device,)), chosen, []
        )
    return CompiledProgram(executable, types)


def options(module: Any, arguments: int, device: Any) -> Any:
    """The CompileOptions with which `jax.jit` compiles a module of one result for one device.

    arguments: how many the module's main function has.
    """
    from jax._src import compiler

    found = compiler.get_compile_options(
        num_replicas=1,
        num_partitions=1,
        device_assignment=np.array([[device.id]]),
        detailed_logging=compiler.use_detailed_logging(module),
        backend=device.client,
    )
    # As jax._src.interpreters.pxla.create_compile_options does for a jit without shardings.
    build = found.executable_build_options
    build.allow_spmd_sharding_propagation_to_parameters = [True] * arguments
    build.allow_spmd_sharding_propagation_to_output = [True]
    return found


def versions() -> dict[str, str]:
    """What replays: {package: version}."""
    import jax
    import jaxlib

    return {module.__name__: module.__version__ for module in (np, jax, jaxlib)}


def _argument_types(module: Any, ir: Any) -> list[tuple[tuple[int, ...], np.dtype]]:
    main = next(op for op in module.body.operations if op.attributes["sym_name"].value == "main")
    function = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    if len(function.results) != 1:
        raise ValueError(f"expected a program with one result; this has {len(function.results)}")
    found = []
    for kind in map(ir.RankedTensorType, function.inputs):
        element = str(kind.element_type)
        if element not in DTYPES:
            raise ValueError(f"expected arguments of {', '.join(DTYPES)}; came {element}")
        found.append((tuple(kind.shape), np.dtype(DTYPES[element])))
    return found
