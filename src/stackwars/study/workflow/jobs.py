"""The kinds of jobs that measure or compile: for each its version, its environment, its files and what it is told.

A job runs again if its pins, the meaning of one of its files or its specification changes, or the version of its kind.
The files are those of the workload, the framework or the compiler; docstrings, comments, titles and colours have no
meaning (`imports.digest`). Everything else that decides a result (the supervisor, the conductor, limits, statistics of
a process) is the protocol of the kind: whoever changes it so that results differ raises the version here, and then
every job of the kind runs again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace

from snakemake.exceptions import WorkflowError

from stackwars.core import judge
from stackwars.measure import PROTOCOL, frameworks
from stackwars.measure.stablehlo.check import EXECUTABLES
from stackwars.measure.workloads import parallel
from stackwars.setup.device import CPU
from stackwars.study import cells, growth, imports, programs, releases, sharding
from stackwars.study.cells import Cell
from stackwars.study.growth import Point as GrowthPoint
from stackwars.study.programs import BASE, Compilation, Program, ReplayCell
from stackwars.study.releases import Point as ReleasesPoint
from stackwars.study.sharding import Point as ShardingPoint
from stackwars.study.workflow import job_files
from stackwars.study.workflow.grid import Grid, Wildcards

BESIDE = "beside"
"""The folder of what was measured in the rounds of cells besides them."""


@dataclass(frozen=True)
class Kind:
    """One kind of job; its functions take the grid and the wildcards of a rule.

    version: of its protocol, see above. pins: its environment's. sources: its files. spec: the JSON that its command
    reads, if it reads one.
    """

    version: str
    pins: Callable[[Grid, Wildcards], str]
    sources: Callable[[Grid, Wildcards], list[str]] = lambda grid, wildcards: []
    spec: Callable[[Grid, Wildcards], dict] | None = None


def step_digest(*modules: str) -> Callable[[Wildcards], str]:
    """Return a function for params: the digest of a step's modules and of what they import, titles included."""
    return lambda wildcards: imports.digest(imports.sources(*modules), is_shown=True)


class Jobs:
    """Inputs and parameters of the rules that measure or compile, by the kind of their jobs."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def version(self, kind: str) -> str:
        """Return the version of the kind's protocol."""
        return KINDS[kind].version

    def pins(self, kind: str) -> Callable[[Wildcards], str]:
        """Return an input function: the pins of the environment that the job runs in."""
        return self._checked(KINDS[kind].pins)

    def sources(self, kind: str) -> Callable[[Wildcards], list[str]]:
        """Return a function of wildcards: the files that decide the job's result."""
        return self._checked(KINDS[kind].sources)

    def digest(self, kind: str) -> Callable[[Wildcards], str]:
        """Return a function for params: the digest of what those files mean."""
        files = self.sources(kind)
        return lambda wildcards: imports.digest(files(wildcards))

    def spec(self, kind: str) -> Callable[[Wildcards], str]:
        """Return a function for params: the path of the job's specification."""
        result = self._checked(KINDS[kind].spec)
        return lambda wildcards: job_files.planned(kind, result(wildcards))

    def _checked(self, function: Callable) -> Callable:
        def checked(wildcards: Wildcards):
            self._grid.check(wildcards)
            return function(self._grid, wildcards)

        return checked

    # Inputs and parameters of single rules

    def partner_pins(self, wildcards: Wildcards) -> str | list:
        """Return the pins of the environment of a cell's partner; [] without one."""
        self._grid.check(wildcards)
        partner = self._grid.partner(_cell(wildcards))
        return cells.pins(self._grid.config, partner.framework, partner.device) if partner else []

    def taken(self, wildcards: Wildcards) -> str | list:
        """Return where the rounds lie in which a baseline's cell, or a replay, was measured; [] of any other."""
        self._grid.check(wildcards)
        is_replay = hasattr(wildcards, "compiler")
        cell = (
            self._grid.cell_of(_replay(wildcards)) if is_replay else self._grid.measured_with(_cell(wildcards))
        )
        return f"{self._grid.root}/{BESIDE}/{cell.path}" if cell else []

    def joined(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the replay that takes part in a cell's rounds; [] without one."""
        replay = self._grid.replay_in(_cell(wildcards))
        if replay is None:
            return []
        check = f"{self._grid.root}/{programs.check_path(replay.compiler, replay.workload)}"
        executables = str(Path(check).with_name(EXECUTABLES))
        return [*self.replayed(SimpleNamespace(**asdict(replay))), check, executables]

    def joined_pins(self, wildcards: Wildcards) -> str | list:
        """Return the pins of that replay's compiler; [] without one."""
        replay = self._grid.replay_in(_cell(wildcards))
        return programs.compiler_pins(self._grid.config, replay.compiler) if replay else []

    def joined_job(self, wildcards: Wildcards) -> str:
        """Return the arguments that name that replay's specification; empty without one."""
        replay = self._grid.replay_in(_cell(wildcards))
        if replay is None:
            return ""
        return f"--replay {job_files.planned('joined', programs.replay_job(self._grid.config, replay))}"

    def description(self, wildcards: Wildcards) -> list[str]:
        """Return the file that tells XLA what a GPU is, for a target that has one."""
        self._grid.check(wildcards)
        name = self._grid.config["targets"][wildcards.target].get("description")
        return [f"src/stackwars/measure/stablehlo/{name}"] if name else []

    def compiled(self, wildcards: Wildcards) -> str:
        """Return the program that is compiled for a target."""
        self._grid.check(wildcards)
        return f"{self._grid.root}/{_compilation(wildcards).program.path}/program.mlir.gz"

    def code_source(self, wildcards: Wildcards) -> str | list:
        """Return where a compilation that stops before its code takes the code's size from; [] for others."""
        self._grid.check(wildcards)
        config, compilation = self._grid.config, _compilation(wildcards)
        is_slice = parallel.is_variant(compilation.program.variant)
        if is_slice or programs.finished(config, compilation):
            return []
        return f"{self._grid.root}/{programs.code_source(config, compilation).path}/ahead.json"

    def evaluator_pins(self, wildcards: Wildcards) -> str:
        """Return the pins of the XLA that evaluates the programs of a search."""
        self._grid.check(wildcards)
        return programs.compiler_pins(self._grid.config, programs.evaluator(self._grid.config))

    def replayed(self, wildcards: Wildcards) -> list[str]:
        """Return the programs and lists of arguments that a replay of the workload reads."""
        result = programs.replayed(self._grid.config, wildcards.workload, wildcards.compiler)
        return self._program_files(result)

    def evaluated(self, wildcards: Wildcards) -> list[str]:
        """Return the programs and lists of arguments that a workload's expected values are computed from."""
        self._grid.check(wildcards)
        result = programs.evaluated(self._grid.config, wildcards.workload, wildcards.variant)
        if not result:
            raise WorkflowError(
                "target: expected: expected a configuration with a frontend's programs and an XLA compiler, got none"
            )
        return self._program_files(result)

    def checked(self, wildcards: Wildcards) -> list[str]:
        """Return the programs and lists of arguments that a check reads."""
        self._grid.check(wildcards)
        names = (wildcards.workload, wildcards.compiler, wildcards.variant)
        result = programs.checked(self._grid.config, *names)
        if not result:
            raise WorkflowError(
                "target: check: expected a workload, compiler and variant with programs to check, got "
                f"{', '.join(names)}; fix: change the path, or measure the study of the key odd_sizes"
            )
        return self._program_files(result)

    def expected(self, wildcards: Wildcards) -> list[str]:
        """Return the expected values that a workload's outputs are compared with; [] if there are none."""
        variant = getattr(wildcards, "variant", BASE)
        result = programs.expected_folder(self._grid.config, wildcards.workload, variant)
        return [f"{result}/{name}" for name in (judge.DOCUMENT, judge.ARRAYS)] if result else []

    def _program_files(self, programs_: list[Program]) -> list[str]:
        names = ("program.mlir.gz", "arguments.json")
        return [f"{self._grid.root}/{program.path}/{name}" for program in programs_ for name in names]

    def replayed_cells(self, wildcards: Wildcards) -> list[str]:
        """Return files of the cells that a replay is checked against: the same programs, natively."""
        return self._grid.files(_replayed_cells(self._grid, wildcards), "cell.json")


# The keys that a rule's wildcards name


def _cell(wildcards: Wildcards) -> Cell:
    return Cell(wildcards.framework, wildcards.workload, wildcards.device)


def _replay(wildcards: Wildcards) -> ReplayCell:
    return ReplayCell(wildcards.device, wildcards.compiler, wildcards.workload)


def _program(wildcards: Wildcards) -> Program:
    return Program(wildcards.framework, wildcards.workload, getattr(wildcards, "variant", BASE))


def _compilation(wildcards: Wildcards) -> Compilation:
    return Compilation(wildcards.target, wildcards.compiler, _program(wildcards))


def _growth(grid: Grid, wildcards: Wildcards) -> GrowthPoint:
    result = GrowthPoint(wildcards.framework, wildcards.workload, wildcards.size, wildcards.value)
    return _configured("growth", growth.all_points(grid.config), result)


def _sharded(grid: Grid, wildcards: Wildcards) -> ShardingPoint:
    names = (wildcards.frontend, wildcards.workload, wildcards.way, int(wildcards.devices))
    return _configured("sharding", sharding.all_points(grid.config), ShardingPoint(*names))


def _configured(key: str, known: list, wanted):
    if wanted not in known:
        raise WorkflowError(
            f"target: {key}: expected what the key {key} in config/config.yaml names, got {wanted.path}; fix: change "
            "the path, or that key"
        )
    return wanted


# Their environments, files and specifications


def _cell_sources(grid: Grid, wildcards: Wildcards) -> list[str]:
    cell = _cell(wildcards)
    both = [one for one in (cell, grid.partner(cell)) if one]
    replay = grid.replay_in(cell)
    replaying = programs.replay_sources(grid.config, replay.compiler, replay.workload) if replay else []
    return sorted({*replaying, *(file for one in both for file in cells.sources(grid.config, one))})


def _cell_spec(grid: Grid, wildcards: Wildcards) -> dict:
    """Return a ProcessJob of `stackwars.measure.supervisor`: that of the cell's first process."""
    cell, config = _cell(wildcards), grid.config
    partner = grid.partner(cell)
    written = {"forms": cell.workload in config["paper"].get("forms", []), "writes_files": True}
    return {
        **_runs(cell.framework),
        "workload": cell.workload,
        "device": cell.device,
        "preset": config["preset"],
        "repetition": 0,
        "sizes": cells.sizes(config, cell.workload),
        "partner": partner and {**_runs(partner.framework), **(written if grid.is_measured_with(cell) else {})},
        **written,
        "expected": programs.expected_folder(config, cell.workload),
        "settings": {
            **cells.measuring(config, cell.workload),
            "rounds": cells.rounds(config, cell.framework, cell.workload, cell.device),
        },
    }


def _growth_spec(grid: Grid, wildcards: Wildcards) -> dict:
    """Return a ProcessJob too."""
    point = _growth(grid, wildcards)
    shapes = growth.values(grid.config, point)
    return {
        **_runs(point.framework),
        "workload": point.workload,
        "device": CPU,
        "preset": grid.config["preset"],
        "repetition": 0,
        "sizes": growth.sizes(grid.config, point),
        "partner": None,
        "forms": False,
        "expected": "",
        "settings": {
            **cells.measuring(grid.config, point.workload),
            **growth.SETTINGS,
            **({"size": point.size, "values": shapes} if shapes else {}),
        },
    }


def _runs(framework: str) -> dict[str, str]:
    return {"framework": framework, "dialect": frameworks.load(framework).DIALECT}


def _growth_sources(grid: Grid, wildcards: Wildcards) -> list[str]:
    point = _growth(grid, wildcards)
    return cells.sources(grid.config, Cell(point.framework, point.workload, CPU))


def _replayed_cells(grid: Grid, wildcards: Wildcards) -> list[Cell]:
    """Return the cells of this run whose programs a replay of the workload runs."""
    result = programs.replayed(grid.config, wildcards.workload, wildcards.compiler)
    every = (Cell(program.framework, program.workload, wildcards.device) for program in result)
    return [cell for cell in every if cell in grid.selected]


def _replay_spec(grid: Grid, wildcards: Wildcards) -> dict:
    """Return a ReplayCellJob of `stackwars.measure.stablehlo.replay_cell`."""
    return {
        "replay": programs.replay_job(grid.config, _replay(wildcards)),
        "cells": {cell.framework: f"{grid.measured}/{cell.path}" for cell in _replayed_cells(grid, wildcards)},
    }


def _values_sources(grid: Grid, wildcards: Wildcards) -> list[str]:
    """Return the files of the workload and of what computes or calls it, but no frontend's."""
    compiler = getattr(wildcards, "compiler", None) or programs.judge_compiler(grid.config)
    return programs.replay_sources(grid.config, compiler, wildcards.workload)


def _ahead_spec(grid: Grid, wildcards: Wildcards) -> dict:
    """Return a CompileJob of `stablehlo.ahead_supervisor`: for one device, or for a slice of several."""
    wanted = _compilation(wildcards)
    if not parallel.is_variant(wanted.program.variant):
        return programs.ahead_job(grid.config, wanted)
    return sharding.job(grid.config, _configured("sharding", sharding.slices(grid.config), wanted))


def _compiler_pins(grid: Grid, wildcards: Wildcards) -> str:
    target = getattr(wildcards, "target", None)
    return programs.compiler_pins(grid.config, wildcards.compiler, target)


KINDS = {
    "cell": Kind(
        version=f"{PROTOCOL}.1",
        pins=lambda grid, w: cells.pins(grid.config, w.framework, w.device),
        sources=_cell_sources,
        spec=_cell_spec,
    ),
    "replay": Kind(
        version=f"{PROTOCOL}.1",
        pins=_compiler_pins,
        sources=lambda grid, w: programs.replay_sources(grid.config, w.compiler, w.workload),
        spec=_replay_spec,
    ),
    "growth": Kind(
        version=f"{PROTOCOL}.0",
        pins=lambda grid, w: cells.pins(grid.config, _growth(grid, w).framework, CPU),
        sources=_growth_sources,
        spec=_growth_spec,
    ),
    "sharded": Kind(
        version="1",
        pins=lambda grid, w: cells.pins(grid.config, _sharded(grid, w).framework, CPU),
        sources=lambda grid, w: sharding.sources(grid.config, _sharded(grid, w)),
        spec=lambda grid, w: sharding.sharded_job(grid.config, _sharded(grid, w)),
    ),
    "lower": Kind(
        version="2",
        pins=lambda grid, w: programs.lower_pins(grid.config, w.framework),
        sources=lambda grid, w: programs.lower_sources(grid.config, w.framework, w.workload),
        spec=lambda grid, w: programs.lower_job(grid.config, _program(w)),
    ),
    "expected": Kind(
        version="1",
        pins=lambda grid, w: programs.compiler_pins(grid.config, programs.judge_compiler(grid.config)),
        sources=_values_sources,
        spec=lambda grid, w: programs.expected_job(grid.config, w.workload, w.variant),
    ),
    "check": Kind(
        version="1",
        pins=_compiler_pins,
        sources=_values_sources,
        spec=lambda grid, w: programs.check_job(grid.config, w.compiler, w.workload, w.variant),
    ),
    "causes": Kind(
        version="1",
        pins=_compiler_pins,
        sources=lambda grid, w: programs.replay_sources(grid.config, w.compiler, w.workload),
        spec=lambda grid, w: programs.causes_job(grid.config, ReplayCell(CPU, w.compiler, w.workload)),
    ),
    "releases": Kind(
        version="3",
        pins=lambda grid, w: programs.compiler_pins(grid.config, programs.judge_compiler(grid.config)),
        sources=lambda grid, w: [f"src/stackwars/core/compilers/{name}.py" for name in ("xla", "iree")],
        spec=lambda grid, w: releases.job(grid.config, ReleasesPoint(w.project, w.framework, w.workload)),
    ),
    "ahead": Kind("1", _compiler_pins, spec=_ahead_spec),
    "largest_batch": Kind(
        version="1",
        pins=_compiler_pins,
        sources=lambda grid, w: programs.lower_sources(grid.config, w.framework, w.workload),
        spec=lambda grid, w: programs.largest_batch_job(grid.config, _compilation(w)),
    ),
    "optimised": Kind(
        version="1",
        pins=lambda grid, w: programs.compiler_pins(grid.config, programs.native_compiler(grid.config)),
        spec=lambda grid, w: programs.optimise_job(grid.config),
    ),
    "peak": Kind("1", lambda grid, w: cells.pins(grid.config, "jax", w.device)),
}
