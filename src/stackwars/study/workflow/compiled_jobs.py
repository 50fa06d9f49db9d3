"""Kinds of jobs that lower, evaluate, check, compile and compare programs. Nothing is timed against anything."""

from __future__ import annotations

from typing import Any

from snakemake.exceptions import WorkflowError

from stackwars.measure.stablehlo.ahead_supervisor import CompileJob
from stackwars.measure.stablehlo.check import EXECUTABLES, CheckJob
from stackwars.measure.stablehlo.expected import ExpectedJob
from stackwars.measure.stablehlo.largest_batch import LargestBatchJob
from stackwars.measure.stablehlo.lower import LowerJob
from stackwars.measure.stablehlo.optimised import OptimiseJob
from stackwars.measure.workloads import parallel
from stackwars.setup.device import CPU
from stackwars.study import cells, programs, searches, sharding
from stackwars.study.keys import Config
from stackwars.study.programs import Compilation, Program
from stackwars.study.searches import MemoryJob
from stackwars.study.workflow import kinds
from stackwars.study.workflow.grid import Grid, Wildcards
from stackwars.study.workflow.kinds import ALONE, CELL, COMPILING, PROGRAM, Kind, filled

EXPECTED = "expected/{workload}/{variant}"
CHECK = programs.check_path("{compiler}", "{workload}", "{variant}")
AHEAD = Compilation("{target}", "{compiler}", Program("{framework}", "{workload}", "{variant}")).path
LARGEST_BATCH = Compilation("{target}", "{compiler}", Program("{framework}", "{workload}")).largest_batch_path
MEMORY = searches.Point("{place}", "{workload}").path
WORKLOAD_GROUP = "compiled-{workload}"
LAST = -1_000_000_000
"""Priority of a job for which no other job of a round waits."""


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


def optimise_job(config: Config) -> OptimiseJob:
    timeout_s = cells.settings(config).compile_timeout_s
    return filled(OptimiseJob, config, compiler=programs.native_compiler(config), timeout_s=timeout_s)


def compile_job(config: Config, compilation: Compilation) -> CompileJob:
    """Return the job that compiles a program for a target.

    A compilation for a slice stops once its buffers are assigned, and the size of its code is not counted.
    """
    code = 0 if parallel.is_variant(compilation.program.variant) else None
    return filled(CompileJob, config, **_compiling(config, compilation), assumed_code_bytes=code)


def largest_batch_job(config: Config, compilation: Compilation) -> LargestBatchJob:
    limit = cells.settings(config).largest_batch_compilations
    return filled(LargestBatchJob, config, **_compiling(config, compilation), limit=limit)


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
    point = searches.Point(wildcards.place, wildcards.workload)
    return searches.memory_job(grid.config, kinds.configured("memory", searches.asked(grid.config), point))


def _compared(grid: Grid, wildcards: Wildcards) -> list[str]:
    sides = _memory(grid, wildcards).programs.values()
    return [path for programs_ in sides for files in programs_.values() for path in files.values()]


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
        make=lambda grid, w: optimise_job(grid.config),
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
        make=lambda grid, w: largest_batch_job(grid.config, kinds.compilation_of(w)),
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
