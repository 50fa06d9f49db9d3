"""A child's part in a duel: blocks in turn with another process, when their parent says so.

What slows the machine for a second then slows both sides alike, and the ratio of what they took at almost the
same time is all but free of it. Standard library only: it runs in the process of a cell.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from stackwars.measure.events import Events
from stackwars.measure.side import REPLY


def take_turns(block: Callable[[int], int], calls: int, seconds: float, events: Events) -> None:
    """For each line on standard input, blocks for so many seconds (one at least), and an answer.

    block(number) runs the block of that number, counted over all turns, and returns its ns. Each turn is an
    event "turn". Ends with the standard input.
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
            events.write("turn", ns=ns, calls=calls)
            answers.write("done\n")
