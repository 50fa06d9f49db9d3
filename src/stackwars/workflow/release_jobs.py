"""What `make releases PROGRAM=...` makes: a file for each project and program.

A program is a StableHLO file, or it is lowered by the frameworks of the key releases: from a workload of the
configuration, or from a program file, whose programs are made as for `make explain`.
"""

from __future__ import annotations

from pathlib import Path

from snakemake.exceptions import WorkflowError

from stackwars.explain.plan import stem
from stackwars.study import programs, releases
from stackwars.study.programs import Program
from stackwars.study.studies import folder
from stackwars.workflow import job_files
from stackwars.workflow.grid import Wildcards

FOLDER = "explain"
"""Where everything that is made for one program lies."""
STABLEHLO = (".mlir", ".mlir.gz")


class ReleaseJobs:
    """Inputs and parameters of the rules for one program."""

    def __init__(self, config: dict, program: str) -> None:
        """config: of the run. program: a StableHLO file, a workload or a program file; "" if none is given."""
        self._config = config
        self._program = program

    def wanted(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the program that the configuration names."""
        if not self._program:
            raise WorkflowError(
                "target: releases: expected the key program, got none; fix: make releases PROGRAM=<file or workload>"
            )
        labels = [stem(self._program)] if self._is_stablehlo() else self._config["releases"]["programs"]
        projects = [name for name, versions in self._config["releases"]["versions"].items() if versions]
        return [
            f"{FOLDER}/{stem(self._program)}/releases/{project}.{label}.json"
            for project in projects
            for label in labels
        ]

    def files(self, wildcards: Wildcards) -> list[str]:
        """Return the files that a job reads."""
        given = self._given(wildcards.label)
        expected = (
            [f"{given['expected']}/expected.{suffix}" for suffix in ("json", "npz")]
            if given["expected"]
            else []
        )
        return [given["program"], *([given["arguments"]] if given["arguments"] else []), *expected]

    def job(self, wildcards: Wildcards) -> str:
        """Return the path of a job's specification."""
        order = self._config["releases"]["order"]
        given = self._given(wildcards.label)
        label = wildcards.name if self._is_stablehlo() else f"{wildcards.name} of {wildcards.label}"
        job = releases.job_of(self._config, wildcards.project, order=order, label=label, **given)
        return job_files.planned("releases", job)

    def _is_stablehlo(self) -> bool:
        return self._program.endswith(STABLEHLO)

    def _given(self, label: str) -> dict[str, str]:
        """Return the paths of the program, its arguments and its expected values; "" for those that it has not."""
        if self._is_stablehlo():
            # As a lowering writes it, beside the program.
            beside = Path(self._program).with_name("arguments.json")
            return {
                "program": self._program,
                "arguments": str(beside) if beside.exists() else "",
                "expected": "",
            }
        if self._program in self._config["workloads"]:
            root, place = f"results/{folder(self._config)}", Program(label, self._program).path
            expected = programs.expected_folder(self._config, self._program)
            names = {"framework": label, "workload": self._program}
        else:
            root, place = f"{FOLDER}/{stem(self._program)}", Path("programs", label)
            expected, names = f"{root}/expected", {"framework": label}
        paths = {"program": f"{root}/{place}/program.mlir.gz", "arguments": f"{root}/{place}/arguments.json"}
        return {**paths, "expected": expected, **names}
