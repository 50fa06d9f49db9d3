"""Start worker processes in compilers' environments, send them commands, and say how they ended.

A command of a process that crashes or hangs raises `Crashed` or `TimedOut`; the next command starts another
process, which has no programs and no buffers.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import stackwars
from stackwars.compilers import XLA
from stackwars.compilers.check import last_line
from stackwars.explain.graph import Graph
from stackwars.explain.worker import REPLY
from stackwars.ir.program_text import place
from stackwars.measure import launch, limits
from stackwars.setup import environments

SOURCE = Path(stackwars.__file__).parents[1]


class Refused(Exception):
    """The compiler, or the runtime, says why it does not take the program."""


class Crashed(Exception):
    """A signal ended the process. signal: its name. command: what it was doing."""

    def __init__(self, signal_name: str, command: str, said: str) -> None:
        super().__init__(f"{signal_name} in {command}" + (f"; last line: {said}" if said else ""))
        self.signal, self.command = signal_name, command


class TimedOut(Exception):
    """A command took too long, and its process was ended."""


@dataclass(frozen=True)
class CompilerSpec:
    """A compiler in an environment.

    module: of `stackwars.compilers`. options: of its constructor. pins: file of the environment; "" for this Python.
    """

    name: str
    module: str = XLA
    options: dict[str, Any] = field(default_factory=dict)
    pins: str = ""

    def python(self) -> Path:
        """Return the environment's Python; the environment is built if it is missing."""
        return environments.ensure(Path(self.pins)) if self.pins else Path(sys.executable)


class Times(NamedTuple):
    """Nanoseconds of each round: on the clock, and of all the process's threads."""

    wall_ns: np.ndarray
    cpu_ns: np.ndarray


class Worker:
    """A process of a compiler, started by its first command; a context manager that ends it."""

    def __init__(self, spec: CompilerSpec, *, cap_gib: float | str = "auto", timeout_s: float = 300) -> None:
        """cap_gib: of its memory. timeout_s: of one command."""
        self.spec, self.timeout_s = spec, timeout_s
        self._cap = limits.cap_bytes(cap_gib)
        self.folder = Path(tempfile.mkdtemp(prefix="stackwars-"))
        self._child: subprocess.Popen | None = None
        self._answers: int = -1
        self._buffer = b""
        self._keys: set[str] = set()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def versions(self) -> dict[str, str]:
        return self._ask("versions")

    def generic(self, text: str) -> Graph:
        """Return the graph of a program. XLA alone. Raises Refused with the parser's message."""
        answer = self._ask("generic", text=text)
        places = {
            name: [place(location) for location in locations] for name, locations in answer["places"].items()
        }
        return Graph.read(answer["text"], places)

    def pretty(self, text: str) -> str:
        """Return a program in the short form of its dialects. XLA alone."""
        return self._ask("pretty", text=text)

    def compile(self, name: str, text: str, options: dict[str, Any] | None = None) -> float:
        """Compile a program under a name; return the seconds. Raises Refused, Crashed, TimedOut or
        MemoryError.
        """
        path = self.folder / "program.mlir"
        path.write_text(text)
        return self._ask("compile", name=name, path=str(path), options=options or {})

    def has(self, key: str) -> bool:
        """Return whether the device holds an array of this key."""
        return self._child is not None and key in self._keys

    def put(self, key: str, array: np.ndarray) -> str:
        """Place an array on the device unless there is one of this key; return the key."""
        if key not in self._keys:
            path = self.folder / "array.npy"
            np.save(path, array)
            self._ask("put", key=key, path=str(path))
            self._keys.add(key)
        return key

    def bind(self, name: str, keys: list[str]) -> None:
        """Choose the arguments of a compiled program."""
        self._ask("bind", name=name, keys=keys)

    def run(self, name: str) -> list[np.ndarray]:
        """Return the results of one call."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        count = self._ask("run", name=name, folder=str(folder))
        arrays = [np.load(folder / f"{number}.npy") for number in range(count)]
        shutil.rmtree(folder)
        return arrays

    def time(self, names: list[str], seconds: float, least: int = 5, calls: int = 1) -> dict[str, Times]:
        """Time programs in interleaved rounds: at least so many, and so many seconds for each."""
        answer = self._ask("time", names=list(names), seconds=seconds, least=least, calls=calls)
        return {name: Times(*(np.array(one[key]) for key in Times._fields)) for name, one in answer.items()}

    def others_share(self) -> float:
        """Return the share of the cores' time that other processes had during the last timing, 0 to 1."""
        return self._ask("others_share")

    def hlo(self, name: str) -> str:
        """Return the optimised program. XLA alone."""
        return self._ask("hlo", name=name)

    def drop(self, *names: str) -> None:
        """Forget compiled programs."""
        self._ask("drop", names=list(names))

    def evaluate(self, path: Path) -> dict[str, dict[str, Any]]:
        """Evaluate a program one operation at a time, see `worker.Commands.evaluate`. XLA alone."""
        return self._ask("evaluate", path=str(path))

    def stop(self) -> None:
        """End the process; the next command starts another."""
        if self._child:
            self._child.kill()
            self._child.wait()
            # A command that a dead process did not take is still in the buffer, and closing would send it.
            with contextlib.suppress(BrokenPipeError):
                self._child.stdin.close()
            os.close(self._answers)
            self._child = None

    def close(self) -> None:
        """End the process and remove its files."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self) -> None:
        python = self.spec.python()
        reader, writer = os.pipe()
        environ = environments.clean_environ({"PYTHONPATH": str(SOURCE), REPLY: str(writer)})
        arguments = ["-m", "stackwars.explain.worker", self.spec.module, json.dumps(self.spec.options)]
        with (self.folder / "log.txt").open("wb") as log:
            self._child = launch.start_child(
                *(python, arguments, environ, self._cap),
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=(writer,),
            )
        os.close(writer)
        self._answers, self._buffer, self._keys = reader, b"", set()

    def _ask(self, command: str, **arguments: Any) -> Any:
        if not self._child:
            self._start()
        try:
            self._child.stdin.write(json.dumps([command, arguments]).encode() + b"\n")
            self._child.stdin.flush()
        except OSError:
            raise self._crashed(command) from None
        answer = json.loads(self._line(command))
        if "error" not in answer:
            return answer["result"]
        if answer["memory"]:
            raise MemoryError(answer["error"])
        if answer["type"] == "TimeoutError":
            raise TimedOut(answer["error"])
        raise Refused(answer["error"])

    def _line(self, command: str) -> bytes:
        end = time.monotonic() + self.timeout_s
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0, end - time.monotonic()))
            if not ready:
                self.stop()
                raise TimedOut(f"no end after {self.timeout_s:g} s in {command}")
            part = os.read(self._answers, 1 << 20)
            if not part:
                raise self._crashed(command)
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _crashed(self, command: str) -> Crashed:
        code = self._child.wait()
        log = launch.tail(self.folder / "log.txt")
        self.stop()
        name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        return Crashed(name, command, last_line(log))
