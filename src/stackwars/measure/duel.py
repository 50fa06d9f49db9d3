"""Two processes of one workload that take turns: the one of a cell, and its partner of the baseline.

Each is supervised like any process of a cell. The partner starts when the other has finished its own steady
state; from then on never more than one of them works.
"""

from __future__ import annotations

import random
import statistics
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from stackwars.measure import limits
from stackwars.measure.events import event, read_events
from stackwars.measure.side import Side

HEADROOM = 1.25
"""The partner may need as much memory as the first process has, and a quarter more must be free."""
MIN_TURNS = 3
KEPT = ("status", "status_detail", "framework", "wall_s", "peak_rss_bytes", "environment", "events")


def fight(
    supervise: Any, job: Any, python: Path, partner_python: Path, folder: Path, seed: str
) -> dict:
    """The result of the job's process, with that of its partner under "partner".

    supervise: `supervisor.supervise` of a child module. job: its `partner` has what of the job is another
    for the partner: {"framework", "dialect"}, and in an audit "sizes". Where the partner was not
    started, or failed, its status says so, and the first process's result is what it would have
    been without it.
    """
    ours, theirs = Side(), Side()
    found: dict[str, Any] = {}
    # It has no steady state of its own: nobody reads it.
    short = {"steady_seconds": 0.0, "steady_min_blocks": 1, "steady_max_blocks": 1}
    opponent = replace(job, **job.partner, partner=None, settings={**job.settings, **short})

    def partner() -> None:
        found.update(supervise(opponent, partner_python, folder / "partner", side=theirs))

    def referee() -> None:
        second = threading.Thread(target=partner)
        if ours.answered():
            against = _too_slow(folder, job.settings["duel_seconds"]) or _lacking(ours.pid)
            if against:
                found.update(status="not run", status_detail=against, events=[], wall_s=0.0)
            else:
                second.start()
                if theirs.answered():
                    _alternate(ours, theirs, job.settings["duel_seconds"], random.Random(seed))
        theirs.dismiss()
        ours.dismiss()
        if second.ident:
            second.join()

    thread = threading.Thread(target=referee)
    thread.start()
    result = supervise(job, python, folder, side=ours)
    thread.join()
    if not found:
        found.update(
            status="not run", status_detail="the first process ended before it could start"
        )
    kept = {"events": [], "wall_s": 0.0} | {key: found[key] for key in KEPT if key in found}
    return {**result, "partner": {**kept, "framework": opponent.framework}}


def _alternate(ours: Side, theirs: Side, seconds: float, order: random.Random) -> None:
    """Pairs of turns, each in random order, until the seconds are over; one pair more to warm up."""
    start, pairs = time.monotonic(), 0
    while pairs <= MIN_TURNS or time.monotonic() - start < seconds:
        sides = [ours, theirs]
        order.shuffle(sides)
        if not all(side.turn() for side in sides):
            return
        pairs += 1


def _too_slow(folder: Path, seconds: float) -> str:
    """Why the process in this folder is too slow for turns; empty if it is not.

    Its pairs would take minutes of every round.
    """
    block_s = statistics.median(event({"events": read_events(folder)}, "steady")["ns"]) / 1e9
    if block_s <= seconds:
        return ""
    return f"a block takes {block_s:.1f} s, too long for turns within {seconds:g} s"


def _lacking(pid: int) -> str:
    """Why there is no memory for a second process beside the first; empty if there is."""
    used, free = limits.resident_bytes(pid), psutil.virtual_memory().available
    if free >= HEADROOM * used:
        return ""
    return (
        f"{free / limits.GIB:.1f} GiB are free, too few for a second process beside one of "
        f"{used / limits.GIB:.1f} GiB"
    )


def pairs_ms(process: dict) -> list[tuple[float, float]]:
    """(ours, theirs) in ms a call of each pair of turns but the first, which warms up; [] without a duel.

    A turn's value is the median of its blocks, of a turn of many blocks without the first: it finds the
    caches full of the other's data.
    """
    partner = process.get("partner") or {}
    if partner.get("status") != "ok":
        return []
    both = [
        [_turn_ms(event) for event in side["events"] if event["event"] == "turn"]
        for side in (process, partner)
    ]
    return list(zip(*both, strict=False))[1:]


def ratio(pairs: list[tuple[float, float]]) -> float:
    """A round's ratio: the median over its pairs of turns."""
    return statistics.median(ours / theirs for ours, theirs in pairs)


def _turn_ms(event: dict) -> float:
    ns = event["ns"][1:] if len(event["ns"]) > 2 else event["ns"]
    return statistics.median(ns) / event["calls"] / 1e6
