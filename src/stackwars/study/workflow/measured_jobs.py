"""Kinds of jobs that measure: cells, replays, processes of growing sizes and of several devices, causes, releases."""

from __future__ import annotations

from pathlib import Path

from stackwars.measure import PROTOCOL, frameworks, workloads
from stackwars.measure.stablehlo.check import EXECUTABLES
from stackwars.measure.stablehlo.replay import ReplayJob
from stackwars.measure.stablehlo.replay_cell import ReplayCellJob
from stackwars.measure.stablehlo.sharded import ShardedJob
from stackwars.measure.supervisor import ProcessJob
from stackwars.setup.device import CPU
from stackwars.study import cells, growth, programs, releases, replay_causes, sharding
from stackwars.study.cells import Cell
from stackwars.study.growth import Point as GrowthPoint
from stackwars.study.keys import Config
from stackwars.study.programs import ReplayCell
from stackwars.study.releases import Point as ReleasesPoint
from stackwars.study.sharding import Point as ShardingPoint
from stackwars.study.studies import folder, with_programs
from stackwars.study.workflow import job_files, kinds
from stackwars.study.workflow.grid import Grid, Wildcards
from stackwars.study.workflow.kinds import ALONE, BASE_PROGRAM, CELL, Kind, filled

BESIDE = "beside"
"""The folder of the joint results of cells' rounds."""
REPLAY = ReplayCell("{device}", "{compiler}", "{workload}").path
REPLAY_CHECK = programs.check_path("{compiler}", "{workload}")
CAUSES = programs.causes_path("{compiler}", "{workload}")
GROWTH = GrowthPoint("{framework}", "{workload}", "{size}", "{value}").path
SHARDED = ShardingPoint("{frontend}", "{workload}", "{way}", "{devices}").path
STATE_BLOCKS = 11
"""Calls of a replay whose results are the state of its workload: the first, in fresh memory, are slow."""


# Cells


def cell_job(grid: Grid, cell: Cell) -> ProcessJob:
    config, partner = grid.config, grid.partner(cell)
    written = {"forms": cell.workload in config.paper.forms, "writes_files": True}
    side = partner and {
        "framework": partner.framework,
        "dialect": frameworks.load(partner.framework).DIALECT,
        **(written if grid.is_measured_with(cell) else {}),
    }
    settings = cells.measuring(config, cell.workload)
    return filled(ProcessJob, config, **vars(cell), settings=settings, partner=side, **written)


def _cell_sources(grid: Grid, wildcards: Wildcards) -> list[str]:
    """Return the files of the cell, of its partner, and of the replay in its rounds."""
    cell = kinds.cell_of(wildcards)
    replay = grid.replay_in(cell)
    files = programs.replay_sources(grid.config, replay.compiler, replay.workload) if replay else []
    sides = [side for side in (cell, grid.partner(cell)) if side]
    return sorted({*files, *(file for side in sides for file in cells.sources(grid.config, side))})


def _partner_pins(grid: Grid, wildcards: Wildcards) -> str | list:
    partner = grid.partner(kinds.cell_of(wildcards))
    return cells.pins(grid.config, partner.framework, partner.device) if partner else []


def _joined(grid: Grid, wildcards: Wildcards) -> list[str]:
    """Return the files of the replay that takes part in a cell's rounds; [] without one."""
    replay = grid.replay_in(kinds.cell_of(wildcards))
    if replay is None:
        return []
    check = Path(grid.root, programs.check_path(replay.compiler, replay.workload))
    return [*kinds.replayed_files(grid, replay), str(check), str(check.with_name(EXECUTABLES))]


def _joined_pins(grid: Grid, wildcards: Wildcards) -> str | list:
    replay = grid.replay_in(kinds.cell_of(wildcards))
    return programs.compiler_pins(grid.config, replay.compiler) if replay else []


def _cell_arguments(grid: Grid, wildcards: Wildcards) -> str:
    """Return the arguments of a cell: its rounds, and the job of that replay."""
    cell = kinds.cell_of(wildcards)
    result = _rounds(grid, cell.framework, cell.workload, cell.device)
    if replay := grid.replay_in(cell):
        result += f" --replay {job_files.planned('joined', replay_job(grid.config, replay))}"
    return result


def _rounds(grid: Grid, *names: str) -> str:
    """Return the argument of the rounds of these names; a target that the run leaves out has one."""
    return f"--rounds {max(1, cells.rounds(grid.config, *names))}"


def _joint_results(grid: Grid, cell: Cell | None) -> str | list:
    """Return the folder of a cell's joint results; [] without a cell."""
    return f"{grid.root}/{BESIDE}/{cell.path}" if cell else []


# Replays


def replay_job(config: Config, replay: ReplayCell) -> ReplayJob:
    has_state = hasattr(workloads.load(replay.workload), "STATE")
    return filled(
        ReplayJob,
        config,
        **vars(replay),
        baseline=with_programs(config)[0],
        settings={
            **cells.measuring(config, replay.workload),
            # An updated state is in fresh memory at first.
            "steady_min_blocks": STATE_BLOCKS if has_state else 1,
            "steady_seconds": cells.settings(config).replay_seconds,
        },
        programs=programs.files(config, programs.replayed(config, replay.workload, replay.compiler)),
        check=f"results/{folder(config)}/{programs.check_path(replay.compiler, replay.workload)}",
    )


def _replayed_cells(grid: Grid, wildcards: Wildcards) -> list[Cell]:
    replayed = programs.replayed(grid.config, wildcards.workload, wildcards.compiler)
    candidates = (Cell(program.framework, program.workload, wildcards.device) for program in replayed)
    return [cell for cell in candidates if cell in grid.selected]


def _replay(grid: Grid, wildcards: Wildcards) -> ReplayCellJob:
    folders = {cell.framework: f"{grid.measured}/{cell.path}" for cell in _replayed_cells(grid, wildcards)}
    return ReplayCellJob(replay=replay_job(grid.config, kinds.replay_of(wildcards)), cells=folders)


# Growing sizes


def growth_job(config: Config, point: GrowthPoint) -> ProcessJob:
    settings = cells.measuring(config, point.workload) | growth.SETTINGS
    if shapes := growth.values(config, point):
        settings |= {"size": point.size, "values": shapes}
    names = {"framework": point.framework, "workload": point.workload, "device": CPU}
    sizes = growth.sizes(config, point)
    return filled(ProcessJob, config, **names, sizes=sizes, settings=settings, expected="")


def _growth_point(grid: Grid, wildcards: Wildcards) -> GrowthPoint:
    point = GrowthPoint(wildcards.framework, wildcards.workload, wildcards.size, wildcards.value)
    return kinds.configured("growth", growth.all_points(grid.config), point)


def _growth_cell(grid: Grid, wildcards: Wildcards) -> Cell:
    point = _growth_point(grid, wildcards)
    return Cell(point.framework, point.workload, CPU)


# Several devices


def sharded_job(config: Config, point: ShardingPoint) -> ShardedJob:
    settings = cells.settings(config).document()
    names = ("seed", "matmul_precision", "memory_cap_gib", "timeout_s", "side_by_side")
    return filled(
        ShardedJob,
        config,
        **vars(point),
        framework=point.framework,
        device=CPU,
        sizes=sharding.sizes(config, config.preset, point.workload),
        settings={name: settings[name] for name in names if name in settings},
    )


def _sharded_point(grid: Grid, wildcards: Wildcards) -> ShardingPoint:
    point = ShardingPoint(wildcards.frontend, wildcards.workload, wildcards.way, int(wildcards.devices))
    return kinds.configured("sharding", sharding.all_points(grid.config), point)


MEASURED = {
    "peak": Kind(
        version="1",
        command="stackwars.setup.environments {input.pins} -- -m stackwars.measure.peak {wildcards.device} {output}",
        outputs={"result": "{device}/peak.json"},
        pins=lambda grid, w: cells.pins(grid.config, "jax", w.device),
        arguments=lambda grid, w: f"--seconds {grid.settings.peak_seconds}",
        machine=ALONE,
        priority=2,
    ),
    # A cell measures rounds of its process and one of its baseline. The subject of the first comparison measures the
    # baseline's cell and a replay in its rounds, and leaves them in `beside`. The folder `rounds` is no output: a job
    # that was killed, or gets more rounds, goes on there. How many they are is an argument, and no part of the job.
    "cell": Kind(
        version=f"{PROTOCOL}.2",
        command="stackwars.measure.cell --pins {input.pins} --output {folder} --beside {output.beside}",
        outputs={
            "result": f"{CELL}/cell.json",
            "program": f"{CELL}/stablehlo.mlir.gz",
            "sample": f"{CELL}/output.npy",
            "forms": f"{CELL}/forms/",
            "beside": f"{BESIDE}/{CELL}/",
        },
        pins=lambda grid, w: cells.pins(grid.config, w.framework, w.device),
        make=lambda grid, w: cell_job(grid, kinds.cell_of(w)),
        sources=_cell_sources,
        inputs={
            "partner": _partner_pins,
            "expected": kinds.expected_files,
            "joined": _joined,
            "joined_pins": _joined_pins,
            "taken": lambda grid, w: _joint_results(grid, grid.measured_with(kinds.cell_of(w))),
        },
        options={"partner-pins": "partner", "replay-pins": "joined_pins", "taken": "taken"},
        arguments=_cell_arguments,
        priority=1,
    ),
    # Every framework's program of a workload in one compiler. In the native one, the rounds are those of a cell.
    "replay": Kind(
        version=f"{PROTOCOL}.2",
        command="stackwars.measure.stablehlo.replay_cell --pins {input.pins} --peak {input.peak} --output {folder}",
        outputs={"result": f"{REPLAY}/replay.json", "profile": f"{REPLAY}/profile.json"},
        pins=kinds.compiler_pins,
        make=_replay,
        sources=kinds.compiler_sources,
        inputs={
            "programs": kinds.replayed_files,
            "check": str(REPLAY_CHECK),
            "executables": str(REPLAY_CHECK.with_name(EXECUTABLES)),
            "expected": kinds.expected_files,
            "taken": lambda grid, w: _joint_results(grid, grid.cell_of(kinds.replay_of(w))),
            "cells": lambda grid, w: grid.files(_replayed_cells(grid, w), "cell.json"),
            "peak": "{device}/peak.json",
        },
        # Only a cell's program and the machine's floor are read: neither changes a replay's times.
        ancient=("cells", "peak"),
        options={"taken": "taken"},
        arguments=lambda grid, w: _rounds(grid, w.workload, w.compiler),
        priority=1,
    ),
    # Growth of the cost of compiling: a process for each value of a size, and one for all shapes.
    "growth_process": Kind(
        version=f"{PROTOCOL}.0",
        command="stackwars.measure.supervisor --pins {input.pins} --output {output}",
        outputs={"result": f"{GROWTH}/"},
        pins=lambda grid, w: cells.pins(grid.config, _growth_point(grid, w).framework, CPU),
        make=lambda grid, w: growth_job(grid.config, _growth_point(grid, w)),
        sources=lambda grid, w: cells.sources(grid.config, _growth_cell(grid, w)),
        priority=1,
        group="grown-{framework}-{workload}",
    ),
    # Programs for several devices, for which the CPU's threads stand.
    "sharded": Kind(
        version="1",
        command="stackwars.measure.supervisor --child stackwars.measure.stablehlo.sharded --pins {input.pins} "
        "--output {output}",
        outputs={"result": f"{SHARDED}/"},
        pins=lambda grid, w: cells.pins(grid.config, _sharded_point(grid, w).framework, CPU),
        make=lambda grid, w: sharded_job(grid.config, _sharded_point(grid, w)),
        sources=lambda grid, w: sharding.sources(grid.config, _sharded_point(grid, w)),
    ),
    # A replay's gaps are known from its result alone: one job searches all causes, or finds that there is no gap.
    "causes": Kind(
        version="1",
        command="stackwars.study.replay_causes --replay {input.replay} --output {output.result} "
        "--answers {output.answers}",
        outputs={"result": str(CAUSES), "answers": f"{CAUSES.parent}/answers/"},
        pins=kinds.compiler_pins,
        make=lambda grid, w: replay_causes.job(grid.config, ReplayCell(CPU, w.compiler, w.workload)),
        sources=kinds.compiler_sources,
        inputs={
            "replay": f"{ReplayCell(CPU, '{compiler}', '{workload}').path}/replay.json",
            "programs": kinds.replayed_files,
            "evaluator": lambda grid, w: programs.compiler_pins(grid.config, programs.evaluator(grid.config)),
        },
        # After everything that a round has.
        priority=-1_000_000_002,
    ),
    "releases": Kind(
        version="3",
        command="stackwars.study.releases --output {output}",
        outputs={"result": str(ReleasesPoint("{project}", "{framework}", "{workload}").path)},
        pins=kinds.judge_pins,
        make=lambda grid, w: releases.job(grid.config, ReleasesPoint(w.project, w.framework, w.workload)),
        sources=lambda grid, w: [f"src/stackwars/core/compilers/{name}.py" for name in ("xla", "iree")],
        inputs={
            "program": f"{BASE_PROGRAM}/program.mlir.gz",
            "arguments": f"{BASE_PROGRAM}/arguments.json",
            "expected": kinds.expected_files,
        },
    ),
}
