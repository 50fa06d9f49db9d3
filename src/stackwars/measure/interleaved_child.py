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
            answers.write("done\n")
