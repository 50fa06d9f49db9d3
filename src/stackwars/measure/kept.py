"""What is kept of how a child went: its resident memory as its watch saw it, and the end of its log."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path

from stackwars.measure.process_status import printable
from stackwars.measure.watch import tail
from stackwars.setup.environments import REPOSITORY

MOST = 200
"""Samples of a process that are kept."""
LINES = 20
"""Of a log."""
CHARACTERS, CHARACTERS_OF_OK = 4000, 500
"""Of those lines, at the most; of a process that ended well they matter less, and there are many."""

Sample = tuple[float, int]
"""Seconds since the start of the process, and resident bytes then."""


class Memory:
    """The resident memory of one child, sampled by `watch`, which looks at it anyway."""

    def __init__(self, start: float) -> None:
        """start: that of the child, on the clock of time.monotonic."""
        self._start = start
        self._samples: list[Sample] = []

    def add(self, resident: int) -> None:
        """One sample, in bytes, taken now; 0 is that of a child that is gone."""
        if resident:
            self._samples.append((time.monotonic() - self._start, resident))

    def document(self) -> dict[str, list]:
        """{"seconds", "bytes"}: at most MOST samples, in the order of time."""
        kept = thinned(self._samples, MOST)
        return {"seconds": [round(s, 2) for s, _ in kept], "bytes": [b for _, b in kept]}


def thinned(samples: Sequence[Sample], most: int) -> list[Sample]:
    """The largest of each series of equally many samples, so that the peak is among them; at most `most`.

    >>> thinned([(0.0, 1), (0.1, 5), (0.2, 3), (0.3, 2)], 2)
    [(0.1, 5), (0.2, 3)]
    """
    size = max(1, math.ceil(len(samples) / most))
    return [max(samples[at : at + size], key=lambda sample: sample[1]) for at in range(0, len(samples), size)]


def log_tail(path: Path, python: Path, ok: bool) -> str:
    """The last lines of a log, printable; empty where nothing was logged. python: that of the child.

    Results are committed and handed on, so the folders of this machine are named as from the repository.
    """
    text = printable(tail(path, LINES))
    folders = {python.parents[2]: ".envs", REPOSITORY: ".", Path.home(): "~"}
    for folder in sorted(folders, key=lambda folder: -len(str(folder))):
        if folder != Path(folder.anchor):
            text = text.replace(str(folder), folders[folder])
    return text[-(CHARACTERS_OF_OK if ok else CHARACTERS) :]
