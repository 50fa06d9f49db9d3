"""The estimator: loops of two programs alternate, A B B A A B, and each pair of neighbours gives a ratio.

A loop runs blocks of fenced calls. Blocks that begin before SETTLE_S do not count: the caches still hold the other
program's data, and threads that slept wake up. Whatever slows the machine for a second slows both loops of a pair.
Standard library only: a part runs in the measured process.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

LOOP_S = 0.1
"""Seconds of blocks that a loop counts; at least one block."""
SETTLE_S = 0.05
"""Blocks that begin earlier in a loop are dropped."""
LONG_S = 1.0
"""A block that takes longer is counted even if it is the first: it outlasts the settling."""


def run_loop(
    block: Callable[[], int], clock: Callable[[], int] = time.perf_counter_ns
) -> tuple[list[int], int]:
    """Run one loop; return (ns of every block, how many of the first are dropped).

    block: runs a block and returns its ns.
    """
    ns: list[int] = []
    dropped, counted_ns, start = 0, 0, clock()
    while counted_ns < 1e9 * LOOP_S:
        is_settled = clock() - start >= 1e9 * SETTLE_S
        ns.append(block())
        if is_settled or ns[-1] > 1e9 * LONG_S:
            counted_ns += ns[-1]
        else:
            dropped = len(ns)
    return ns, dropped


def counted(event: dict) -> list[int]:
    """Return the ns of the counted blocks of an event `loop`."""
    return event["ns"][event["dropped"] :]


def loop_ms(event: dict) -> float:
    """Return the value of a loop: the median of its counted blocks, in ms a call."""
    return statistics.median(counted(event)) / event["calls"] / 1e6


def loops_of(process: dict, program: str = "") -> list[dict]:
    """Return the loops of a process, or of one of its programs, in the order of time."""
    return [
        event for event in process["events"] if event["event"] == "loop" and event.get("program", "") == program
    ]


def pairs(events_a: Sequence[dict], events_b: Sequence[dict]) -> list[tuple[float, float]]:
    """Return (ms, ms) of each pair of neighbouring loops: the first of both, the second of both, and so on.

    A round that was cut off leaves a loop without its neighbour, which is no pair.
    """
    return [(loop_ms(a), loop_ms(b)) for a, b in zip(events_a, events_b, strict=False)]


def round_ratio(pairs_ms: Sequence[tuple[float, float]]) -> float:
    """Return the ratio of a round: the median over its pairs of the first over the second."""
    return statistics.median(a / b for a, b in pairs_ms)


def side_ms(events: Sequence[dict]) -> float:
    """Return one side's ms a call in a round: the median over its loops."""
    return statistics.median(map(loop_ms, events))
