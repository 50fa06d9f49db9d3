"""One run at a time, and no trouble from a run that was killed.

Snakemake's own lock is a set of files, which outlive a process that is killed. This one is held by
the process itself, so it tells whether those files belong to anyone.
"""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import TextIO

LOCK = Path("results", ".run.lock")
TAKEN = "another run is already using this folder; fix: wait for it, or end it"
SNAKEMAKE_LOCKS = Path(".snakemake", "locks")


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


def clear_stale() -> bool:
    """Remove Snakemake's lock files if no run can own them; return whether none can."""
    held = take()
    if held is None:
        return False
    with held:
        for path in SNAKEMAKE_LOCKS.glob("*.lock"):
            path.unlink(missing_ok=True)
    return True
