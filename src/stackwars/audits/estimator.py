"""Check the estimator: do alternating loops give the times of undisturbed calls of the same process?

A process of the study times a series of blocks without a pause (`steady`) and then loops, between which the other
process of its round works. In the rounds of audits a second series follows the loops, and the geometric mean of both
series, which cancels a drift, is what the loops are compared with. The processes of a run's cells have the first
series alone.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from stackwars.measure import documents, loops
from stackwars.measure.checks import call_ms
from stackwars.measure.conduct import INTERLEAVED
from stackwars.measure.log_ratio import geometric_mean

LIMIT = 0.01
"""The geometric mean of a runtime's ratios may be off 1 by this share."""


class Agreement(NamedTuple):
    """A process's time of a call in loops over that in undisturbed series. series: how many those are."""

    framework: str
    workload: str
    ratio: float
    series: int


def agreement(process: dict) -> Agreement | None:
    """Return the agreement of an ok process of a round; None if it has no loops or no undisturbed series."""
    alternating = loops.loops_of(process)
    series = [one for one in process["events"] if one["event"] == "steady"]
    if not alternating or not series:
        return None
    undisturbed = [math.log(statistics.median(call_ms(one))) for one in series]
    ratio = loops.side_ms(alternating) / math.exp(statistics.fmean(undisturbed))
    return Agreement(process["framework"], process["workload"], ratio, len(series))


def of_cells(paths: Iterable[Path]) -> Iterator[Agreement]:
    """Yield the agreement of both processes of every round whose loops alternated, of the ok cells."""
    for path in paths:
        cell = documents.read(path)
        if cell["status"] != "ok":
            continue
        rounds = [one for one in cell["processes"] if one.get("partner") and one["basis"] == INTERLEAVED]
        for process in rounds:
            sides = ({"framework": cell["framework"], **process}, process["partner"])
            yield from filter(None, (agreement({"workload": cell["workload"], **side}) for side in sides))


def figures(found: Iterable[Agreement]) -> list[dict[str, Any]]:
    """Return, for each framework, the geometric mean of its ratios, its 95 % interval and each workload's mean.

    ok: whether the mean is within the limit; off: whether the whole interval is beyond it.
    """
    by_framework: dict[str, dict[str, list[float]]] = {}
    for one in found:
        by_framework.setdefault(one.framework, {}).setdefault(one.workload, []).append(one.ratio)
    result = []
    for framework, workloads in by_framework.items():
        every = [ratio for ratios in workloads.values() for ratio in ratios]
        mean = geometric_mean(every)
        result.append(
            {
                "framework": framework,
                "processes": len(every),
                **mean._asdict(),
                "ok": abs(mean.value - 1) <= LIMIT,
                "off": mean.low is not None and (mean.low > 1 + LIMIT or mean.high < 1 - LIMIT),
                "workloads": {name: geometric_mean(ratios).value for name, ratios in workloads.items()},
            }
        )
    return result
