"""IREE as a compiler of replays: its compiler for the CPU, and its runtime's pool of threads (`local-task`).

Runs in an environment of its own (NumPy, iree-base-compiler, iree-base-runtime), whose modules are imported
once a device is opened. Facts from IREE 3.13:

- Without being told, it compiles for a generic x86-64 at no level of optimisation, computes float64 in float32,
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

from stackwars.compilers import CompilerCrash
from stackwars.compilers.arguments import Types, signature
from stackwars.ir.program_text import with_chlo_erf
from stackwars.measure import process_status
from stackwars.workloads.base import INPUT_SETS

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
"""How long one program may take to compile."""
_SAME_BITS = re.compile(
    r"stablehlo\.(?:constant|add|subtract|multiply|and|or|xor|not|select|gather|slice|concatenate|reshape"
    r"|transpose|broadcast_in_dim|return)\b|stablehlo\.compare +(?:EQ|NE),"
    r"|stablehlo\.convert .*[<x]i1>|^ *\^bb0\(|^ *}\) : "
)
"""Lines on which a signed integer of 8 bits does what an unsigned one does; what ends a region is judged by
the lines in it."""


class Program:
    """One compiled module, loaded, with its arguments on the device."""

    def __init__(
        self, compiled: bytes, types: Types, results: int, runtime: Any, config: Any, facts: dict[str, int]
    ) -> None:
        """compiled: what iree-compile writes. results: how many the main function has."""
        module = runtime.VmModule.copy_buffer(config.vm_instance, compiled)
        self._main, self.types, self._results = module.lookup_function("main"), types, results
        self.buffers: list[list[Any]] = [[None] * len(self.types) for _ in range(INPUT_SETS)]
        self._runtime, self._device, self._facts, self._compiled = runtime, config.device, facts, compiled
        modules = [*config.default_vm_modules, module]
        self._context = runtime.VmContext(config.vm_instance, modules=modules)
        self._lists: dict[int, tuple[list, Any]] = {}

    def call(self, which: int) -> list[Any]:
        """Compute on that set of inputs; the results' buffers."""
        results = self._runtime.VmVariantList(self._results)
        self._context.invoke(self._main, self._arguments(which), results)
        view = self._runtime.HalBufferView
        return [results.get_as_object(place, view) for place in range(self._results)]

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
        """The buffers as the runtime takes them; made in the first call with a list, as they are all in it by then."""
        buffers = self.buffers[which]
        if which not in self._lists or self._lists[which][0] is not buffers:
            arguments = self._runtime.VmVariantList(len(self.types))
            for buffer in buffers:
                arguments.push_ref(buffer)
            self._lists[which] = buffers, arguments
        return self._lists[which][1]


def preload(device: str) -> None:
    """Import IREE, and open no device: a process can still be forked."""
    from iree import runtime  # noqa: F401
    from iree.compiler import ir  # noqa: F401


class Compiler:
    """IREE for the CPU. options: further flags of iree-compile, {name: value}."""

    def __init__(self, device: str, options: dict[str, str]) -> None:
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

    def compile(self, text: str) -> Program:
        """Raises ValueError where the program has an argument of an unknown type, TimeoutError after TIMEOUT_S,
        and RuntimeError with what iree-compile says against the program.
        """
        text = rewritten(text)
        with tempfile.TemporaryDirectory() as folder:
            compiled, facts = self._compile(text, Path(folder))
        return self._program(text, compiled, facts)

    def load(self, text: str, serialized: bytes) -> Program:
        """Return the program of this text as another process on this machine compiled and serialised it."""
        facts, _, compiled = serialized.partition(b"\n")
        return self._program(rewritten(text), compiled, json.loads(facts))

    def _program(self, text: str, compiled: bytes, facts: dict[str, int]) -> Program:
        from iree.compiler import ir

        # The declaration that the compiled function carries has no unsigned types.
        with ir.Context():
            types, results = signature(ir.Module.parse(text), ir)
        return Program(compiled, types, results, self._runtime, self._config, facts)

    def _compile(self, text: str, folder: Path) -> tuple[bytes, dict[str, int]]:
        """The compiled module and what its statistics say, from a process that can be ended."""
        from iree.compiler.tools.binaries import find_tool

        source, module, counted = (folder / name for name in ("in.mlir", "out.vmfb", "counted.json"))
        source.write_text(text)
        command = [
            *(find_tool("iree-compile"), str(source), "-o", str(module), *self._flags),
            "--iree-scheduling-dump-statistics-format=json",
            f"--iree-scheduling-dump-statistics-file={counted}",
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"iree-compile took over {TIMEOUT_S} s") from None
        said = done.stderr.replace(f"{source}:", "")
        if done.returncode < 0 and not process_status.out_of_memory(said):
            raise CompilerCrash(f"{signal.Signals(-done.returncode).name} in iree-compile, which said {said}")
        if done.returncode:
            raise RuntimeError(f"iree-compile ended with {done.returncode} and said {said}")
        result = json.loads(counted.read_text())["stream-aggregate"]["execution"]
        return module.read_bytes(), {"dispatches": result["dispatch-count"]}


def flags(options: dict[str, str]) -> list[str]:
    """Return the flags of iree-compile with these options."""
    return [*FLAGS, *(f"--{name}={value}" for name, value in options.items())]


def rewritten(text: str) -> str:
    """The program without what IREE refuses and has another form of."""
    text = with_chlo_erf(text)
    unsigned = [line for line in text.splitlines() if "ui8>" in line]
    return text.replace("ui8>", "i8>") if all(map(_SAME_BITS.search, unsigned)) else text
