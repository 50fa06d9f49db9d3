"""Start a worker process in an environment, send it commands, and survive its death.

A command that crashes or hangs raises `outcome.Failed`; the next command starts another process, which has no programs
and no arrays.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from stackwars.core import launch, limits, types, worker
from stackwars.core.compilers import XLA
from stackwars.core.outcome import Failed, Outcome, Status, of_death
from stackwars.core.program import Argument, Graph


class Process:
    """A process of a module that serves commands, started by its first command; a context manager that ends it."""

    def __init__(
        self,
        python: Path | str,
        arguments: Sequence[str],
        *,
        cap_gib: float | str = "auto",
        timeout_s: float = 300,
        environ: dict[str, str] | None = None,
        folder: Path | None = None,
        cwd: Path | None = None,
        cpus: set[int] | None = None,
    ) -> None:
        """python, arguments: the command. cap_gib: limits its memory. timeout_s: limits one command. folder: for its
        log, which then outlives it. cwd: by default its folder. cpus: the cores that it may use, None for all.
        """
        self.timeout_s = timeout_s
        self._end = math.inf
        self._is_temporary = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="stackwars-"))
        self._python, self._arguments, self._environ = Path(python), list(arguments), environ or {}
        self._cap, self._cwd, self._cpus = limits.cap_bytes(cap_gib), cwd or self.folder, cpus
        self._child: launch.Child | None = None
        self._answers: int | None = None
        self._buffer = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def is_running(self) -> bool:
        return self._answers is not None

    def allow(self, seconds: float) -> None:
        """Let all further commands together take so many seconds."""
        self.timeout_s, self._end = seconds, time.monotonic() + seconds

    def ask(self, command: str, **arguments: Any) -> Any:
        """Send a command; return its result.

        :raises Failed: with the outcome of a command that raised, crashed or took too long.
        """
        self.send(command, **arguments)
        return self.answer(command)

    def send(self, command: str, **arguments: Any) -> None:
        """Send a command, whose answer is read later: several processes may work at once."""
        if not self.is_running:
            self._start()
        self._limit()
        # A process that has ended takes no command; `answer` reports the end.
        with contextlib.suppress(OSError):
            if self._child.process:
                self._child.process.stdin.write(json.dumps([command, arguments]).encode() + b"\n")
                self._child.process.stdin.flush()

    def answer(self, command: str) -> Any:
        """Return the result of a command that was sent; raises as `ask`."""
        answer = json.loads(self._line(command))
        self._child.deadline = math.inf
        if "status" in answer:
            raise Failed(Outcome(Status(answer["status"]), answer["detail"], answer["signature"]))
        return answer["result"]

    def end(self) -> launch.ExitReport:
        """Send no more commands; wait for the end of the process, as long as for a command, and return how it ended."""
        if self.is_running:
            self._close_input()
            self._limit()
        return self._child.report()

    def stop(self) -> None:
        """End the process; the next command starts another."""
        if self.is_running:
            self._child.kill()
            self._close_input()
            os.close(self._answers)
            self._answers = None

    def close(self) -> None:
        """End the process and remove its files."""
        self.stop()
        if self._is_temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def log(self, **lines: int) -> str:
        """Return the last lines that the process printed."""
        path = self.folder / "log.txt"
        return launch.tail(path, **lines) if path.exists() else ""

    def last_words(self) -> str:
        """Return the last line that a crashed process printed before a library's stack trace; "" if none."""
        return last_line(self.log(lines=1000))  # more than a stack trace has

    def _start(self) -> None:
        reader, writer = os.pipe()
        environ = launch.clean_environ({**self._environ, worker.REPLY: str(writer)})
        self._child = launch.start_child(
            *(self._python, self._arguments, environ, self._cap),
            log=self.folder / "log.txt",
            cwd=self._cwd,
            cpus=self._cpus,
            stdin=subprocess.PIPE,
            pass_fds=(writer,),
        )
        os.close(writer)
        self._answers, self._buffer = reader, b""

    def _limit(self) -> None:
        """Give the process the time of one command from now on."""
        self._child.deadline = min(time.monotonic() + self.timeout_s, self._end)

    def _close_input(self) -> None:
        # A command that a dead process did not take is still in the buffer, and closing would send it.
        with contextlib.suppress(BrokenPipeError):
            if self._child.process:
                self._child.process.stdin.close()

    def _line(self, command: str) -> bytes:
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], launch.POLL_S)
            # Once the answer has arrived, the look disturbs no step of a measured process.
            launch.look()
            if ready:
                part = os.read(self._answers, 1 << 20)
                if not part:
                    raise self._died(command)
                self._buffer += part
            elif self._child.has_ended():
                # A process that the child left behind holds the pipe open.
                raise self._died(command)
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _died(self, command: str) -> Failed:
        """Return the outcome of a command that ended the process, or during which a limit ended it."""
        report, printed = self.end(), self.last_words()
        self.stop()
        if report.not_started:
            return Failed(Outcome(Status.ERROR, report.not_started))
        if report.timed_out:
            return Failed(Outcome(Status.TIMEOUT, f"no end after {self.timeout_s:g} s in {command}"))
        if report.over_cap:
            return Failed(Outcome(Status.OOM, f"killed at the cap in {command}", "out of memory"))
        return Failed(of_death(report.exit_code, command, printed))


def last_line(log: str) -> str:
    """Return the last line before a library's stack trace, without the time at which it was printed; "" if none."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    trace = ("@", "***", "Fatal Python", "Extension modules", "File")
    printed = [line for line in lines if not line.startswith(trace)]
    time_printed = r"^(F\d{4} [\d:.]+ +\d+ |\d{4}-\d\d-\d\d [\d:.]+: F )"
    return re.sub(time_printed, "", printed[-1])[:200] if printed else ""


@dataclass(frozen=True)
class CompilerSpec:
    """A compiler in an environment.

    module: one of `stackwars.core.compilers`. options: for its constructor. python: the environment's Python; "" for
    this one. flags: the value of XLA_FLAGS. device: cpu, cuda or tpu.
    """

    name: str
    module: str = XLA
    options: dict[str, Any] = field(default_factory=dict)
    python: str = ""
    flags: str = ""
    device: str = "cpu"

    @property
    def is_xla(self) -> bool:
        return self.module == XLA


class Times(NamedTuple):
    """Nanoseconds of each round: on the clock, and processor time of all the process's threads."""

    wall_ns: np.ndarray
    cpu_ns: np.ndarray


class Worker(Process):
    """A process with one compiler. A method that sends a command raises `Failed`."""

    def __init__(
        self,
        spec: CompilerSpec,
        *,
        command: Sequence[str] = (),
        environ: dict[str, str] | None = None,
        **limits: Any,
    ) -> None:
        """command: Python's arguments to start another module that serves these commands. environ: further variables
        of the process. limits: cap_gib and timeout_s, see `Process`.
        """
        arguments = command or ["-m", worker.__name__, spec.module, spec.device, json.dumps(spec.options)]
        environ = {**(environ or {}), **({"XLA_FLAGS": spec.flags} if spec.flags else {})}
        super().__init__(spec.python or sys.executable, arguments, environ=environ, **limits)
        self.spec = spec
        self.others_share = 0.0
        """The share of the cores' time that other processes had during the last timing, 0 to 1."""
        self.compile_cpu_s = 0.0
        """Seconds of the processor that the last `load` took, of all threads and of the compiler's processes."""
        self._keys: set[str] = set()
        self._types: dict[str, list | None] = {}

    def versions(self) -> dict[str, str]:
        return self.ask("facts")["versions"]

    def graph(self, program: str | bytes) -> Graph:
        """Return the graph of a program: text, bytecode or a portable artifact. XLA only."""
        answer = self.ask("read", how="generic", path=self._write(program))
        return Graph.read(answer["text"], answer["functions"], answer["names"])

    def pretty(self, program: str | bytes) -> str:
        """Return a program in the short form of its dialects. XLA only."""
        return self.ask("read", how="pretty", path=self._write(program))

    def anonymous(self, program: str | bytes) -> str:
        """Return a program without names, locations and weights, see `mlir.anonymous`. XLA only."""
        return self.ask("read", how="anonymous", path=self._write(program))

    def stablehlo(self, proto: bytes) -> str:
        """Return the StableHLO text of a module that XLA dumped as a proto. XLA only."""
        return self.ask("read", how="from_hlo", path=self._write(proto))

    def portable(self, text: str) -> tuple[bytes, str]:
        """Return a program as a portable artifact, and the version of StableHLO that it is in. XLA only."""
        output = self.folder / "program.bin"
        version = self.ask("portable", path=self._write(text), output=str(output))
        return output.read_bytes(), version

    def load(self, name: str, program: str | bytes, options: dict[str, Any] | None = None) -> float:
        """Compile a program under a name; return the seconds on the clock."""
        answer = self.ask("load", name=name, path=self._write(program), options=options or {})
        self._types[name], self.compile_cpu_s = answer["types"], answer["cpu_s"]
        return answer["seconds"]

    def is_loaded(self, name: str) -> bool:
        """Return whether the process holds a program of this name."""
        return self.is_running and name in self._types

    def has(self, key: str) -> bool:
        """Return whether the device holds an array of this key."""
        return self.is_running and key in self._keys

    def put(self, key: str, array: np.ndarray) -> str:
        """Place an array on the device unless there is one of this key; return the key."""
        if key not in self._keys:
            path = self.folder / "array.npy"
            types.save(path, array)
            self.ask("put", key=key, path=str(path))
            self._keys.add(key)
        return key

    def place(self, name: str, arguments: Sequence[Argument], which: int = 0) -> None:
        """Place the values of a loaded program's arguments in a set of inputs, and bind them.

        Arguments of several programs that are one array in one layout share a buffer.
        """
        kinds = self._types[name] or [None] * len(arguments)
        keys = []
        if len(kinds) != len(arguments):
            why = f"expected {len(kinds)} arguments of {name}, got {len(arguments)}; fix: lower it again"
            raise Failed(Outcome(Status.ERROR, why))
        for argument, kind in zip(arguments, kinds, strict=True):
            number = 0 if argument.is_fixed else which
            keys.append(f"{argument.key} of set {number} as {kind}")
            if not self.has(keys[-1]):
                self.put(keys[-1], _as_argument(argument(number), kind, f"argument {len(keys) - 1} of {name}"))
        self.bind(name, keys, which)

    def bind(self, name: str, keys: Sequence[str], which: int = 0) -> None:
        """Choose the arrays that a program is called on with a set of inputs."""
        self.ask("bind", name=name, keys=list(keys), which=which)

    def call(self, name: str, which: int = 0) -> list[np.ndarray]:
        """Return the results of one call."""
        return self.timed_call(name, which)[0]

    def timed_call(self, name: str, which: int = 0) -> tuple[list[np.ndarray], int]:
        """Return the results of one call, and the ns that it took."""
        arrays, answer = self._results("call", name=name, which=which)
        return arrays, answer["ns"]

    def time(self, names: Sequence[str], seconds: float, least: int = 5, calls: int = 1) -> dict[str, Times]:
        """Time programs in interleaved rounds: at least so many, and so many seconds for each."""
        answer = self.ask("time", names=list(names), seconds=seconds, least=least, calls=calls)
        self.others_share = answer["others_share"]
        return {
            name: Times(*(np.array(one[key]) for key in Times._fields)) for name, one in answer["times"].items()
        }

    def hlo(self, name: str) -> str:
        """Return the optimised program. XLA only."""
        return self.ask("hlo", name=name)

    def buffers(self, program: str | bytes) -> dict[str, str]:
        """Return the texts of the buffer assignment and of the optimised program. XLA only."""
        return self.ask("buffers", path=self._write(program))

    def save(self, name: str, path: Path) -> None:
        """Write a compiled program, which another process on this machine can load."""
        self.ask("save", name=name, path=str(path.resolve()))

    def drop(self, *names: str) -> None:
        """Forget compiled programs."""
        self.ask("drop", names=list(names))
        for name in names:
            self._types.pop(name, None)

    def clear(self) -> None:
        """Forget all programs and arrays."""
        if self.is_running:
            self.ask("clear")
        self._keys, self._types = set(), {}

    def evaluate(self, job: dict[str, Any], folder: Path) -> dict[str, dict[str, Any]]:
        """Evaluate a program one operation at a time, see `evaluate.Evaluator.run`. XLA only."""
        path = folder / "evaluate.json"
        path.write_text(json.dumps(job))
        return self.ask("evaluate", path=str(path))

    def interpret(self, text: str, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the results of a program by the StableHLO interpreter. XLA only."""
        paths = [self.folder / f"argument-{number}.npy" for number in range(len(arrays))]
        for path, array in zip(paths, arrays, strict=True):
            types.save(path, array)
        return self._results("interpret", path=self._write(text), arguments=[*map(str, paths)])[0]

    def _start(self) -> None:
        super()._start()
        self._keys, self._types = set(), {}

    def _results(self, command: str, **arguments: Any) -> tuple[list[np.ndarray], dict[str, Any]]:
        """Send a command that writes arrays into a folder; return them and the answer."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        answer = self.ask(command, folder=str(folder), **arguments)
        arrays = [types.load(folder / f"{number}.npy") for number in range(answer["results"])]
        shutil.rmtree(folder)
        return arrays, answer

    def _write(self, program: str | bytes) -> str:
        path = self.folder / "program.mlir"
        path.write_bytes(program.encode() if isinstance(program, str) else program)
        return str(path)


def _as_argument(array: np.ndarray, kind: list | None, place: str) -> np.ndarray:
    """Return an array in the shape and element type of a program's argument; they may differ by extents of 1."""
    if kind is None:
        return array
    if [extent for extent in array.shape if extent != 1] != [extent for extent in kind[0] if extent != 1]:
        why = f"{place}: expected the program's shape {tuple(kind[0])}, got {array.shape}; fix: lower it again"
        raise Failed(Outcome(Status.ERROR, why))
    return np.ascontiguousarray(array).reshape(kind[0]).astype(types.dtype_of(kind[1]), copy=False)
