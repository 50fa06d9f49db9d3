"""Jobs that measure or compile: the table of their kinds, and the functions that make jobs from the configuration.

A job runs again if its pins, the meaning of one of its files or its specification changes, or the version of its kind.
The files are those of the workload, the framework or the compiler; docstrings, comments, titles and colours have no
meaning (`imports.digest`). Everything else that decides a result (the supervisor, the conductor, limits, statistics of
a process) is the protocol of the kind: whoever changes it so that results differ raises the version in its row, and
then every job of the kind runs again.

A kind is a row of KINDS, a function that makes its job, and the class of the job in the module that runs it. The rule
and the specification follow from the row. Jobs of COMPILED lower, evaluate, check, compile or compare programs. They
time nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snakemake.exceptions import WorkflowError

from stackwars.measure import PROTOCOL, frameworks, workloads
from stackwars.measure.stablehlo.ahead_supervisor import CompileJob
from stackwars.measure.stablehlo.check import EXECUTABLES, CheckJob
from stackwars.measure.stablehlo.expected import ExpectedJob
from stackwars.measure.stablehlo.largest_batch import LargestBatchJob
from stackwars.measure.stablehlo.lower import LowerJob
from stackwars.measure.stablehlo.optimised import OptimiseJob
from stackwars.measure.stablehlo.replay import ReplayJob
from stackwars.measure.stablehlo.replay_cell import ReplayCellJob
from stackwars.measure.stablehlo.sharded import ShardedJob
from stackwars.measure.supervisor import ProcessJob
from stackwars.measure.workloads import parallel
from stackwars.setup.device import CPU
from stackwars.study import cells, growth, programs, releases, searches, sharding
from stackwars.study.cells import Cell
from stackwars.study.growth import Point as GrowthPoint
from stackwars.study.keys import Config
from stackwars.study.programs import Compilation, Program, ReplayCell
from stackwars.study.releases import Point as ReleasesPoint
from stackwars.study.searches import MemoryJob
from stackwars.study.sharding import Point as ShardingPoint
from stackwars.study.studies import folder, with_programs
from stackwars.study.workflow import job_files, kinds
from stackwars.study.workflow.grid import Grid, Wildcards
from stackwars.study.workflow.kinds import ALONE, BASE_PROGRAM, CELL, COMPILING, PROGRAM, Kind, filled

BESIDE = "beside"
"""The folder of the joint results of cells' rounds."""
REPLAY = ReplayCell("{device}", "{compiler}", "{workload}").path
REPLAY_CHECK = programs.check_path("{compiler}", "{workload}")
CAUSES = programs.causes_path("{compiler}", "{workload}")
GROWTH = GrowthPoint("{framework}", "{workload}", "{size}", "{value}").path
SHARDED = ShardingPoint("{frontend}", "{workload}", "{way}", "{devices}").path
STATE_BLOCKS = 11
"""Calls of a replay whose results are the state of its workload: the first, in fresh memory, are slow."""

EXPECTED = "expected/{workload}/{variant}"
CHECK = programs.check_path("{compiler}", "{workload}", "{variant}")
AHEAD = Compilation("{target}", "{compiler}", Program("{framework}", "{workload}", "{variant}")).path
LARGEST_BATCH = Compilation("{target}", "{compiler}", Program("{framework}", "{workload}")).largest_batch_path
MEMORY = searches.Point("{place}", "{workload}").path
WORKLOAD_GROUP = "compiled-{workload}"
LAST = -1_000_000_000
"""Priority of a job for which no other job of a round waits."""


# Cells


def _cell(grid: Grid, wildcards: Wildcards) -> ProcessJob:
    config, cell = grid.config, kinds.named(Cell, wildcards)
    partner = grid.partner(cell)
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
    cell = kinds.named(Cell, wildcards)
    replay = grid.replay_in(cell)
    files = programs.replay_sources(grid.config, replay.compiler, replay.workload) if replay else []
    sides = [side for side in (cell, grid.partner(cell)) if side]
    return sorted({*files, *(file for side in sides for file in cells.sources(grid.config, side))})


def _partner_pins(grid: Grid, wildcards: Wildcards) -> str | list:
    partner = grid.partner(kinds.named(Cell, wildcards))
    return cells.pins(grid.config, partner.framework, partner.device) if partner else []


def _joined(grid: Grid, wildcards: Wildcards) -> list[str]:
    """Return the files of the replay that takes part in a cell's rounds; [] without one."""
    replay = grid.replay_in(kinds.named(Cell, wildcards))
    if replay is None:
        return []
    check = Path(grid.root, programs.check_path(replay.compiler, replay.workload))
    return [*kinds.replayed_files(grid, replay), str(check), str(check.with_name(EXECUTABLES))]


def _joined_pins(grid: Grid, wildcards: Wildcards) -> str | list:
    replay = grid.replay_in(kinds.named(Cell, wildcards))
    return programs.compiler_pins(grid.config, replay.compiler) if replay else []


def _cell_arguments(grid: Grid, wildcards: Wildcards) -> str:
    """Return the arguments of a cell: its rounds, and the job of that replay."""
    cell = kinds.named(Cell, wildcards)
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
    has_state = bool(workloads.load(replay.workload).STATE)
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
    return ReplayCellJob(replay=replay_job(grid.config, kinds.named(ReplayCell, wildcards)), cells=folders)


# Growing sizes


def _growth_point(grid: Grid, wildcards: Wildcards) -> GrowthPoint:
    point = kinds.named(GrowthPoint, wildcards)
    return kinds.configured("growth", growth.all_points(grid.config), point)


def _growth(grid: Grid, wildcards: Wildcards) -> ProcessJob:
    config, point = grid.config, _growth_point(grid, wildcards)
    settings = cells.measuring(config, point.workload) | growth.SETTINGS
    if shapes := growth.values(config, point):
        settings |= {"size": point.size, "values": shapes}
    names = {"framework": point.framework, "workload": point.workload, "device": CPU}
    sizes = growth.sizes(config, point)
    return filled(ProcessJob, config, **names, sizes=sizes, settings=settings, expected="")


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


# Programs: lowered, evaluated, checked, compiled and compared


def lower_job(config: Config, program: Program) -> LowerJob:
    return filled(LowerJob, config, **vars(program))


def expected_job(config: Config, workload: str, variant: str) -> ExpectedJob:
    evaluated = programs.files(config, programs.evaluated(config, workload, variant))
    return filled(ExpectedJob, config, workload=workload, variant=variant, programs=evaluated)


def check_job(config: Config, compiler: str, workload: str, variant: str) -> CheckJob:
    names, settings = ("seed", "memory_cap_gib", "check_timeout_s"), cells.settings(config)
    return filled(
        CheckJob,
        config,
        **{"workload": workload, "variant": variant, "device": CPU, "compiler": compiler},
        settings={name: getattr(settings, name) for name in names},
        programs=programs.files(config, programs.checked(config, workload, compiler, variant)),
    )


def compile_job(config: Config, compilation: Compilation) -> CompileJob:
    """Return the job that compiles a program for a target.

    A compilation for a slice stops once its buffers are assigned, and the size of its code is not counted.
    """
    code = 0 if parallel.is_variant(compilation.program.variant) else None
    return filled(CompileJob, config, **_compiling(config, compilation), assumed_code_bytes=code)


def _compiling(config: Config, compilation: Compilation) -> dict[str, Any]:
    return {
        **vars(compilation.program),
        **{"target": compilation.target, "compiler": compilation.compiler},
        "target_row": config.targets[compilation.target].document(),
        "timeout_s": cells.settings(config).compile_timeout_s,
    }


def _lower_sources(grid: Grid, wildcards: Wildcards) -> list[str]:
    return programs.lower_sources(grid.config, wildcards.framework, wildcards.workload)


def _lower_pins(grid: Grid, wildcards: Wildcards) -> str:
    return programs.lower_pins(grid.config, wildcards.framework)


def _evaluated(grid: Grid, wildcards: Wildcards) -> list[str]:
    evaluated = programs.evaluated(grid.config, wildcards.workload, wildcards.variant)
    if not evaluated:
        raise WorkflowError(
            "target: expected: expected a configuration with a frontend's programs and an XLA compiler, got none"
        )
    return kinds.program_files(grid, evaluated)


def _checked(grid: Grid, wildcards: Wildcards) -> list[str]:
    names = (wildcards.workload, wildcards.compiler, wildcards.variant)
    checked = programs.checked(grid.config, *names)
    if not checked:
        raise WorkflowError(
            "target: check: expected a workload, compiler and variant with programs to check, got "
            f"{', '.join(names)}; fix: change the path, or measure the study of the key odd_sizes"
        )
    return kinds.program_files(grid, checked)


def _compile(grid: Grid, wildcards: Wildcards) -> CompileJob:
    compilation = kinds.compilation_of(wildcards)
    if parallel.is_variant(compilation.program.variant):
        kinds.configured("sharding", sharding.slices(grid.config), compilation)
    return compile_job(grid.config, compilation)


def _description(grid: Grid, wildcards: Wildcards) -> list[str]:
    """Return the file that describes the target's GPU to XLA, if it has one."""
    name = grid.config.targets[wildcards.target].description
    return [f"src/stackwars/measure/stablehlo/{name}"] if name else []


def _code_source(grid: Grid, wildcards: Wildcards) -> str | list:
    """Return the file with the code's size for a compilation that stops before its code; [] for others."""
    config, compilation = grid.config, kinds.compilation_of(wildcards)
    if parallel.is_variant(compilation.program.variant) or programs.finished(config, compilation):
        return []
    return f"{grid.root}/{programs.code_source(config, compilation).path}/ahead.json"


def _memory(grid: Grid, wildcards: Wildcards) -> MemoryJob:
    point = kinds.configured("memory", searches.asked(grid.config), kinds.named(searches.Point, wildcards))
    return searches.memory_job(grid.config, point)


def _compared(grid: Grid, wildcards: Wildcards) -> list[str]:
    sides = _memory(grid, wildcards).programs.values()
    return [path for programs_ in sides for files in programs_.values() for path in files.values()]


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
        make=_cell,
        sources=_cell_sources,
        inputs={
            "partner": _partner_pins,
            "expected": kinds.expected_files,
            "joined": _joined,
            "joined_pins": _joined_pins,
            "taken": lambda grid, w: _joint_results(grid, grid.measured_with(kinds.named(Cell, w))),
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
            "taken": lambda grid, w: _joint_results(grid, grid.cell_of(kinds.named(ReplayCell, w))),
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
        make=_growth,
        sources=lambda grid, w: cells.sources(grid.config, Cell(w.framework, w.workload, CPU)),
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
        command="stackwars.study.searches --replay {input.replay} --output {output.result} "
        "--answers {output.answers}",
        outputs={"result": str(CAUSES), "answers": f"{CAUSES.parent}/answers/"},
        pins=kinds.compiler_pins,
        make=lambda grid, w: searches.causes_job(grid.config, ReplayCell(CPU, w.compiler, w.workload)),
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
        make=lambda grid, w: releases.job(grid.config, kinds.named(ReleasesPoint, w)),
        sources=lambda grid, w: [f"src/stackwars/core/compilers/{name}.py" for name in ("xla", "iree")],
        inputs={
            "program": f"{BASE_PROGRAM}/program.mlir.gz",
            "arguments": f"{BASE_PROGRAM}/arguments.json",
            "expected": kinds.expected_files,
        },
    ),
}

COMPILED = {
    "lower": Kind(
        version="2",
        command="stackwars.setup.environments {input.pins} -- -m stackwars.measure.stablehlo.lower --output {folder}",
        outputs={"program": f"{PROGRAM}/program.mlir.gz", "arguments": f"{PROGRAM}/arguments.json"},
        pins=_lower_pins,
        make=lambda grid, w: lower_job(grid.config, kinds.program_of(w)),
        sources=_lower_sources,
        machine=COMPILING,
        # Before the cells: a replay stands among them.
        priority=10,
        group=WORKLOAD_GROUP,
    ),
    "expected": Kind(
        version="1",
        command="stackwars.measure.stablehlo.expected --pins {input.pins} --output {folder}",
        outputs={"result": f"{EXPECTED}/expected.json", "arrays": f"{EXPECTED}/expected.npz"},
        pins=kinds.judge_pins,
        make=lambda grid, w: expected_job(grid.config, w.workload, w.variant),
        sources=kinds.compiler_sources,
        inputs={"programs": _evaluated},
        machine=COMPILING,
        # Every cell and every check of the workload waits for it.
        priority=11,
        group=WORKLOAD_GROUP,
    ),
    "check": Kind(
        version="1",
        command="stackwars.measure.stablehlo.check --pins {input.pins} --output {folder}",
        outputs={"result": str(CHECK), "executables": f"{CHECK.parent}/{EXECUTABLES}/"},
        pins=kinds.compiler_pins,
        make=lambda grid, w: check_job(grid.config, w.compiler, w.workload, w.variant),
        sources=kinds.compiler_sources,
        inputs={"programs": _checked, "expected": kinds.expected_files},
        machine=COMPILING,
        priority=11,
        group=WORKLOAD_GROUP,
    ),
    # The programs that the report shows. They are made from cells, so they cannot be of the group that a cell's replay
    # is made from.
    "optimised": Kind(
        version="1",
        command="stackwars.setup.environments {input.pins} -- -m stackwars.measure.stablehlo.optimised "
        "--program {input.program} --output {output}",
        outputs={"result": f"{CELL}/optimised_cpu.hlo.gz"},
        pins=lambda grid, w: programs.compiler_pins(grid.config, programs.native_compiler(grid.config)),
        make=lambda grid, w: filled(
            OptimiseJob,
            grid.config,
            compiler=programs.native_compiler(grid.config),
            timeout_s=grid.settings.compile_timeout_s,
        ),
        inputs={"program": f"{CELL}/stablehlo.mlir.gz"},
        machine=COMPILING,
        priority=LAST,
    ),
    # variant: the preset's sizes, others, or a program that is divided among the chips of a slice.
    "ahead": Kind(
        version="1",
        command="stackwars.measure.stablehlo.ahead_supervisor --pins {input.pins} --program {input.program} "
        "--output {folder}",
        outputs={"result": f"{AHEAD}/ahead.json", "optimised": f"{AHEAD}/optimised.hlo.gz"},
        pins=kinds.compiler_pins,
        make=_compile,
        inputs={
            "program": f"{PROGRAM}/program.mlir.gz",
            "description": _description,
            "code": _code_source,
        },
        options={"code-from": "code"},
        machine=COMPILING,
        priority=LAST,
        group=WORKLOAD_GROUP,
    ),
    "largest_batch": Kind(
        version="1",
        command="stackwars.measure.stablehlo.largest_batch --pins {input.pins} --lower-pins {input.lower_pins} "
        "--base {input.base} --output {output}",
        outputs={"result": str(LARGEST_BATCH)},
        pins=kinds.compiler_pins,
        make=lambda grid, w: filled(
            LargestBatchJob,
            grid.config,
            **_compiling(grid.config, kinds.compilation_of(w)),
            limit=grid.settings.largest_batch_compilations,
        ),
        sources=_lower_sources,
        inputs={"lower_pins": _lower_pins, "base": f"{LARGEST_BATCH.parent}/base/ahead.json"},
        machine=COMPILING,
        priority=LAST - 1,
        group=WORKLOAD_GROUP,
    ),
    # A search calls large programs: two of them may not fit the machine's memory.
    "memory": Kind(
        version="1",
        command="stackwars.study.searches --output {output.result} --answers {output.answers}",
        outputs={"result": str(MEMORY), "answers": f"{MEMORY.parent}/answers/"},
        pins=lambda grid, w: _memory(grid, w).pins["compiler"],
        make=_memory,
        sources=kinds.compiler_sources,
        inputs={
            "programs": _compared,
            "evaluator": lambda grid, w: _memory(grid, w).pins["evaluator"],
        },
        machine=ALONE,
        priority=LAST - 1,
    ),
}

KINDS: dict[str, Kind] = MEASURED | COMPILED
"""The kinds by the names of their rules."""
