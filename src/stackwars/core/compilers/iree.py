"""IREE: its compiler for the CPU, and its runtime's pool of threads (`local-task`).

Runs in an environment of its own (NumPy, iree-base-compiler, iree-base-runtime), whose modules are imported
once a device is opened. Releases since 3.0 work: a flag that a release does not know is left out. Facts from IREE 3.13:

- By default it compiles for a generic x86-64 at no level of optimisation, computes float64 in float32,
  and starts one thread for each physical core whatever cores the process may use.
- It refuses the custom call by which torch_xla's programs reach the error function, and unsigned integers of 8
  bits, in which torch_xla's masks count modulo 256. The text is rewritten: the second to signed integers, and
  only where every operation on them gives the same bits for both (sums, logic, equality, moves); a program that
  widens, orders or divides them stays as it is, and is refused.
- The function it exports waits for its own work before it returns.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.core import outcome
from stackwars.core.compilers import INPUT_SETS, CompilerCrash, Types, signature
from stackwars.core.program_text import with_chlo_erf

PACKAGES = ("numpy", "iree-base-compiler", "iree-base-runtime")
FLAGS = (
    "--iree-input-type=stablehlo",
    "--iree-hal-target-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-opt-level=O2",
    "--iree-opt-data-tiling",
    "--iree-input-demote-f64-to-f32=false",
)
TIMEOUT_S = 300
"""Seconds that one program may take to compile."""
_UNKNOWN_FLAG = re.compile(r"Unknown command line argument '(--[\w-]+)")
_SAME_BITS = re.compile(
    r"stablehlo\.(?:constant|add|subtract|multiply|and|or|xor|not|select|gather|slice|concatenate|reshape"
    r"|transpose|broadcast_in_dim|return)\b|stablehlo\.compare +(?:EQ|NE),"
    r"|stablehlo\.convert .*[<x]i1>|^ *\^bb0\(|^ *}\) : "
)
"""Lines on which a signed integer of 8 bits acts like an unsigned one; the end of a region is judged by
the lines in it."""


class Program:
    """One compiled module, loaded, with its arguments on the device."""

    def __init__(
        self, compiled: bytes, types: Types | None, runtime: Any, config: Any, facts: dict[str, int]
    ) -> None:
        """compiled: the output of iree-compile. types: the arguments' types; None if they are not known."""
        module = runtime.VmModule.copy_buffer(config.vm_instance, compiled)
        self._main, self.types = module.lookup_function("main"), types
        self.buffers: list[list[Any]] = [[None] * len(types or []) for _ in range(INPUT_SETS)]
        self._runtime, self._device, self._facts, self._compiled = runtime, config.device, facts, compiled
        modules = [*config.default_vm_modules, module]
        self._context = runtime.VmContext(config.vm_instance, modules=modules)
        self._lists: dict[int, tuple[list, Any]] = {}

    def call(self, which: int) -> list[Any]:
        """Compute on that set of inputs; return the results' buffers."""
        results = self._runtime.VmVariantList(1)
        self._context.invoke(self._main, self._arguments(which), results)
        view = self._runtime.HalBufferView
        return [results.get_as_object(place, view) for place in range(len(results))]

    def fence(self, results: list[Any]) -> None:
        """Nothing is left to wait for: the exported function awaited its work before it returned."""

    def fetch(self, results: list[Any]) -> list[np.ndarray]:
        array = self._runtime.DeviceArray
        found = [array(self._device, result, implicit_host_transfer=True) for result in results]
        return [np.array(one.to_host()) for one in found]

    def serialize(self) -> bytes:
        """Return a line with the facts as JSON, and the compiled module."""
        return json.dumps(self._facts).encode() + b"\n" + self._compiled

    def facts(self) -> dict[str, int]:
        return self._facts

    def _arguments(self, which: int) -> Any:
        """Return the buffers in the runtime's form, which the first call with a list of buffers creates."""
        buffers = self.buffers[which]
        if which not in self._lists or self._lists[which][0] is not buffers:
            arguments = self._runtime.VmVariantList(len(buffers))
            for buffer in buffers:
                arguments.push_ref(buffer)
            self._lists[which] = buffers, arguments
        return self._lists[which][1]


class Compiler:
    """IREE for the CPU. options: further flags of iree-compile, {name: value}."""

    def __init__(self, device: str, options: dict[str, Any]) -> None:
        from iree import runtime

        if device != "cpu":
            raise RuntimeError(f"expected the device cpu, for which IREE is set up here; got {device}")
        cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        runtime.flags.parse_flags(f"--task_topology_cpu_ids={cores}")
        self._runtime = runtime
        self._config = runtime.Config("local-task")
        self._flags = flags(options)

    def device_kind(self) -> str:
        return "cpu"

    def versions(self) -> dict[str, str]:
        return {package: metadata.version(package) for package in PACKAGES}

    def put(self, array: np.ndarray) -> Any:
        array = np.ascontiguousarray(array).reshape(array.shape)
        return self._runtime.asdevicearray(self._config.device, array)._buffer_view

    def compile(self, program: str | bytes) -> Program:
        """Return a program, ready to be called.

        :raises ValueError: for an argument of an unknown type.
        :raises TimeoutError: after TIMEOUT_S.
        :raises CompilerCrash: if a signal ends iree-compile.
        :raises RuntimeError: with the message of iree-compile if it refuses the program.
        """
        program = rewritten(program) if isinstance(program, str) else program
        with tempfile.TemporaryDirectory() as folder:
            compiled, facts = self._compile(program, Path(folder))
        return self._program(program, compiled, facts)

    def load(self, text: str, serialized: bytes) -> Program:
        """Return the program of this text as another process on this machine compiled and serialised it."""
        facts, _, compiled = serialized.partition(b"\n")
        return self._program(rewritten(text), compiled, json.loads(facts))

    def _program(self, program: str | bytes, compiled: bytes, facts: dict[str, int]) -> Program:
        from iree.compiler import ir

        types = None
        if isinstance(program, str):
            # The declaration that the compiled function carries has no unsigned types.
            with ir.Context():
                types, _ = signature(ir.Module.parse(program), ir)
        return Program(compiled, types, self._runtime, self._config, facts)

    def _compile(self, program: str | bytes, folder: Path) -> tuple[bytes, dict[str, int]]:
        """Return the compiled module and its statistics, from a process that can be ended."""
        from iree.compiler.tools.binaries import find_tool

        source, module, counted = (folder / name for name in ("in.mlir", "out.vmfb", "counted.json"))
        source.write_bytes(program.encode() if isinstance(program, str) else program)
        arguments = [
            *self._flags,
            "--iree-scheduling-dump-statistics-format=json",
            f"--iree-scheduling-dump-statistics-file={counted}",
        ]
        while True:
            command = [find_tool("iree-compile"), str(source), "-o", str(module), *arguments]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
            except subprocess.TimeoutExpired:
                raise TimeoutError(f"iree-compile took over {TIMEOUT_S} s") from None
            message = done.stderr.replace(f"{source}:", "")
            unknown = set(_UNKNOWN_FLAG.findall(message)) & {flag.partition("=")[0] for flag in FLAGS}
            if not done.returncode or not unknown:
                break
            arguments = [flag for flag in arguments if flag.partition("=")[0] not in unknown]
        if done.returncode < 0 and not outcome.out_of_memory(message):
            raise CompilerCrash(
                f"{signal.Signals(-done.returncode).name} in iree-compile, which said {message}"
            )
        if done.returncode:
            raise RuntimeError(f"iree-compile ended with {done.returncode} and said {message}")
        found = json.loads(counted.read_text())["stream-aggregate"]["execution"] if counted.exists() else {}
        return module.read_bytes(), {"dispatches": found["dispatch-count"]} if found else {}


def flags(options: dict[str, str]) -> list[str]:
    return [*FLAGS, *(f"--{name}={value}" for name, value in options.items())]


def rewritten(text: str) -> str:
    """Return the program with other forms of the operations and types that IREE refuses; see the module's docstring."""
    text = with_chlo_erf(text)
    unsigned = [line for line in text.splitlines() if "ui8>" in line]
    return text.replace("ui8>", "i8>") if all(map(_SAME_BITS.search, unsigned)) else text
