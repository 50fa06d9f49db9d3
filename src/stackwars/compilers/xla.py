"""XLA as a compiler of replays: one client of one jaxlib, which compiles as `jax.jit` compiles.

Runs in a compiler's environment: NumPy and JAX, whose modules are imported once a device is opened.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from stackwars.compilers import hlo_facts
from stackwars.compilers.arguments import signature
from stackwars.workloads.base import INPUT_SETS


class Program:
    """One compiled program with its arguments on the device."""

    def __init__(self, executable: Any, types: list[tuple[tuple[int, ...], np.dtype]]) -> None:
        """types: shape and element type of each argument of the program's main function."""
        self.types = types
        self.buffers: list[list[Any]] = [[None] * len(types) for _ in range(INPUT_SETS)]
        self._executable = executable

    def call(self, which: int) -> list[Any]:
        return self._executable.execute(self.buffers[which])

    def fence(self, results: list[Any]) -> None:
        for result in results:
            result.block_until_ready()

    def fetch(self, results: list[Any]) -> list[np.ndarray]:
        return [np.asarray(result) for result in results]

    def serialize(self) -> bytes:
        return self._executable.client.serialize_executable(self._executable)

    def facts(self) -> dict[str, int]:
        return hlo_facts.counts(self.optimised_hlo())

    def optimised_hlo(self) -> str:
        return self._executable.hlo_modules()[0].to_string()


def _initialize(text: str) -> None:
    """Load LAPACK if the program calls it; `jax.jit` does so as it lowers such a call. Else a call ends the process."""
    if "@lapack_" in text:
        from jaxlib import lapack

        lapack._lapack.initialize()


def preload(device: str) -> None:
    """Import JAX, and open no device: a process can still be forked."""
    os.environ["JAX_PLATFORMS"] = device
    import jax

    # Only for placing arguments: torch's programs have 64-bit integers among them.
    jax.config.update("jax_enable_x64", True)


class Compiler:
    """XLA for the first device of a kind. options: XLA's debug options, {name: value as text}."""

    def __init__(self, device: str, options: dict[str, str]) -> None:
        preload(device)
        import jax

        self._device = jax.devices()[0]
        self._options = options

    def device_kind(self) -> str:
        return self._device.device_kind

    def versions(self) -> dict[str, str]:
        import jax
        import jaxlib

        return {module.__name__: module.__version__ for module in (np, jax, jaxlib)}

    def put(self, array: np.ndarray) -> Any:
        import jax

        buffer = jax.device_put(array, self._device)
        buffer.block_until_ready()
        return buffer

    def compile(self, text: str) -> Program:
        """Raises ValueError where the program has an argument of an unknown type, and whatever the parser and
        the compiler raise.
        """
        from jax._src import compiler
        from jax._src.interpreters import mlir
        from jaxlib import xla_client
        from jaxlib.mlir import ir

        devices = xla_client.DeviceList((self._device,))
        _initialize(text)
        with mlir.make_ir_context():
            module = ir.Module.parse(text)
            if "sym_name" not in module.operation.attributes:
                # JAX asks for it.
                module.operation.attributes["sym_name"] = ir.StringAttr.get("program")
            types, results = signature(module, ir)
            chosen = self.compile_options(module, len(types), results)
            executable = compiler.backend_compile_and_load(self._device.client, module, devices, chosen, [])
        return Program(executable, types)

    def load(self, text: str, serialized: bytes) -> Program:
        """Return the program of this text as another process on this machine compiled and serialised it."""
        from jax._src.interpreters import mlir
        from jaxlib import xla_client
        from jaxlib.mlir import ir

        _initialize(text)
        with mlir.make_ir_context():
            types, _ = signature(ir.Module.parse(text), ir)
        devices = xla_client.DeviceList((self._device,))
        return Program(self._device.client.deserialize_executable(serialized, devices, None), types)

    def compile_options(self, module: Any, arguments: int, results: int) -> Any:
        """The CompileOptions with which `jax.jit` compiles a module, and our own options.

        arguments, results: how many the module's main function has.
        """
        from jax._src import compiler

        result = compiler.get_compile_options(
            num_replicas=1,
            num_partitions=1,
            device_assignment=np.array([[self._device.id]]),
            env_options_overrides=self._options,
            detailed_logging=compiler.use_detailed_logging(module),
            backend=self._device.client,
        )
        # As jax._src.interpreters.pxla.create_compile_options does for a jit without shardings.
        build = result.executable_build_options
        build.allow_spmd_sharding_propagation_to_parameters = [True] * arguments
        build.allow_spmd_sharding_propagation_to_output = [True] * results
        return result
