"""The two pipes between a process that measures and the parent that says whose turn it is.

The parent writes commands, one a line; the end of the file says that there are no more. The process answers "ready"
once it is built, and after each command with the ns of its longest block. Standard library only: a part of it runs
in the process that is measured.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import BinaryIO

REPLY = "STACKWARS_REPLY_FD"
"""Environment variable with the file descriptor on which a child answers."""
REST_S = 0.05
STEP_S = 0.001
IDLE_SHARE = 0.2
"""A process is at rest if it used less than this share of a core during a step."""


class Control:
    """The parent's end of the two pipes of a child. Nothing here raises for a child that has ended."""

    def __init__(self) -> None:
        reader, self.writer = os.pipe()
        self._answers: BinaryIO = os.fdopen(reader, "rb")
        self._child: subprocess.Popen | None = None
        self._closed = False
        self.is_cancelled = threading.Event()
        """Set if the child is to be killed."""

    def attach(self, child: subprocess.Popen | None) -> None:
        """Take the child whose standard input is a pipe, or None if it was not started."""
        self._child = child
        self.close()

    def close(self) -> None:
        """Close this process's copy of the writing end: the answers end with the child, or at once without one."""
        if not self._closed:
            self._closed = True
            os.close(self.writer)

    def answer(self) -> str:
        """Wait for the child's next answer; empty once it has ended."""
        return self._answers.readline().decode().strip()

    def command(self, line: str) -> str:
        """Send a command and wait for the answer; empty once the child has ended."""
        try:
            self._child.stdin.write(f"{line}\n".encode())
            self._child.stdin.flush()
        except (OSError, AttributeError, ValueError):
            return ""
        return self.answer()

    def finish(self) -> None:
        """Tell the child that there are no more commands."""
        try:
            self._child.stdin.close()
        except (OSError, AttributeError):
            return


def has_parent() -> bool:
    """Return whether a parent says what this process does next."""
    return REPLY in os.environ


def obey(perform: Callable[[str, str], int]) -> None:
    """Perform the parent's commands until there are no more.

    perform: gets a command's two words, of which the second may be empty, and returns the ns of its longest block.
    """
    with os.fdopen(int(os.environ[REPLY]), "w", buffering=1) as answers:
        answers.write("ready\n")
        for line in sys.stdin:
            what, _, of = line.rstrip("\n").partition(" ")
            longest_ns = perform(what, of)
            rest()
            answers.write(f"{longest_ns}\n")


def rest() -> None:
    """Wait until no thread of this process works any more, REST_S at most.

    PyTorch's OpenMP threads look for more work for about 4 ms after a call (libgomp, on two cores), which
    would be taken from the other process's turn.
    """
    end = time.perf_counter() + REST_S
    while time.perf_counter() < end:
        used, start = time.process_time(), time.perf_counter()
        time.sleep(STEP_S)
        if time.process_time() - used < IDLE_SHARE * (time.perf_counter() - start):
            return
