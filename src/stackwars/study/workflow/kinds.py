"""One kind of job: a row of the table `jobs.KINDS`, what Snakemake makes its rule from, and the keys of its paths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from snakemake.exceptions import WorkflowError
from snakemake.io import ancient, directory

from stackwars.core import judge
from stackwars.measure import frameworks
from stackwars.study import cells, imports, programs
from stackwars.study.cells import Cell
from stackwars.study.keys import Config
from stackwars.study.programs import BASE, Compilation, Program
from stackwars.study.workflow import job_files
from stackwars.study.workflow.grid import Grid, Wildcards

Job, Named = TypeVar("Job"), TypeVar("Named")
ALONE, TIMED, COMPILING = "alone", "timed", "compiling"
"""Demands of a job on its machine. No other job runs with one that is alone, nor with a timed one unless the preset
sets side_by_side. Two compilations may run side by side: nothing about them is timed against anything."""
CELL = Cell("{framework}", "{workload}", "{device}").path
"""Folder of a cell, below the folder of the run, by the wildcards of its path."""
PROGRAM = Program("{framework}", "{workload}", "{variant}").path
BASE_PROGRAM = Program("{framework}", "{workload}").path


@dataclass(frozen=True)
class Kind:
    """One kind of job that measures or compiles. Functions take the grid and the wildcards of a path.

    version: of its protocol, see `jobs`. command: the module and its options, with the names input, output, wildcards,
    and folder, which holds the result. outputs: {name: path below the folder of the run}, the result first; a folder
    ends with a slash. pins: its environment's.

    make: returns the job, a dataclass that the command reads as JSON (`--job`). sources: files that decide a result.
    inputs: {name: path below the folder of the run, or a function}. ancient: names of inputs whose dates do not count.
    options: {option of the command: name of its input}, left out if there is no such file. arguments: of the command;
    a change runs the job again. machine: ALONE, TIMED or COMPILING. group: jobs that are one job of a cluster.
    """

    version: str
    command: str
    outputs: dict[str, str]
    pins: Callable[[Grid, Wildcards], str]
    make: Callable[[Grid, Wildcards], Any] | None = None
    sources: Callable[[Grid, Wildcards], list[str]] = lambda grid, wildcards: []
    inputs: dict[str, str | Callable[[Grid, Wildcards], str | list[str]]] = field(default_factory=dict)
    ancient: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    arguments: Callable[[Grid, Wildcards], str] = lambda grid, wildcards: ""
    machine: str = TIMED
    priority: int = 0
    group: str | None = None

    def rule_inputs(self, grid: Grid) -> dict[str, Any]:
        """Return the inputs of its rule: files, and functions of wildcards that return files."""
        result = {"pins": _checked(grid, self.pins)}
        for key, files in self.inputs.items():
            files = f"{grid.root}/{files}" if isinstance(files, str) else _checked(grid, files)
            result[key] = ancient(files) if key in self.ancient else files
        return result

    def rule_outputs(self, grid: Grid) -> dict[str, str]:
        paths = {key: f"{grid.root}/{path}" for key, path in self.outputs.items()}
        return {key: directory(path.rstrip("/")) if path.endswith("/") else path for key, path in paths.items()}

    def log(self, grid: Grid) -> str:
        """Return the log of its rule, which lies below logs/ as the result does below the folder of the run."""
        result = Path(next(iter(self.outputs.values())))
        return f"{grid.root}/logs/{result.with_name(result.name.partition('.')[0])}.txt"

    def params(self, grid: Grid, name: str) -> dict[str, Any]:
        """Return the parameters of its rule: a change of any but the command runs its jobs again.

        name: begins the names of the files of its jobs' specifications.
        """

        def job(grid: Grid, wildcards: Wildcards) -> str:
            return f"--job {job_files.planned(name, self.make(grid, wildcards))}" if self.make else ""

        return {
            "sources": _checked(grid, lambda grid, wildcards: imports.digest(self.sources(grid, wildcards))),
            "job": _checked(grid, job),
            "arguments": _checked(grid, self.arguments),
            "version": self.version,
            "command": self._command,
        }

    def _command(self, wildcards: Wildcards, input: Any, output: Any) -> str:
        folder = Path(output[0]).parent
        text = self.command.format(wildcards=wildcards, input=input, output=output, folder=folder)
        files = {option: getattr(input, key) for option, key in self.options.items()}
        return " ".join([text, *(f"--{option} {file}" for option, file in files.items() if file)])


def _checked(grid: Grid, function: Callable[[Grid, Wildcards], Any]) -> Callable[[Wildcards], Any]:
    """Return the function of wildcards alone, which first refuses what the configuration does not have."""

    def checked(wildcards: Wildcards) -> Any:
        grid.check(wildcards)
        return function(grid, wildcards)

    return checked


def step_digest(*modules: str) -> Callable[[Wildcards], str]:
    """Return a function for params: the digest of a step's modules and of what they import, titles included."""
    return lambda wildcards: imports.digest(imports.sources(*modules), is_shown=True)


def filled(job: type[Job], config: Config, **chosen: Any) -> Job:
    """Return a job with these values in its fields; other fields get the configuration's values by their names.

    It has the settings, the preset, the dialect of a framework, module and options of a compiler, and the sizes and
    expected values of a workload.
    """
    settings, place = cells.settings(config).document(), (chosen.get("workload"), chosen.get("variant", BASE))
    sources = {
        "preset": lambda: config.preset,
        "repetition": lambda: 0,
        "dialect": lambda: frameworks.load(chosen["framework"]).DIALECT,
        "module": lambda: config.compilers[chosen["compiler"]].module,
        "options": lambda: config.compilers[chosen["compiler"]].options,
        "sizes": lambda: programs.sizes(config, *place),
        "expected": lambda: programs.expected_folder(config, *place),
    }
    names = [one.name for one in fields(job)]
    derived = {name: sources[name]() for name in names if name in sources and name not in chosen}
    values = settings | derived | chosen
    return job(**{name: values[name] for name in names if name in values})


def named(kind: type[Named], wildcards: Wildcards) -> Named:
    """Return the cell, replay or point that a path names: an instance of a dataclass whose fields the path has."""
    return kind(**{one.name: getattr(wildcards, one.name) for one in fields(kind)})


def program_of(wildcards: Wildcards) -> Program:
    """Return the program that a path names, at the preset's sizes if the path has no variant."""
    return Program(wildcards.framework, wildcards.workload, getattr(wildcards, "variant", BASE))


def compilation_of(wildcards: Wildcards) -> Compilation:
    return Compilation(wildcards.target, wildcards.compiler, program_of(wildcards))


def configured(key: str, known: list, wanted: Any) -> Any:
    """Return what a path names.

    :raises WorkflowError: unless it is among those that the key of the configuration names.
    """
    if wanted not in known:
        raise WorkflowError(
            f"target: {key}: expected what the key {key} in config/config.yaml names, got {wanted.path}; fix: change "
            "the path, or that key"
        )
    return wanted


def program_files(grid: Grid, programs_: list[Program]) -> list[str]:
    return [path for files in programs.files(grid.config, programs_).values() for path in files.values()]


def replayed_files(grid: Grid, wildcards: Wildcards) -> list[str]:
    return program_files(grid, programs.replayed(grid.config, wildcards.workload, wildcards.compiler))


def expected_files(grid: Grid, wildcards: Wildcards) -> list[str]:
    """Return the expected values that a workload's outputs are compared with; [] if there are none."""
    variant = getattr(wildcards, "variant", BASE)
    folder = programs.expected_folder(grid.config, wildcards.workload, variant)
    return [f"{folder}/{name}" for name in (judge.DOCUMENT, judge.ARRAYS)] if folder else []


def compiler_pins(grid: Grid, wildcards: Wildcards) -> str:
    """Return the pins of the compiler that a path names, for its target if it names one."""
    return programs.compiler_pins(grid.config, wildcards.compiler, getattr(wildcards, "target", None))


def judge_pins(grid: Grid, wildcards: Wildcards) -> str:
    return programs.compiler_pins(grid.config, programs.judge_compiler(grid.config))


def compiler_sources(grid: Grid, wildcards: Wildcards) -> list[str]:
    """Return the files of the compiler that a path names and of the workload's declaration, but no frontend's.

    Expected values are computed by the judge's compiler.
    """
    compiler = getattr(wildcards, "compiler", None) or programs.judge_compiler(grid.config)
    return programs.replay_sources(grid.config, compiler, wildcards.workload)
