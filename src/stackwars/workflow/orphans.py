"""What a killed run leaves behind: jobs that go on, and would write the same files as those of the next run.

The processes of cells and compilations end with their run by themselves (`stackwars.measure.launch`); TeX and
the steps between do not.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from stackwars.measure import limits
from stackwars.measure.launch import RUNNER

WAIT_S = 5.0


def find(folder: Path) -> list[int]:
    """Processes at work in this folder or below that were started by a run which is no more."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return [pid for pid in pids if pid != os.getpid() and _is_left(pid, folder.resolve())]


def end(folder: Path) -> int:
    """Kill them, and wait until they are gone; how many there were. For a run that holds the lock."""
    left = find(folder)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + WAIT_S
    while any(map(limits.alive, left)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return len(left)


def _is_left(pid: int, folder: Path) -> bool:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        at = Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return False  # it has ended, or is another user's
    name = f"{RUNNER}=".encode()
    runner = next((v[len(name) :] for v in variables if v.startswith(name)), b"")
    here = at == folder or folder in at.parents
    return here and runner.isdigit() and not limits.alive(int(runner))
