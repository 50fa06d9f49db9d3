"""The process that compiles and runs programs in a compiler's environment, one command a line.

It may crash or hang: its client, `stackwars.explain.workers`, says which command it was. Arrays travel as
.npy files. Evaluates programs operation by operation too, so that nothing is fused, folded or simplified.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from stackwars import compilers
from stackwars.compilers.evaluate import PASSES_OFF, float64_text
from stackwars.explain.fingerprint import fingerprint
from stackwars.ir.program_text import not_donated, readable, with_chlo_erf
from stackwars.measure import process_status
from stackwars.measure.contention import Meter

REPLY = "STACKWARS_REPLY_FD"
"""Environment variable with the file descriptor of the answers."""
ALONE = {**PASSES_OFF, "xla_backend_optimization_level": "1"}
"""XLA's options for single operations, which run once: no optimisation may be what is wrong."""
NOTHING = "func.func @main() { return }"
SLOW = 10
"""How many times the seconds of a timing are spent at most to have enough rounds."""
THREADS = 2
"""Operations that are compiled at a time."""


class Commands:
    """The commands, one method each; arguments and result are JSON."""

    def __init__(self, module: str, options: dict[str, Any]) -> None:
        self._module, self._options = module, options
        self._compilers: dict[str, Any] = {}
        self._programs: dict[str, Any] = {}
        self._buffers: dict[str, Any] = {}
        self._single: dict[str, Any] = {}
        self._careful: Any = None
        self._others_share = 0.0

    def _compiler(self, options: dict[str, Any]) -> Any:
        key = json.dumps(options, sort_keys=True)
        if key not in self._compilers:
            module = compilers.load(self._module)
            self._compilers[key] = module.Compiler("cpu", {**self._options, **options})
        return self._compilers[key]

    def versions(self) -> dict[str, str]:
        return self._compiler({}).versions()

    def generic(self, text: str) -> dict[str, Any]:
        """Return the module in generic form, and the place of every operation of its functions."""
        from jax._src.interpreters import mlir
        from jaxlib.mlir import ir

        with mlir.make_ir_context():
            module = ir.Module.parse(prepared(text))
            places = {
                function.attributes["sym_name"].value: [
                    str(op.operation.location) for op in function.regions[0].blocks[0].operations
                ]
                for function in module.body.operations
                if function.operation.name == "func.func"
            }
            return {"text": module.operation.get_asm(print_generic_op_form=True), "places": places}

    def pretty(self, text: str) -> str:
        """Return the module in the short form of its dialects."""
        from jax._src.interpreters import mlir
        from jaxlib.mlir import ir

        with mlir.make_ir_context():
            return str(ir.Module.parse(text))

    def compile(self, name: str, path: str, options: dict[str, Any]) -> float:
        """Return the seconds that compiling took."""
        text, compiler = prepared(Path(path).read_text()), self._compiler(options)
        start = time.perf_counter()
        self._programs[name] = compiler.compile(text)
        return time.perf_counter() - start

    def put(self, key: str, path: str) -> None:
        self._buffers[key] = self._compiler({}).put(np.load(path))

    def bind(self, name: str, keys: list[str]) -> None:
        program = self._programs[name]
        if len(program.types) != len(keys):
            raise ValueError(f"expected {len(program.types)} arguments of {name}, got {len(keys)}")
        program.buffers[0] = [
            self._buffer(key, dtype) for key, (_, dtype) in zip(keys, program.types, strict=True)
        ]

    def _buffer(self, key: str, dtype: np.dtype) -> Any:
        """Return a buffer in a program's element type: a .npy file holds bfloat16 as float32."""
        if dtype.name != "bfloat16":
            return self._buffers[key]
        narrow = f"{key} {dtype.name}"
        if narrow not in self._buffers:
            self._buffers[narrow] = self._compiler({}).put(np.asarray(self._buffers[key]).astype(dtype))
        return self._buffers[narrow]

    def run(self, name: str, folder: str) -> int:
        """Write the results of one call; return how many there are."""
        program = self._programs[name]
        results = program.call(0)
        program.fence(results)
        arrays = program.fetch(results)
        for number, array in enumerate(arrays):
            np.save(Path(folder, f"{number}.npy"), storable(array))
        return len(arrays)

    def time(self, names: list[str], seconds: float, least: int, calls: int) -> dict[str, dict[str, list[int]]]:
        """Time interleaved rounds, in alternating order; the first round warms up and is left out.

        Slow programs have fewer rounds than `least`, but one.
        """
        times: dict[str, dict[str, list[int]]] = {name: {"wall_ns": [], "cpu_ns": []} for name in names}
        results: dict[str, Any] = {}
        gc.collect()
        gc.disable()
        meter = Meter()
        start, rounds, enough = time.perf_counter(), -1, seconds * len(names)
        while (
            rounds < 1
            or (passed := time.perf_counter() - start) < enough
            or (rounds < least and passed < SLOW * enough)
        ):
            for name in names[:: -1 if rounds % 2 else 1]:
                program = self._programs[name]
                cpu, wall = time.process_time_ns(), time.perf_counter_ns()
                for _ in range(calls):
                    results[name] = program.call(0)
                    program.fence(results[name])
                wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
                if rounds >= 0:
                    times[name]["wall_ns"].append(wall // calls)
                    times[name]["cpu_ns"].append(cpu // calls)
            rounds += 1
        gc.enable()
        self._others_share = meter.other_processes_share()
        return times

    def others_share(self) -> float:
        """Return the share of the cores' time that other processes had during the last timing."""
        return self._others_share

    def hlo(self, name: str) -> str:
        return self._programs[name].optimised_hlo()

    def drop(self, names: list[str]) -> None:
        for name in names:
            self._programs.pop(name, None)

    def evaluate(self, path: str) -> dict[str, Any]:
        """Evaluate a program one operation at a time; return {value: its fingerprint in the first set of inputs}.

        path: of a JSON file with texts, {key: [in float64, as it is]}; steps, [{key, reads, results, free}]
        in order; arguments, {value: [file for each set]}; save, the values whose arrays are wanted; folder,
        for "<set>-<value>.npy".
        """
        job = json.loads(Path(path).read_text())
        self._alone_compiler()
        with ThreadPoolExecutor(THREADS) as pool:
            new = [key for key in job["texts"] if key not in self._single]
            self._single |= dict(
                zip(new, pool.map(lambda key: self._alone(*job["texts"][key]), new), strict=True)
            )
        prints: dict[str, dict[str, Any]] = {}
        for number in range(job["sets"]):
            self._evaluate(job, number, prints)
        return prints

    def _alone_compiler(self) -> Any:
        """Return the compiler of single operations."""
        if self._careful is None:
            compiler = self._compiler(ALONE)
            try:
                compiler.compile(NOTHING)
            except Exception:
                # A release that does not have YNN refuses its option.
                compiler = self._compiler({name: value for name, value in ALONE.items() if "ynn" not in name})
            self._careful = compiler
        return self._careful

    def _alone(self, double: str, plain: str) -> Any:
        compiler = self._alone_compiler()
        try:
            return compiler.compile(double)
        except Exception:
            # Such as a bit cast, which has no form in float64.
            return compiler.compile(plain)

    def _evaluate(self, job: dict, number: int, prints: dict[str, dict[str, Any]]) -> None:
        values: dict[int, Any] = {
            int(value): np.load(files[number % len(files)], mmap_mode="r")
            for value, files in job["arguments"].items()
        }
        for value, array in values.items():
            self._note(job, number, value, array, prints)
        put = self._alone_compiler().put
        for step in job["steps"]:
            program = self._single[step["key"]]
            types = zip(step["reads"], program.types, strict=True)
            program.buffers[0] = [
                put(values[value].reshape(shape).astype(dtype)) for value, (shape, dtype) in types
            ]
            results = program.call(0)
            program.fence(results)
            arrays = program.fetch(results)
            program.buffers[0] = [None] * len(program.types)
            for value, array in zip(step["results"], arrays, strict=True):
                values[value] = array.astype(np.float64) if is_float(array) else array
                self._note(job, number, value, values[value], prints)
            for value in step["free"]:
                del values[value]

    def _note(
        self, job: dict, number: int, value: int, array: np.ndarray, prints: dict[str, dict[str, Any]]
    ) -> None:
        if str(value) not in prints:
            prints[str(value)] = fingerprint(array)
        is_wanted = value in job["save"] or (job["save_informative"] and prints[str(value)]["informative"])
        if is_wanted and str(value) not in job["arguments"]:
            np.save(Path(job["folder"], f"{number}-{value}.npy"), array)


def is_float(array: np.ndarray) -> bool:
    """Return whether an array has floating-point elements, bfloat16 too."""
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def storable(array: np.ndarray) -> np.ndarray:
    """Return the array in a type that a .npy file has: bfloat16 in float32."""
    return array.astype(np.float32) if array.dtype.kind == "V" or array.dtype.name == "bfloat16" else array


def prepared(text: str) -> str:
    """Return the text as compilers are given it."""
    return readable(not_donated(text))


def single_texts(text: str) -> list[str]:
    """Return the texts of an operation alone: in float64, and as it is."""
    text = with_chlo_erf(text)
    return [float64_text(text), text]


def main() -> None:
    """`python -m stackwars.explain.worker MODULE OPTIONS`: answer commands until standard input ends."""
    module, options = sys.argv[1:]
    reply = os.fdopen(int(os.environ[REPLY]), "w")
    commands = Commands(module, json.loads(options))
    for line in sys.stdin:
        name, arguments = json.loads(line)
        try:
            answer = {"result": getattr(commands, name)(**arguments)}
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            traceback.print_exc()
            answer = {
                "error": said[:4000],
                "type": type(error).__name__,
                "memory": process_status.out_of_memory(said),
            }
        reply.write(json.dumps(answer) + "\n")
        reply.flush()
    with contextlib.suppress(BaseException):
        sys.stderr.flush()
    # The frameworks' teardown can crash after the work is done.
    os._exit(0)


if __name__ == "__main__":
    main()
