"""A child's part in an interleaved run: a slice of blocks whenever its parent asks for one.

What slows the machine for a second then slows both processes alike, and hardly affects the ratio of times that
were taken right after each other. Standard library only: it runs in the process of a cell.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from stackwars.measure.events import Events
from stackwars.measure.interleaved_control import REPLY

REST_S = 0.05
STEP_S = 0.001
IDLE_SHARE = 0.2
"""A process is at rest if it used less than this share of a core during a step."""


def run_interleaved_blocks(
    block: Callable[[int], int], calls: int, seconds: float, events: Events
) -> None:
    """For each line on standard input, a slice: blocks for so many seconds (one at least), and an answer.

    block(number) runs the block of that number, counted over all slices, and returns its ns. Each slice is an
    event "interleaved". Ends with the standard input.
    """
    number = 0
    with os.fdopen(int(os.environ[REPLY]), "w", buffering=1) as answers:
        answers.write("ready\n")
        for _ in sys.stdin:
            ns: list[int] = []
            start = time.perf_counter()
            while not ns or time.perf_counter() - start < seconds:
                ns.append(block(number))
                number += 1
            events.write("interleaved", ns=ns, calls=calls)
            rest()
            answers.write("done\n")


def rest() -> None:
    """Wait until no thread of this process works any more, REST_S at most.

    PyTorch's OpenMP threads look for more work for about 4 ms after a call (libgomp, on two cores), which
    would be taken from the other process's slice.
    """
    end = time.perf_counter() + REST_S
    while time.perf_counter() < end:
        used, start = time.process_time(), time.perf_counter()
        time.sleep(STEP_S)
        if time.process_time() - used < IDLE_SHARE * (time.perf_counter() - start):
            return
