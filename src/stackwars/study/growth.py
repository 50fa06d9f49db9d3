"""Growth of the cost of compiling: processes of one workload at several values of one of its sizes.

A series is a process for each value. Shapes are one process that calls every value in turn, twice: it compiles
the shapes in the first turn, and in the second only what it has forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stackwars.study import cells
from stackwars.study.keys import Config
from stackwars.study.studies import workloads_of

ALL = "all"
"""Stands for the value of a process that has every shape."""
SETTINGS = {
    **{"steady_seconds": 0.2, "steady_min_blocks": 3, "steady_max_blocks": 20},
    "block_calls": 1,
}
"""Settings that differ from a cell's: only the first call counts."""


@dataclass(frozen=True, order=True)
class Point:
    """One process: a framework, a workload, and the value of one of its sizes, or ALL."""

    framework: str
    workload: str
    size: str
    value: str

    @property
    def path(self) -> Path:
        return Path("growth", self.framework, self.workload, f"{self.size}-{self.value}")


def asked(config: Config) -> list[Point]:
    """Return the processes of this run, of the workloads that it measures in the study of the key growth."""
    measured, known = workloads_of(config, "growth"), config.frameworks
    return [p for p in all_points(config) if p.workload in measured and p.framework in known]


def all_points(config: Config) -> list[Point]:
    growth = config.growth
    if growth is None:
        return []
    rows = [(row, list(map(str, row.values))) for row in growth.series]
    rows += [(row, [ALL]) for row in growth.shapes]
    return [
        Point(framework, row.workload, row.size, value)
        for row, values in rows
        for framework in (growth.frameworks if row.frameworks is None else row.frameworks)
        for value in values
    ]


def sizes(config: Config, point: Point) -> dict[str, int]:
    """Return the sizes of a process; a process of every shape has the largest."""
    value = max(values(config, point)) if point.value == ALL else int(point.value)
    return cells.sizes(config, point.workload) | {point.size: value}


def values(config: Config, point: Point) -> list[int]:
    """Return the values of a process's shapes; [] for a process of one value."""
    if point.value != ALL or config.growth is None:
        return []
    wanted = (point.workload, point.size)
    return next(row.values for row in config.growth.shapes if (row.workload, row.size) == wanted)
