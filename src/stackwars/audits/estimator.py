"""Check the estimator: do alternating loops give the times of loops between which nothing happens?

In the rounds of audits a process runs loops in a row, then loops that alternate with those of the other process, and
again loops in a row. The alternating ones are compared with the geometric mean of both series, which cancels a drift.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from stackwars.core.ratio import geometric_mean
from stackwars.measure import loops
from stackwars.measure.calls import CONSECUTIVE, LOOP

LIMIT = 0.01
"""The geometric mean of a runtime's ratios may be off 1 by this share."""


class Agreement(NamedTuple):
    """A process's time of a call in alternating loops over that in loops in a row."""

    framework: str
    workload: str
    ratio: float


def agreement(process: dict) -> Agreement:
    """Return the agreement of an ok process of an audit's round."""
    names = [event["event"] for event in process["events"]]
    first = names.index(LOOP)
    series = [
        [event for event in part if event["event"] == CONSECUTIVE]
        for part in (process["events"][:first], process["events"][first:])
    ]
    ratio = loops.side_ms(loops.loops_of(process)) / math.sqrt(math.prod(map(loops.side_ms, series)))
    return Agreement(process["framework"], process["workload"], ratio)


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
