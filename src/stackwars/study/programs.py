"""Programs and the compilers that they go to, and where their files live: the counterpart of `cells`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from stackwars.core import compilers
from stackwars.core.compilers import XLA
from stackwars.measure import frameworks, workloads
from stackwars.measure.workloads import parallel, sized
from stackwars.setup.device import CPU
from stackwars.study import cells, imports
from stackwars.study.keys import Config
from stackwars.study.studies import Study, folder, studies, with_programs, workloads_of

BASE = "base"
"""The variant of the preset's sizes."""
ODD = "odd"
"""The beginning of the names of odd sizes."""


@dataclass(frozen=True, order=True)
class Program:
    """One framework's StableHLO of a workload; variant: `base`, other sizes than the preset's, odd ones, or divided."""

    framework: str
    workload: str
    variant: str = BASE

    @property
    def path(self) -> Path:
        return Path("programs", self.framework, self.workload, self.variant)


@dataclass(frozen=True, order=True)
class Compilation:
    """One program, compiled for a target by a compiler."""

    target: str
    compiler: str
    program: Program

    @property
    def path(self) -> Path:
        names = (self.program.framework, self.program.workload, self.program.variant)
        return Path("ahead", self.target, self.compiler, *names)

    @property
    def largest_batch_path(self) -> Path:
        """The file of the search for the largest batch that starts from this compilation."""
        return self.path.with_name("largest_batch.json")


@dataclass(frozen=True, order=True)
class ReplayCell:
    """All programs of a workload, run by one compiler on one device."""

    device: str
    compiler: str
    workload: str

    @property
    def path(self) -> Path:
        return Path("replay", self.device, self.compiler, self.workload)


def compiled_workloads(config: Config) -> list[str]:
    """Return the workloads whose programs the preset does not exclude from the compilers, in the order of the grid."""
    excluded = config.chosen.exclude_programs
    return [workload for workload in config.workloads if workload not in excluded]


def sizes(config: Config, workload: str, variant: str = BASE) -> dict[str, int]:
    """Return the workload's sizes in this variant; no preset changes odd ones.

    :raises ValueError: for a variant of another form, and one beyond the list of odd sizes.
    """
    if not variant.startswith(ODD):
        return resized(cells.sizes(config, workload), variant)
    known = odd_variants(config, workload)
    if variant not in known:
        raise ValueError(
            f"variant of {workload}: expected one of {', '.join(known) or 'none'}, got {variant}; "
            "fix: add its sizes to odd_sizes.workloads in config/config.yaml"
        )
    return dict(_odd_rows(config, workload)[known.index(variant)])


def resized(sizes: dict[str, int], variant: str) -> dict[str, int]:
    """Return sizes changed to those of a variant, which a division among devices leaves as they are.

    Raises ValueError for a variant of another form.
    """
    if variant == BASE or parallel.is_variant(variant):
        return dict(sizes)
    result = sized.resized(sizes, variant)
    if result is None:
        raise ValueError(f"expected a variant like b8 or b8s512, got {variant!r}")
    return result


def _programs(config: Config, workload: str, is_wanted: Callable[[Study], bool]) -> list[Program]:
    """Return the workload's programs that go to the compilers, of each framework that a wanted study has."""
    wanted = [study for study in studies(config) if is_wanted(study)]
    names = with_programs(config)
    return [Program(name, workload) for name in names if any(one.has_program(name, workload) for one in wanted)]


def base_programs(config: Config) -> list[Program]:
    """Return every framework's program of every compiled workload, at the preset's sizes."""
    names = compiled_workloads(config)
    return [program for name in names for program in _programs(config, name, lambda study: True)]


def compilations(config: Config) -> list[Compilation]:
    """Return everything that is compiled ahead, in the order of the configuration and the grid."""
    return [
        Compilation(row.target, row.compiler, replace(program, variant=variant))
        for row in config.aot_compilations
        for workload in compiled_workloads(config)
        if row.workloads is None or workload in row.workloads
        for program in _programs(config, workload, lambda study, row=row: row.target in study.targets)
        for variant in (BASE, *config.chosen.variants.get(workload, []))
    ]


def native_compiler(config: Config) -> str | None:
    """Return the compiler that the frameworks' own environments pin."""
    return next((name for name, row in config.compilers.items() if row.native), None)


def first_compilers(config: Config) -> dict[str, str]:
    """Return the compiler of each target that the tables show first."""
    return {row.target: row.compiler for row in reversed(config.aot_compilations)}


def base_compilations(config: Config) -> list[Compilation]:
    """Return the compilations of base programs by the first compiler of each target."""
    first = first_compilers(config)
    return [c for c in compilations(config) if c.program.variant == BASE and first[c.target] == c.compiler]


def finished(config: Config, compilation: Compilation) -> bool:
    """Return whether it is compiled to the end; else only until its buffers are assigned.

    Generating code takes most of the time and moves no buffer: it is done for the base programs of
    the rows of `aot_compilations` that do not say otherwise.
    """
    wanted = (compilation.target, compilation.compiler)
    row = next(r for r in config.aot_compilations if (r.target, r.compiler) == wanted)
    return row.stop_after is None and compilation.program.variant == BASE


def code_source(config: Config, compilation: Compilation) -> Compilation:
    """Return the compilation whose code size is assumed for one that is not finished: the first row's base."""
    first, program = config.aot_compilations[0], compilation.program
    base = Program(program.framework, program.workload)
    return Compilation(first.target, first.compiler, base)


def largest_batches(config: Config) -> list[Compilation]:
    """Return the base compilations from which the largest batch is searched: the first row of `aot_compilations`."""
    first = [row.target for row in config.aot_compilations[:1]]
    searched = config.chosen.largest_batch
    return [c for c in base_compilations(config) if c.target in first and c.program.workload in searched]


def replayed(config: Config, workload: str, compiler: str) -> list[Program]:
    """Return the programs that a replay of the workload runs: one of each framework."""
    return _programs(config, workload, lambda study: compiler in study.compilers)


def replays(config: Config) -> list[ReplayCell]:
    """Return every workload with the compilers that replay it, on the CPU, if it has cells to compare."""
    if CPU not in config.devices:
        return []
    return [
        ReplayCell(CPU, compiler, workload)
        for workload in compiled_workloads(config)
        for compiler in _replaying(config, workload)
    ]


def measured_replays(config: Config) -> list[ReplayCell]:
    """Return the replays that the run measures; those without rounds are left out."""
    return [one for one in replays(config) if cells.rounds(config, one.workload, one.compiler)]


def _replaying(config: Config, workload: str) -> list[str]:
    return [
        compiler
        for compiler, row in config.compilers.items()
        if workload not in row.exclude_workloads and replayed(config, workload, compiler)
    ]


def searched(config: Config) -> list[ReplayCell]:
    """Return the replays whose gaps are searched for their causes: the replays of the studies with causes."""
    asking = [study for study in studies(config) if study.has_causes]
    return [
        replay
        for replay in measured_replays(config)
        if any(replay.compiler in s.compilers and replay.workload in s.workloads for s in asking)
    ]


def causes_path(compiler: str, workload: str) -> Path:
    return Path("causes", compiler, workload, "causes.json")


def evaluator(config: Config) -> str:
    """Return the compiler that evaluates programs of a search: the first XLA: later ones read what it prints."""
    return _xla_compilers(config)[0]


def judge_compiler(config: Config) -> str | None:
    """Return the compiler whose environment computes expected values: the last XLA, which runs no cell."""
    return next(reversed(_xla_compilers(config)), None)


def _xla_compilers(config: Config) -> list[str]:
    return [name for name, row in config.compilers.items() if row.module == XLA]


def evaluated(config: Config, workload: str, variant: str = BASE) -> list[Program]:
    """Return the programs that the expected values of a workload are computed from: the baseline's, and a witness.

    The witness is a second frontend's program that the run lowers in any case; a workload with values in NumPy needs
    none. [] if no program can be judged.
    """
    frontends = with_programs(config)
    if not frontends or not judge_compiler(config):
        return []
    module = workloads.load(workload)
    most = 1 if module.has_reference and module.IS_REFERENCE_TESTED else 2
    is_replayed = variant == BASE and workload in compiled_workloads(config)
    planned = _replaying(config, workload) if is_replayed else []
    planned += [name for name, *checked_at in odd_checks(config) if checked_at == [workload, variant]]
    lowered = {one.framework for name in planned for one in checked(config, workload, name, variant)}
    return [Program(name, workload, variant) for name in frontends if name in lowered | {frontends[0]}][:most]


def checked(config: Config, workload: str, compiler: str, variant: str = BASE) -> list[Program]:
    """Return the programs that are checked in a compiler: at the preset's sizes also those that a replay runs."""
    result = replayed(config, workload, compiler) if variant == BASE else []
    if (compiler, workload, variant) in odd_checks(config):
        result += [Program(name, workload, variant) for name in odd_programs(config)]
    return list(dict.fromkeys(result))


def checks(config: Config) -> list[tuple[str, str, str]]:
    """Return (compiler, workload, variant) of every check: those before replays, and of the study of odd sizes."""
    before = ((replay.compiler, replay.workload, BASE) for replay in measured_replays(config))
    return list(dict.fromkeys([*before, *odd_checks(config)]))


# Odd sizes, at which kernels break: programs are called at them, untimed, and their values judged. The variants of a
# workload are their places in the list of the key odd_sizes: odd1, odd2, and so on.


def odd_variants(config: Config, workload: str) -> list[str]:
    """Return the workload's variants, in the order of their list."""
    return [f"{ODD}{place}" for place, _ in enumerate(_odd_rows(config, workload), 1)]


def _odd_rows(config: Config, workload: str) -> list[dict[str, int]]:
    return config.odd_sizes.workloads.get(workload, []) if config.odd_sizes else []


def odd_programs(config: Config) -> list[str]:
    """Return the frameworks whose programs are called, of those that the configuration has."""
    known = with_programs(config)
    return [name for name in config.odd_sizes.programs if name in known] if config.odd_sizes else []


def odd_checks(config: Config) -> list[tuple[str, str, str]]:
    """Return (compiler, workload, variant) of every check of the study of the key odd_sizes, in the order of the grid.

    In addition to the odd sizes it has the preset's, of workloads whose programs go to the compiler. The others take
    long at the preset's sizes, and are small at odd ones.
    """
    excluded = config.chosen.exclude_programs
    return [
        (compiler, workload, variant)
        for workload in (workloads_of(config, "odd_sizes") if odd_programs(config) else ())
        for variant in (BASE, *odd_variants(config, workload))
        for compiler in config.odd_sizes.compilers
        if variant != BASE or workload not in [*excluded, *config.compilers[compiler].exclude_workloads]
    ]


def expected_folder(config: Config, workload: str, variant: str = BASE) -> str:
    """Return the folder of a workload's expected values, relative to the repository; "" if there are none."""
    has_values = evaluated(config, workload, variant)
    return f"results/{folder(config)}/expected/{workload}/{variant}" if has_values else ""


def check_path(compiler: str, workload: str, variant: str = BASE) -> Path:
    return Path("checks", compiler, workload, variant, "check.json")


def files(config: Config, programs_: list[Program]) -> dict[str, dict[str, str]]:
    """Return the files of programs, relative to the repository."""
    names = {"program": "program.mlir.gz", "arguments": "arguments.json"}
    return {
        program.framework: {
            key: f"results/{folder(config)}/{program.path}/{name}" for key, name in names.items()
        }
        for program in programs_
    }


def replay_sources(config: Config, compiler: str, workload: str) -> list[str]:
    """Return the files of the compiler that replays and of the workload's declaration, relative to the repository."""
    compiler_files = imports.measured_sources(f"{compilers.__name__}.{config.compilers[compiler].module}")
    return sorted({*compiler_files, workloads.file_of(workload)})


def lower_pins(config: Config, framework: str) -> str:
    """Return the path of the pins file of the environment that lowers a framework's programs.

    Its row's `programs`, or else its environment on the CPU; the configuration is refused without either.
    """
    name = config.frameworks[framework].programs
    return f"envs/{name}.txt" if name else cells.pins(config, framework, CPU)


def compiler_pins(config: Config, compiler: str, target: str | None = None) -> str:
    """Return the path of the pins file of a compiler's environment, which a target may replace."""
    replaced = config.targets[target].environments if target else {}
    return f"envs/{replaced.get(compiler, config.compilers[compiler].environment)}.txt"


def lower_sources(config: Config, framework: str, workload: str) -> list[str]:
    dialect = frameworks.load(framework).DIALECT
    return imports.measured_sources(
        *workloads.sources(workload, dialect), f"stackwars.measure.stablehlo.lower_{framework}"
    )
