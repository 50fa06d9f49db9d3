"""One run at a time, and no trouble from a run that was killed.

Snakemake's own lock is a set of files, which outlive a process that is killed; the default profile turns it off.
This one is held by the process itself. A killed run also leaves jobs that go on and would write the same files as
those of the next run: cells and compilations end with their run by themselves (`stackwars.measure.launch`), TeX and
the steps between do not.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import time
from pathlib import Path
from typing import TextIO

from stackwars.measure import limits
from stackwars.measure.launch import RUNNER

LOCK = Path("results", ".run.lock")
TAKEN = "another run is already using this folder; fix: wait for it, or end it"
WAIT_S = 5.0


def take() -> TextIO | None:
    """Return the lock, held for as long as this file stays open; None if another run has it.

    :raises OSError: if the folder of results cannot be written.
    """
    LOCK.parent.mkdir(exist_ok=True)
    file = LOCK.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def orphans(folder: Path) -> list[int]:
    """Return the processes at work in this folder or below that a run which has ended started."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return [pid for pid in pids if pid != os.getpid() and _is_orphan(pid, folder.resolve())]


def end_orphans(folder: Path) -> int:
    """Kill them, wait until they are gone and return their number. For a run that holds the lock."""
    left = orphans(folder)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + WAIT_S
    while any(map(limits.alive, left)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return len(left)


def _is_orphan(pid: int, folder: Path) -> bool:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        working = Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return False  # it has ended, or is another user's
    name = f"{RUNNER}=".encode()
    runner = next((v[len(name) :] for v in variables if v.startswith(name)), b"")
    is_below = working == folder or folder in working.parents
    return is_below and runner.isdigit() and not limits.alive(int(runner))
