"""One timing process at a time on this machine. Standard library only: children use it too."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from stackwars.measure import nodes


@contextmanager
def alone() -> Iterator[None]:
    """Hold the lock that every measured cell holds: two at once would measure each other."""
    path = nodes.lock()
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
