"""A child's part in an interleaved run: a slice of blocks whenever its parent asks for one.

What slows the machine for a second then slows both processes alike, and hardly affects the ratio of times that
were taken right after each other. Standard library only: it runs in the process of a cell.

The threads of a pool that have slept for 20 ms or more, as they do during the other process's slice, may all be
woken on one core. There they take turns until the kernel spreads them, up to 120 ms later in trials. A process
that calls without a pause is not in that state, so the blocks until then do not count.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from stackwars.measure.contention import Meter, wait_share
from stackwars.measure.events import Events

REPLY = "STACKWARS_REPLY_FD"
"""Environment variable with the file descriptor on which a child answers."""
REST_S = 0.05
STEP_S = 0.001
IDLE_SHARE = 0.2
"""A process is at rest if it used less than this share of a core during a step."""
SETTLED = 0.05
SETTLE_S = 0.25
"""A slice has settled once a block's wait share is at most so much above the usual; it is given up after
so many seconds."""


def run_interleaved_blocks(
    block: Callable[[int], int], calls: int, seconds: float, usual: float, events: Events
) -> None:
    """For each line on standard input, a slice: blocks for so many seconds (one at least), and an answer.

    block(number) runs the block of that number, counted over all slices, and returns its ns. The seconds
    begin with the first block of a slice that is settled: whose wait share exceeds `usual`, that of the
    process's steady blocks, by SETTLED at most; or after SETTLE_S. Each slice is an event "interleaved"
    with the number of blocks before that one, and whether it was settled. Ends with the standard input.
    """
    number, meter = 0, Meter()
    with os.fdopen(int(os.environ[REPLY]), "w", buffering=1) as answers:
        answers.write("ready\n")
        for _ in sys.stdin:
            ns: list[int] = []
            settled, settling, start = False, 0, time.perf_counter()
            meter.read()
            while not ns or time.perf_counter() - start < (seconds if settled else SETTLE_S):
                begin = time.perf_counter()
                ns.append(block(number))
                number += 1
                used = None if settled else meter.read()
                if used and wait_share(used.run, used.wait) <= usual + SETTLED:
                    settled, settling, start = True, len(ns) - 1, begin
            events.write("interleaved", ns=ns, calls=calls, settled=settled, settling=settling)
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
