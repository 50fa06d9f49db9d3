"""How the parent of an interleaved run tells a child to run a slice of blocks, and hears that it has."""

from __future__ import annotations

import os
import subprocess
from typing import BinaryIO

REPLY = "STACKWARS_REPLY_FD"
"""Environment variable with the file descriptor on which a child answers."""


class Control:
    """The parent's end of the two pipes of a child. Nothing here raises for a child that has ended."""

    def __init__(self) -> None:
        reader, self.writer = os.pipe()
        self._answers: BinaryIO = os.fdopen(reader, "rb")
        self._child: subprocess.Popen | None = None

    def attach(self, child: subprocess.Popen | None) -> None:
        """Take the child whose standard input is a pipe, or None where it could not be started."""
        self._child = child
        os.close(self.writer)  # the child has its own copy: with its end the answers end

    @property
    def pid(self) -> int:
        """The child's process number."""
        return self._child.pid

    def answered(self) -> bool:
        """Wait for the child's next answer; False once it has ended."""
        return bool(self._answers.readline())

    def run_slice(self) -> bool:
        """Let the child run a slice of blocks, and wait until it has; False once it has ended."""
        try:
            self._child.stdin.write(b"go\n")
            self._child.stdin.flush()
        except (OSError, AttributeError, ValueError):
            return False
        return self.answered()

    def stop(self) -> None:
        """Tell the child that there are no more slices."""
        try:
            self._child.stdin.close()
        except (OSError, AttributeError):
            return
