"""The smallest and the largest process of a cell: a spread that a reader of milliseconds can use.

A t interval over three processes on a drifting host may reach from a third to three times the value, which
says something of the method and nothing of the machine. Ratios, which are paired, keep theirs.
"""

from __future__ import annotations

from collections.abc import Hashable

import pandas

from stackwars.paper.latex import significant
from stackwars.results.values import is_true

Spread = dict[tuple[Hashable, ...], tuple[float, float]]
"""{key of a cell: (smallest, largest) of its processes, in ms}"""

CELL = ["workload", "framework", "device"]
REPLAY = ["workload", "compiler", "framework"]


def steady(cells: pandas.DataFrame, processes: pandas.DataFrame, keys: list[str]) -> Spread:
    """Of the steady states: of uncontended processes where the cell's value is of these, else of all.

    cells: frame.csv or replay.csv, with `gated`; processes: processes.csv or replayed.csv; keys: CELL or
    REPLAY.
    """
    gated = {tuple(cell[keys]): is_true(cell.gated) for _, cell in cells.iterrows()}
    found = {}
    for key, rows in processes.groupby(keys, sort=False):
        own = rows[rows.gated.map(is_true)].value_ms if gated.get(key) else rows.ungated_ms
        if len(own.dropna()):
            found[key] = (own.min(), own.max())
    return found


def ungated(processes: pandas.DataFrame) -> Spread:
    """Of the steady states from all blocks: processes.csv."""
    by_cell = processes.dropna(subset="ungated_ms").groupby(CELL, sort=False).ungated_ms
    return {key: (values.min(), values.max()) for key, values in by_cell}


def of_call(calls: pandas.DataFrame, number: int) -> Spread:
    """Of one call (1 is the first) over the processes: calls.csv."""
    by_cell = calls[calls.call == number].groupby(CELL, sort=False).latency_ms
    return {key: (values.min(), values.max()) for key, values in by_cell}


def spread_text(spread: Spread, key: tuple[Hashable, ...], digits: int = 3) -> str:
    """``36.6--41.2``, or a dash where the cell has fewer than two values."""
    low, high = spread.get(key, (None, None))
    if low is None or low == high:
        return "---"
    return f"{significant(low, digits)}--{significant(high, digits)}"


SPREAD_NOTE = r"the smallest and the largest process, where there are several"
