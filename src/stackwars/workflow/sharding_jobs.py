"""What the processes of several devices, and the compilations for slices, are made from and told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from snakemake.exceptions import WorkflowError

from stackwars.setup.device import CPU
from stackwars.study import cells, programs, sharding
from stackwars.study.programs import Compilation, Program
from stackwars.study.sharding import Point
from stackwars.workflow import job_files
from stackwars.workflow.grid import Grid, Wildcards

Asked = TypeVar("Asked", Point, Compilation)


class ShardingJobs:
    """Inputs and parameters of the rules of sharding.smk."""

    def __init__(self, grid: Grid) -> None:
        self._grid, self._config = grid, grid.config

    def point(self, wildcards: Wildcards) -> Point:
        """The process of a path. Raises WorkflowError where the configuration has none such."""
        self._grid.check(wildcards)
        names = (wildcards.frontend, wildcards.workload, wildcards.way, int(wildcards.devices))
        return _one_of(sharding.all_points(self._config), Point(*names))

    def sources(self, wildcards: Wildcards) -> list[str]:
        """The files that decide what a process finds."""
        return sharding.sources(self._config, self.point(wildcards))

    def pins(self, wildcards: Wildcards) -> str:
        """Pins of a process's environment."""
        return cells.pins(self._config, self.point(wildcards).framework, CPU)

    def job(self, wildcards: Wildcards) -> str:
        """A file of the ShardedJob."""
        job = sharding.sharded_job(self._config, self.point(wildcards))
        return job_files.file("sharded", job)

    def slice(self, wildcards: Wildcards) -> str:
        """A file of the CompileJob for a slice. Raises WorkflowError where the configuration has none such."""
        self._grid.check(wildcards)
        program = Program(wildcards.framework, wildcards.workload, wildcards.division)
        wanted = Compilation(wildcards.target, wildcards.compiler, program)
        found = _one_of(sharding.slices(self._config), wanted)
        return job_files.file("ahead", sharding.job(self._config, found))

    def slice_pins(self, wildcards: Wildcards) -> str:
        """Pins of the compiler of a slice."""
        return programs.compiler_pins(self._config, wildcards.compiler, wildcards.target)


def _one_of(known: Iterable[Asked], wanted: Asked) -> Asked:
    if wanted not in known:
        raise WorkflowError(
            f"target: sharding: expected what the key sharding in config/config.yaml names, got {wanted.path}"
        )
    return wanted
