"""A process that answers commands, one a line, and the commands of a compiler.

It may crash or hang: its client (`stackwars.core.client`) decides order and limits, and reports which command
ended it. Arrays travel as files. Other rooms have further kinds of processes: a module whose `main` serves an object
with one method for each command.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from stackwars.core import buffers, compilers, evaluate, types
from stackwars.core.contention import Meter
from stackwars.core.outcome import Status, of_exception
from stackwars.core.program_text import not_donated, readable

REPLY = "STACKWARS_REPLY_FD"
"""Environment variable with the file descriptor of the answers."""
DETAIL_CHARACTERS = 4000
"""Characters of an exception's message in an answer."""
OURS = (OSError, ImportError, KeyError, AttributeError, NameError)
"""Exceptions that are faults of this harness. A compiler's exceptions against a program have no type of their own."""
SLOW = 10
"""Factor by which a timing may exceed its seconds to have enough rounds."""


def serve(
    commands: Any, otherwise: Status = Status.UNSUPPORTED, fatal: Callable[[BaseException], None] | None = None
) -> NoReturn:
    """Answer commands until standard input ends.

    commands: has a method for each command; arguments and result are JSON. An exception of a method is the answer, as
    an outcome. otherwise: the status of an exception whose type implies none, such as a compiler's exception against a
    program. fatal: gets the exception in place of the answer, and the process ends.
    """
    # Without a parent the answers go to standard output: a command can be given in a shell.
    reply, lines = os.fdopen(int(os.environ.get(REPLY, "1")), "w"), os.fdopen(os.dup(0))
    # A program that reads standard input would take the next command.
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    for line in lines:
        name, arguments = json.loads(line)
        try:
            answer = {"result": getattr(commands, name)(**arguments)}
        except (Exception, SystemExit) as error:
            traceback.print_exc()
            if fatal:
                fatal(error)
                leave(1)
            status = Status.ERROR if isinstance(error, OURS) else otherwise
            outcome = of_exception(type(error).__name__, str(error), status)
            detail = outcome.detail[:DETAIL_CHARACTERS]
            answer = {"status": outcome.status, "detail": detail, "signature": outcome.signature}
        reply.write(json.dumps(answer) + "\n")
        reply.flush()
    leave(0)


def leave(code: int) -> NoReturn:
    """End the process without the frameworks' teardown, which can crash after the work is done."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BaseException):
            stream.flush()
    os._exit(code)


def processor_s() -> float:
    """Return the processor's seconds of this process, with all its threads, and of its children that have ended."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


class Commands:
    """The commands of a process with one compiler. Programs, and arrays on the device, have names."""

    def __init__(self, module: str, device: str, options: dict[str, Any]) -> None:
        self._module, self._device, self._options = module, device, options
        self._compilers: dict[str, Any] = {}
        self._programs: dict[str, Any] = {}
        self._arrays: dict[str, Any] = {}
        self._evaluator: evaluate.Evaluator | None = None

    def facts(self) -> dict[str, Any]:
        """Return the versions of the compiler's packages, and its name for the device."""
        compiler = self._compiler({})
        return {"versions": compiler.versions(), "device_kind": compiler.device_kind()}

    # A program's text, by an XLA whose bindings read it

    def read(self, how: str, path: str) -> Any:
        """Return what a function of `mlir` returns for the bytes of a file: generic, pretty, anonymous or from_hlo."""
        from stackwars.core import mlir

        return getattr(mlir, how)(Path(path).read_bytes())

    def portable(self, path: str, output: str) -> str:
        """Write the program of a file as a portable artifact; return the version of StableHLO that it is in."""
        from stackwars.core import mlir

        artifact, version = mlir.portable(Path(path).read_text())
        Path(output).write_bytes(artifact)
        return version

    # A program on the device

    def load(self, name: str, path: str, options: dict[str, Any]) -> dict[str, Any]:
        """Compile the program of a file.

        Return the seconds that it took, on the clock and of the processor, and shape and dtype of each argument.
        """
        compiler, data = self._compiler(options), Path(path).read_bytes()
        is_artifact = data.startswith(compilers.ARTIFACT)
        program = data if is_artifact else readable(not_donated(data.decode()))
        start, cpu = time.perf_counter(), processor_s()
        self._programs[name] = loaded = compiler.compile(program)
        times = {"seconds": time.perf_counter() - start, "cpu_s": processor_s() - cpu}
        kinds = None if loaded.types is None else [(shape, dtype.name) for shape, dtype in loaded.types]
        return {**times, "types": kinds}

    def put(self, key: str, path: str) -> None:
        """Place the array of a file on the device."""
        self._arrays[key] = self._compiler({}).put(types.load(Path(path)))

    def bind(self, name: str, keys: list[str], which: int) -> None:
        """Choose the arrays that a program is called on with this set of inputs."""
        program = self._programs[name]
        if program.types is not None and len(program.types) != len(keys):
            raise ValueError(f"expected {len(program.types)} arguments of {name}, got {len(keys)}")
        program.buffers[which] = [self._arrays[key] for key in keys]

    def call(self, name: str, which: int, folder: str) -> dict[str, Any]:
        """Call a program once and write its results into a folder; return their number, and the call's ns."""
        program = self._programs[name]
        start = time.perf_counter_ns()
        results = program.call(which)
        program.fence(results)
        ns = time.perf_counter_ns() - start
        arrays = program.fetch(results)
        for number, array in enumerate(arrays):
            types.save(Path(folder, f"{number}.npy"), array)
        return {"results": len(arrays), "ns": ns}

    def time(self, names: list[str], seconds: float, least: int, calls: int) -> dict[str, Any]:
        """Time interleaved rounds on the first set of inputs, in alternating order; the first round warms up.

        Slow programs have fewer rounds than `least`, at least one. Returns {"times": {name: {"wall_ns", "cpu_ns"}}, of
        each round; "others_share": the share of the cores' time that other processes had}.
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
        return {"times": times, "others_share": meter.other_processes_share()}

    def hlo(self, name: str) -> str:
        """Return the optimised program."""
        return self._programs[name].optimised_hlo()

    def buffers(self, path: str) -> dict[str, str]:
        """Return XLA's buffer assignment of the program of a file, and the optimised program.

        Donated arguments stay donated, since nothing is called.
        """
        data = Path(path).read_bytes()
        with tempfile.TemporaryDirectory(prefix="stackwars-") as folder:
            module = compilers.load(self._module)
            compiler = module.Compiler(self._device, {**self._options, "xla_dump_to": folder})
            program = data if data.startswith(compilers.ARTIFACT) else readable(data.decode())
            optimised = compiler.compile(program).optimised_hlo()
            if not (dumped := sorted(Path(folder).glob(f"*{buffers.FILE}"))):
                raise FileNotFoundError("expected XLA to dump its buffer assignment, got no file")
            return {"assignment": dumped[0].read_text(), "optimised": optimised}

    def save(self, name: str, path: str) -> None:
        """Write a compiled program, which another process on this machine can load."""
        Path(path).write_bytes(self._programs[name].serialize())

    def drop(self, names: list[str]) -> None:
        """Forget programs."""
        for name in names:
            self._programs.pop(name, None)

    def clear(self) -> None:
        """Forget all programs and arrays."""
        self._programs.clear()
        self._arrays.clear()

    # A program's values, by an XLA that is not under test

    def evaluate(self, path: str) -> dict[str, Any]:
        """Evaluate a program one operation at a time, see `evaluate.Evaluator.run`."""
        self._evaluator = self._evaluator or evaluate.Evaluator(self._compiler)
        return self._evaluator.run(json.loads(Path(path).read_text()))

    def interpret(self, path: str, arguments: list[str], folder: str) -> dict[str, int]:
        """Evaluate the program of a file by the StableHLO interpreter; write its results, return their number."""
        from stackwars.core import mlir

        results = mlir.interpret(Path(path).read_text(), [types.load(Path(one)) for one in arguments])
        for number, array in enumerate(results):
            types.save(Path(folder, f"{number}.npy"), array)
        return {"results": len(results)}

    def _compiler(self, options: dict[str, Any]) -> Any:
        """Return the compiler with further options."""
        key = json.dumps(options, sort_keys=True)
        if key not in self._compilers:
            module = compilers.load(self._module)
            self._compilers[key] = module.Compiler(self._device, {**self._options, **options})
        return self._compilers[key]


def main() -> None:
    """`python -m stackwars.core.worker MODULE DEVICE OPTIONS`: serve the commands of a compiler."""
    module, device, options = sys.argv[1:]
    serve(Commands(module, device, json.loads(options)))


if __name__ == "__main__":
    main()
