"""XLA: one client of one jaxlib, which compiles like `jax.jit`.

Runs in a compiler's environment, whose JAX is imported once a device is opened. Releases since jaxlib 0.4.30 work:
names that JAX has changed are looked up by the newest name first.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from stackwars.core import hlo
from stackwars.core.compilers import ARTIFACT, INPUT_SETS, Types, signature


class Program:
    """One compiled program with its arguments on the device."""

    def __init__(self, executable: Any, types: Types) -> None:
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
        return hlo.counts(self.optimised_hlo())

    def optimised_hlo(self) -> str:
        return self._executable.hlo_modules()[0].to_string()


class Compiler:
    """XLA for the first device of a kind. options: XLA's debug options, {name: value of the option's type}."""

    def __init__(self, device: str, options: dict[str, Any]) -> None:
        os.environ["JAX_PLATFORMS"] = device
        import jax

        # Only for placing arguments: torch's programs have 64-bit integers among them.
        jax.config.update("jax_enable_x64", True)
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

    def compile(self, program: str | bytes) -> Program:
        """Return a program, ready to be called.

        :raises ValueError: for an argument of an unknown type; and whatever the parser and the compiler raise.
        """
        from jax._src.interpreters import mlir
        from jaxlib.mlir import ir

        with mlir.make_ir_context():
            _load_lapack(program)
            module, text = _read(program)
            if "sym_name" not in module.operation.attributes:
                # JAX requires it.
                module.operation.attributes["sym_name"] = ir.StringAttr.get("program")
            types, results = signature(module, ir)
            options = self.compile_options(module, len(types), results)
            return Program(self._compile(text or module, options), types)

    def _compile(self, module: Any, options: Any) -> Any:
        """Compile a module, or the text of an artifact in a release that reads artifacts as text."""
        from jax._src import compiler
        from jaxlib import xla_client

        client, devices = self._device.client, xla_client.DeviceList((self._device,))
        if isinstance(module, str):
            has_devices = hasattr(client, "compile_and_load")
            return (
                client.compile_and_load(module, devices, options)
                if has_devices
                else client.compile(module, options)
            )
        if hasattr(compiler, "backend_compile_and_load"):
            return compiler.backend_compile_and_load(client, module, devices, options, [])
        return compiler.backend_compile(client, module, options, [])

    def load(self, text: str, serialized: bytes) -> Program:
        """Return the program of this text as another process on this machine compiled and serialised it."""
        from jax._src.interpreters import mlir
        from jaxlib import xla_client
        from jaxlib.mlir import ir

        _load_lapack(text)
        with mlir.make_ir_context():
            types, _ = signature(ir.Module.parse(text), ir)
        devices = xla_client.DeviceList((self._device,))
        return Program(self._device.client.deserialize_executable(serialized, devices, None), types)

    def compile_options(self, module: Any, arguments: int, results: int) -> Any:
        """Return the CompileOptions with which `jax.jit` compiles a module, and our own options.

        arguments, results: how many the module's main function has.
        """
        from jax._src import compiler

        chosen = compiler.get_compile_options(
            num_replicas=1,
            num_partitions=1,
            device_assignment=np.array([[self._device.id]]),
            env_options_overrides=self._options,
            detailed_logging=compiler.use_detailed_logging(module),
            backend=self._device.client,
        )
        # The same as jax._src.interpreters.pxla.create_compile_options does for a jit without shardings.
        build = chosen.executable_build_options
        for name, count in {"parameters": arguments, "output": results}.items():
            if hasattr(build, f"allow_spmd_sharding_propagation_to_{name}"):
                setattr(build, f"allow_spmd_sharding_propagation_to_{name}", [True] * count)
        return chosen


def _read(program: str | bytes) -> tuple[Any, str]:
    """Return the module of a program, and its text if this release compiles an artifact's text."""
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    if isinstance(program, str) or not program.startswith(ARTIFACT):
        return ir.Module.parse(program if isinstance(program, str) else program.decode()), ""
    # The same function of jaxlib.mlir.dialects.stablehlo ends the process in 0.4.30. It returned text, later a module.
    read = xla_client._xla.mlir.deserialize_portable_artifact(program)
    return (ir.Module.parse(read), read) if isinstance(read, str) else (read, "")


def _load_lapack(program: str | bytes) -> None:
    """Load LAPACK for a program that calls it, as `jax.jit` does when it lowers such a call: else the call crashes."""
    if ("lapack_" if isinstance(program, str) else b"lapack_") in program:
        from jaxlib import lapack

        lapack._lapack.initialize()
