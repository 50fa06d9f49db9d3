"""How long a cache line takes from one core to another one and back.

A host moves the virtual cores of a machine every few seconds, onto one die or two. No counter of the kernel shows it,
each core is as fast as before, and yet a call that passes data between the cores takes up to 1.6 times as long:
docs/protocol.md has the figures. A program of C++ measures it, because a loop of Python takes
longer than the line and at times reads far where cores are near. Without a C++ compiler it is not measured.
"""

from __future__ import annotations

import hashlib
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

from stackwars.setup import tools

SOURCE = Path(__file__).with_suffix(".cpp")
PATIENCE_S = 1.0
"""A reading takes 0.3 to 2 ms; one that takes this long is given up, and so are those after it."""


class CoreDistance:
    """Reads the distance of the first and the last of some cores; between readings no core is used.

    with CoreDistance(cores) as distance:
        distance.read()     # ns of a round trip; None if it is not known
    """

    def __init__(self, cpus: set[int]) -> None:
        self._cpus = min(cpus), max(cpus)
        self._reader: subprocess.Popen | None = None

    def __enter__(self) -> CoreDistance:
        if self._cpus[0] < self._cpus[1] and (program := _program()):
            command = [str(program), *map(str, self._cpus)]
            self._reader = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def read(self) -> int | None:
        """Return the ns of a round trip; None without a second core or a compiler, or if the cores do not answer."""
        if not self._reader:
            return None
        try:
            self._reader.stdin.write("\n")
            is_there, _, _ = select.select([self._reader.stdout], [], [], PATIENCE_S)
            return int(self._reader.stdout.readline()) if is_there else self._close()
        except (OSError, ValueError):  # it has ended
            return self._close()

    def _close(self) -> None:
        if self._reader:
            self._reader.kill()
            self._reader.wait()
            for pipe in (self._reader.stdin, self._reader.stdout):
                pipe.close()
            self._reader = None


def _program() -> Path | None:
    """Return the compiled program, which this environment keeps; None if it cannot be compiled."""
    program = Path(sys.prefix) / f"core_distance-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]}"
    if program.exists():
        return program
    try:
        with tempfile.TemporaryDirectory(dir=sys.prefix) as folder:
            made = Path(folder) / program.name
            command = [tools.cxx_compiler(), "-O2", "-pthread", str(SOURCE), "-o", str(made)]
            subprocess.run(command, check=True, capture_output=True)
            made.replace(program)
    except (OSError, subprocess.CalledProcessError):
        return None
    return program
