"""Every raw call and block of a cell's processes or of a replayed program, as the report draws them.

A row is one process: `round` from 0; `first`, `second` and each of `blocks` in ms a call, to four digits;
`calls`, how many a block has; `kept`, for each block 1 where it is uncontended, else 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from stackwars.measure.process_value import baseline_wait_share, uncontended_blocks

Row = dict[str, Any]


def of_cell(processes: list[dict]) -> list[Row]:
    """A row for each process of a cell.json that came to its steady state."""
    named = [{e["event"]: e for e in p["events"]} | {"round": p["repetition"]} for p in processes]
    complete = [events for events in named if {"first", "second", "steady"} <= events.keys()]
    return _rows(
        (events["round"], events["first"]["ns"], events["second"]["ns"], events["steady"])
        for events in complete
    )


def of_replay(program: dict, rounds: list[int]) -> list[Row]:
    """A row for each process of one program of a replay.json, whose processes are of these rounds."""
    named = (rounds, program["first_ns"], program["second_ns"], program["steady"])
    return _rows(zip(*named, strict=True))


def _rows(found: Iterable[tuple[int, int, int, dict]]) -> list[Row]:
    every = list(found)
    baseline = baseline_wait_share([steady for *_, steady in every])
    return [
        {
            "round": number,
            "first": digits(first / 1e6),
            "second": digits(second / 1e6),
            "calls": steady["calls"],
            "blocks": [digits(ns / steady["calls"] / 1e6) for ns in steady["ns"]],
            "kept": "".join("01"[one] for one in uncontended_blocks(steady, baseline)),
        }
        for number, first, second, steady in every
    ]


def digits(value: float, count: int = 4) -> float:
    """The value to so many significant digits: the file holds tens of thousands of them."""
    if not value or not math.isfinite(value):
        return 0.0
    return round(value, count - 1 - math.floor(math.log10(abs(value))))
