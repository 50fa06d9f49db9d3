"""Rows of rounds.csv that summarise several processes which no round pairs: forms of a function, and growing sizes.

Such a row has no number of a round, but how many rounds it stands for and the standard error of its logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd
from scipy import stats

from stackwars import workloads
from stackwars.measure.log_ratio import LEVEL
from stackwars.results import schema
from stackwars.results.schema import is_missing
from stackwars.setup.device import CPU

PROCESSES = "processes"
"""The basis of a row."""
Row = dict[str, Any]


def rows(cells: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows that follow from cells.csv of a run."""
    yield from _forms(cells[cells["mode"] == schema.NATIVE])
    yield from _scaling(cells[cells["mode"] == schema.GROWTH])


def _row(quantity: str, log: float, error: float | None, rounds: float, **names: str) -> Row:
    numbers = {"round": None, "ratio": math.exp(log), "error": error, "rounds": rounds}
    return {"quantity": quantity, "device": CPU, **names, **numbers, "basis": PROCESSES}


def _forms(native: pd.DataFrame) -> Iterator[Row]:
    """Yield first and steady time of a workload over those of its function's plain form, in each framework."""
    ok = native[(native["device"] == CPU) & (native["status"] == "ok")]
    cells = {(row["workload"], row["framework"]): row for row in ok.to_dict("records")}
    plain_forms = {name: getattr(workloads.load(name), "FORM_OF", None) for name in ok["workload"].unique()}
    for (workload, framework), cell in cells.items():
        plain = plain_forms[workload]
        other = cells.get((plain, framework))
        if other is None or cell["nodes"] != other["nodes"]:  # times of two nodes are not compared
            continue
        names = {"workload": workload, "subject": framework, "baseline": framework, "baseline_workload": plain}
        for stage in (schema.STEADY, schema.FIRST):
            sides = [one for one in (_logarithm(side, stage) for side in (cell, other)) if one]
            if len(sides) == 2:
                errors, rounds = [error for _, error, _ in sides], min(count for *_, count in sides)
                error = None if None in errors else math.hypot(*errors)
                yield _row(schema.FORM, sides[0][0] - sides[1][0], error, rounds, variant=stage, **names)


def _logarithm(cell: Row, stage: str) -> tuple[float, float | None, float] | None:
    """Return the logarithm of a time in ms, its error and the number of processes; None if there is no time."""
    value, low, high = (cell[f"{stage}{end}_ms"] for end in ("", "_low", "_high"))
    if is_missing(value):
        return None
    processes = cell["steady_processes"] if stage == schema.STEADY else cell["rounds"]
    if is_missing(low) or processes < 2:
        return math.log(value), None, processes
    half = math.log(high / low) / 2
    return math.log(value), half / float(stats.t.ppf((1 + LEVEL) / 2, processes - 1)), processes


def _scaling(grown: pd.DataFrame) -> Iterator[Row]:
    """Yield how the cost of compiling (first call less steady state) grows if a size doubles.

    Least squares on logarithms; a point less than there are values, for the slope takes one.
    """
    for keys, points in grown[grown["status"] == "ok"].groupby(["workload", "framework", "size"], sort=False):
        workload, framework, size = keys
        costs = points["first_ms"] - points["steady_ms"]
        if len(points) < 3 or (costs <= 0).any():
            continue
        fit = stats.linregress(points["value"].map(math.log2), costs.map(math.log))
        names = {"workload": workload, "variant": size, "subject": framework, "baseline": framework}
        yield _row(schema.SCALING, fit.slope, fit.stderr, len(points) - 1.0, **names)
