"""Jobs that measure or compile: the table of their kinds, and the inputs, outputs and parameters of their rules.

A job runs again if its pins, the meaning of one of its files or its specification changes, or the version of its kind.
The files are those of the workload, the framework or the compiler; docstrings, comments, titles and colours have no
meaning (`imports.digest`). Everything else that decides a result (the supervisor, the conductor, limits, statistics of
a process) is the protocol of the kind: whoever changes it so that results differ raises the version in its row, and
then every job of the kind runs again.

A kind is a row of MEASURED or COMPILED, a function next to it that makes a job from the configuration, and the class
of its jobs in the module that runs them. The rule and the specification follow from the row.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from snakemake.io import ancient, directory

from stackwars.study import imports
from stackwars.study.workflow import job_files
from stackwars.study.workflow.compiled_jobs import COMPILED
from stackwars.study.workflow.grid import Grid, Wildcards
from stackwars.study.workflow.kinds import Kind
from stackwars.study.workflow.measured_jobs import MEASURED

KINDS: dict[str, Kind] = MEASURED | COMPILED
"""The kinds by the names of their rules."""


def step_digest(*modules: str) -> Callable[[Wildcards], str]:
    """Return a function for params: the digest of a step's modules and of what they import, titles included."""
    return lambda wildcards: imports.digest(imports.sources(*modules), is_shown=True)


class Jobs:
    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def inputs(self, name: str) -> dict[str, Any]:
        """Return the inputs of a rule: files, and functions of wildcards that return files."""
        kind = KINDS[name]
        result = {"pins": self._checked(kind.pins)}
        for key, files in kind.inputs.items():
            files = self._path(files) if isinstance(files, str) else self._checked(files)
            result[key] = ancient(files) if key in kind.ancient else files
        return result

    def outputs(self, name: str) -> dict[str, str]:
        return {
            key: directory(self._path(path.rstrip("/"))) if path.endswith("/") else self._path(path)
            for key, path in KINDS[name].outputs.items()
        }

    def log(self, name: str) -> str:
        """Return the log of a rule, which lies below logs/ as the result does below the folder of the run."""
        result = Path(next(iter(KINDS[name].outputs.values())))
        return self._path(f"logs/{result.with_name(result.name.partition('.')[0])}.txt")

    def params(self, name: str) -> dict[str, Any]:
        """Return the parameters of a rule: a change of any but the command runs its jobs again."""
        kind, files = KINDS[name], self.sources(name)
        return {
            "sources": lambda wildcards: imports.digest(files(wildcards)),
            "job": self.spec(name),
            "arguments": self._checked(kind.arguments),
            "version": kind.version,
            "command": self._command(kind),
        }

    def sources(self, name: str) -> Callable[[Wildcards], list[str]]:
        """Return a function of wildcards: the files that decide the job's result."""
        return self._checked(KINDS[name].sources)

    def spec(self, name: str) -> Callable[[Wildcards], str]:
        """Return a function of wildcards: the argument that names the job's specification, if it has one."""
        make = KINDS[name].make
        if make is None:
            return lambda wildcards: ""
        job = self._checked(make)
        return lambda wildcards: f"--job {job_files.planned(name, job(wildcards))}"

    def _command(self, kind: Kind) -> Callable:
        def command(wildcards: Wildcards, input: Any, output: Any) -> str:
            folder = Path(output[0]).parent
            text = kind.command.format(wildcards=wildcards, input=input, output=output, folder=folder)
            files = {option: getattr(input, key) for option, key in kind.options.items()}
            return " ".join([text, *(f"--{option} {file}" for option, file in files.items() if file)])

        return command

    def _checked(self, function: Callable[[Grid, Wildcards], Any]) -> Callable[[Wildcards], Any]:
        def checked(wildcards: Wildcards) -> Any:
            self._grid.check(wildcards)
            return function(self._grid, wildcards)

        return checked

    def _path(self, path: str) -> str:
        return f"{self._grid.root}/{path}"
