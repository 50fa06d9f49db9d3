"""Interleaved runs: the process of a cell and its partner, a process of the baseline, run slices alternately.

Each is supervised like any process of a cell. The partner starts when the first process has finished its own
steady state; from then on at most one of them runs. What slows the machine for a second then slows both alike, and
hardly affects the ratio of times that were taken right after each other. A slice has to settle: docs/protocol.md says
why. Standard library only: a part of it runs in the process of a cell.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from stackwars.measure import limits
from stackwars.measure.contention import Meter, wait_share
from stackwars.measure.documents import Events, event, read_events

HEADROOM = 1.25
"""The partner may need as much memory as the first process has, and a quarter more must be free."""
MIN_PAIRS = 3
PARTNER_STEADY_S = 0.4
KEPT = ("status", "status_detail", "framework", "wall_s", "peak_rss_bytes", "environment", "events")
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


class Control:
    """The parent's end of the two pipes of a child. Nothing here raises for a child that has ended."""

    def __init__(self) -> None:
        reader, self.writer = os.pipe()
        self._answers: BinaryIO = os.fdopen(reader, "rb")
        self._child: subprocess.Popen | None = None
        self._closed = False

    def attach(self, child: subprocess.Popen | None) -> None:
        """Take the child whose standard input is a pipe, or None if it was not started."""
        self._child = child
        self.close()

    def close(self) -> None:
        """Close this process's copy of the writing end: the answers end with the child, or at once without one."""
        if not self._closed:
            self._closed = True
            os.close(self.writer)

    @property
    def pid(self) -> int:
        """The child's process number."""
        return self._child.pid

    def answered(self) -> bool:
        """Wait for the child's next answer; False once it has ended."""
        return bool(self._answers.readline())

    def run_slice(self) -> bool:
        """Let the child run a slice of blocks, and wait until it has; False once it has ended."""
        try:
            self._child.stdin.write(b"go\n")
            self._child.stdin.flush()
        except (OSError, AttributeError, ValueError):
            return False
        return self.answered()

    def stop(self) -> None:
        """Tell the child that there are no more slices."""
        try:
            self._child.stdin.close()
        except (OSError, AttributeError):
            return


def run_with_partner(
    supervise: Any, job: Any, python: Path, partner_python: Path, folder: Path, seed: str
) -> dict:
    """Return the result of the job's process, with that of its partner under "partner".

    supervise: `supervisor.supervise` of a child module. job: its `partner` has what of the job is another
    for the partner: {"framework", "dialect"}, and in an audit "sizes". If the partner was not
    started, or failed, its status says so, and the first process's result is what it would have
    been without it.
    """
    first, second = Control(), Control()
    found: dict[str, Any] = {}
    # Nothing reads its steady state but its slices, for how long it usually waits for a core.
    short = {"steady_seconds": min(PARTNER_STEADY_S, job.settings["steady_seconds"])}
    partner_job = replace(job, **job.partner, partner=None, settings={**job.settings, **short})

    def run_partner() -> None:
        try:
            found.update(supervise(partner_job, partner_python, folder / "partner", control=second))
        except Exception as error:  # of the disk, for instance: the first process's result stands
            found.update(status="error", status_detail=f"{type(error).__name__}: {error}")
        finally:
            second.close()

    def interleave() -> None:
        partner = threading.Thread(target=run_partner)
        if first.answered():
            reason = _too_slow(folder, job.settings["interleaved_seconds"]) or _no_memory(first.pid)
            if reason:
                found.update(status="not run", status_detail=reason, events=[], wall_s=0.0)
            else:
                partner.start()
                if second.answered():
                    _alternate(first, second, job.settings["interleaved_seconds"], random.Random(seed))
        second.stop()
        first.stop()
        if partner.ident:
            partner.join()

    thread = threading.Thread(target=interleave)
    thread.start()
    try:
        result = supervise(job, python, folder, control=first)
    finally:
        first.close()  # else a child that was never started would leave the thread waiting
        thread.join()
    if not found:
        found.update(status="not run", status_detail="the first process ended before it could start")
    kept = {"events": [], "wall_s": 0.0} | {key: found[key] for key in KEPT if key in found}
    return {**result, "partner": {**kept, "framework": partner_job.framework}}


def _alternate(first: Control, second: Control, seconds: float, order: random.Random) -> None:
    """Pairs of slices, each in random order, until the seconds are over; one pair more to warm up."""
    start, pairs = time.monotonic(), 0
    while pairs <= MIN_PAIRS or time.monotonic() - start < seconds:
        sides = [first, second]
        order.shuffle(sides)
        if not all(side.run_slice() for side in sides):
            return
        pairs += 1


def _too_slow(folder: Path, seconds: float) -> str:
    """Why the process in this folder is too slow to be interleaved; empty if it is not.

    Its pairs would take minutes of every round.
    """
    block_s = statistics.median(event({"events": read_events(folder)}, "steady")["ns"]) / 1e9
    if block_s <= seconds:
        return ""
    return f"a block takes {block_s:.1f} s, too long to be interleaved within {seconds:g} s"


def _no_memory(pid: int) -> str:
    """Why there is no memory for a second process beside the first; empty if there is."""
    used, free = limits.resident_bytes(pid), limits.available_memory_bytes()
    if free >= HEADROOM * used:
        return ""
    return (
        f"{free / limits.GIB:.1f} GiB are free, too few for a second process beside one of "
        f"{used / limits.GIB:.1f} GiB"
    )


def pairs_ms(process: dict) -> list[tuple[float, float]]:
    """(process, partner) in ms a call, for each pair of slices but the first, which warms up; [] for none.

    The value of a slice is the median of its blocks once it has settled. Where none settles, one waits
    for cores as its process alone did not; of fewer than MIN_PAIRS in which both did, nothing is concluded.
    Of more than two blocks that were settled from the first, that one is left out: it finds the caches full
    of the other process's data.
    """
    partner = process.get("partner") or {}
    if partner.get("status") != "ok":
        return []
    both = [
        [event for event in side["events"] if event["event"] == "interleaved"] for side in (process, partner)
    ]
    pairs = list(zip(*both, strict=False))[1:]
    result = [
        tuple(map(_slice_ms, pair))
        for pair in pairs
        # Slices of runs of before were not told apart.
        if all(one.get("settled", True) for one in pair)
    ]
    return result if len(result) >= min(MIN_PAIRS, len(pairs)) else []


def round_ratio(pairs: list[tuple[float, float]]) -> float:
    """A round's ratio process/partner: the median over its pairs of slices."""
    return statistics.median(value / base for value, base in pairs)


def _slice_ms(event: dict) -> float:
    ns = event["ns"]
    ns = ns[event.get("settling", 0) or int(len(ns) > 2) :]
    return statistics.median(ns) / event["calls"] / 1e6


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
