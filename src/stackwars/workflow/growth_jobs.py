"""What the processes of growing sizes are made from, and what they are told."""

from __future__ import annotations

from snakemake.exceptions import WorkflowError

from stackwars import frameworks
from stackwars.setup.device import CPU
from stackwars.study import cells, growth, imports
from stackwars.study.cells import Cell
from stackwars.study.growth import Point
from stackwars.workflow import job_files, plan
from stackwars.workflow.grid import Grid, Wildcards


class GrowthJobs:
    """Inputs and parameters of the rule of growth.smk."""

    def __init__(self, grid: Grid) -> None:
        self._grid, self._config = grid, grid.config

    def point(self, wildcards: Wildcards) -> Point:
        """The process of a path. Raises WorkflowError where the configuration has none such."""
        self._grid.check(wildcards)
        names = (wildcards.framework, wildcards.workload, wildcards.size, wildcards.value)
        point = Point(*names)
        if point not in growth.all_points(self._config):
            raise WorkflowError(
                f"target: growth: expected a framework, workload, size and value of the key growth in "
                f"config/config.yaml, got {point.path}."
            )
        return point

    def sources(self, wildcards: Wildcards) -> list[str]:
        """The files that decide what the process measures."""
        point = self.point(wildcards)
        cell = Cell(point.framework, point.workload, CPU)
        return sorted(
            {
                *cells.sources(self._config, cell),
                *imports.sources("stackwars.measure.supervisor", "stackwars.measure.shapes_child"),
            }
        )

    def pins(self, wildcards: Wildcards) -> str:
        """Pins of the process's environment."""
        return cells.pins(self._config, self.point(wildcards).framework, CPU)

    def job(self, wildcards: Wildcards) -> str:
        """A file of the ProcessJob."""
        point, settings = self.point(wildcards), self._grid.settings
        shapes = growth.values(self._config, point)
        job = {
            "framework": point.framework,
            "dialect": frameworks.load(point.framework).DIALECT,
            "workload": point.workload,
            "device": CPU,
            "preset": self._config["preset"],
            "repetition": 0,
            "sizes": growth.sizes(self._config, point),
            "partner": None,
            "forms": False,
            "settings": {
                **{key: settings[key] for key in settings if key in plan.MEASURING},
                **growth.SETTINGS,
                **({"size": point.size, "values": shapes} if shapes else {}),
            },
        }
        return job_files.file("growth", job)
