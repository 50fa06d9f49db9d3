"""How long a cache line takes from one core to another one and back.

The host may run the virtual cores of this machine on one die or on two, and changes it every few seconds. No counter of
the kernel shows it, no core is slower by itself, and yet what passes data between the cores takes up to 1.5 times as
long: docs/protocol.md has the figures. Standard library only: the file is its helper process too.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from types import TracebackType

LAPS, TRIPS = 8, 15
"""A reading is the shortest of so many laps, of so many round trips each; all together fit the byte that counts."""
SPINS = 200_000
"""Readings of the byte until the other side counts as absent: some 30 ms."""


class CoreDistance:
    """Reads the distance of the first and the last of some cores; between readings no core is used.

    with CoreDistance(cores) as distance:
        distance.read()     # ns of a round trip, Python's loop included; None if the other core did not answer
    """

    def __init__(self, cpus: set[int]) -> None:
        self._cpus = min(cpus), max(cpus)

    def __enter__(self) -> CoreDistance:
        file = os.memfd_create("line")
        os.truncate(file, mmap.PAGESIZE)
        self._line = mmap.mmap(file, mmap.PAGESIZE)
        command = [sys.executable, "-I", "-S", __file__, str(file), str(self._cpus[1])]
        self._helper = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[file], bufsize=0
        )
        os.close(file)
        self._helper.stdout.read(1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._helper.kill()
        self._helper.communicate()
        self._line.close()

    def read(self) -> int | None:
        """Return the ns of a round trip, or None if the other core did not answer."""
        self._line[0] = 0
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {self._cpus[0]})  # of this thread alone
        try:
            self._helper.stdin.write(b"\n")
            laps = list(_laps(self._line))
            self._helper.stdout.read(1)
        except OSError:
            return None
        finally:
            os.sched_setaffinity(0, allowed)
        return min(laps) // TRIPS if len(laps) == LAPS else None


def _laps(line: mmap.mmap) -> list[int]:
    """Return the ns of each lap; fewer laps if the other side did not answer."""
    result: list[int] = []
    for lap in range(LAPS):
        start = time.perf_counter_ns()
        for trip in range(lap * TRIPS, (lap + 1) * TRIPS):
            line[0] = 2 * trip + 1
            if not _seen(line, 2 * trip + 2):
                return result
        result.append(time.perf_counter_ns() - start)
    return result


def _seen(line: mmap.mmap, value: int) -> bool:
    for _ in range(SPINS):  # noqa: SIM110 (twice as fast as any())
        if line[0] == value:
            return True
    return False


def _answer(line: mmap.mmap) -> None:
    for trip in range(LAPS * TRIPS):
        if not _seen(line, 2 * trip + 1):
            return
        line[0] = 2 * trip + 2


def main() -> None:
    """Answer on a core, once for each byte of standard input: the arguments are a file's descriptor and the core.

    A byte of standard output says that it is ready, and one that it has answered.
    """
    line = mmap.mmap(int(sys.argv[1]), mmap.PAGESIZE)
    os.sched_setaffinity(0, {int(sys.argv[2])})
    os.write(1, b"\n")
    while os.read(0, 1):
        _answer(line)
        os.write(1, b"\n")


if __name__ == "__main__":
    main()
