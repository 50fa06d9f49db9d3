"""How a parent waits for its child: with an eye on its memory, its time, and the workflow that asked."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from stackwars.measure import limits

POLL_S = 0.1
RUNNER = "STACKWARS_RUNNER_PID"
"""Environment variable with the process number of the workflow; the child must not outlive it."""


def watch(
    pid: int, cap: int, deadline: float, seen: Callable[[int], None] = lambda resident: None
) -> tuple[bool, bool]:
    """Wait until the child can be reaped; kill it for its memory, its time or a dead workflow.

    cap: bytes. deadline: on the clock of time.monotonic. seen: is told the resident bytes each time that they
    are looked at, every POLL_S. Returns whether it was killed for its time, and whether for its memory.
    """
    runner = int(os.environ.get(RUNNER, os.getppid()))
    timed_out = over_cap = False
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        resident = limits.resident_bytes(pid)
        seen(resident)
        over_cap = resident > cap
        timed_out = time.monotonic() > deadline
        if not limits.alive(runner):
            os.killpg(pid, signal.SIGKILL)
            sys.exit("the workflow that asked for this cell is gone: the cell was stopped")
        if over_cap or timed_out:
            os.killpg(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            break
        time.sleep(POLL_S)
    return timed_out, over_cap


def tail(path: Path, lines: int = 30) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
