"""What `make explain` is about: the plan of a name, from the configuration and what the command gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from snakemake.exceptions import WorkflowError

from stackwars import frameworks, workloads
from stackwars.compilers import XLA
from stackwars.explain.plan import Plan, labelled, stem
from stackwars.explain.question import SETTINGS
from stackwars.explain.workers import CompilerSpec
from stackwars.setup.environments import REPOSITORY
from stackwars.study import cells, imports, programs
from stackwars.study.config import read
from stackwars.workflow import job_files
from stackwars.workflow.grid import Wildcards
from stackwars.workflow.release_jobs import FOLDER, STABLEHLO
from stackwars.workloads import sized

GIVEN = ("program", "program_a", "program_b", "inputs")
"""Keys of the configuration that only a command gives."""
NATIVES = ("torch_eager", "numpy")
DEFAULTS = {"frontends": ["jax"], "compilers": []}
VERSION = "1"
"""Of the protocol by which outcomes and times are found."""


def take(config: dict) -> dict[str, Any]:
    """Remove what only `make explain` reads from the configuration, and return it."""
    own = config.pop("explain", {})
    given = {key: str(config.pop(key, "") or "") for key in GIVEN}
    return {**DEFAULTS, **own, **given, "settings": {**SETTINGS, **own.get("settings", {})}}


class ExplainJobs:
    """Inputs and parameters of the rules of `make explain`."""

    def __init__(self, config: dict, options: dict[str, Any], table: Callable[[str], str]) -> None:
        """config: of the run. options: of `take`. table: returns the table of a name once it is made."""
        self._config, self._options, self._table = config, options, table
        self.plan = cache(self._plan)

    # Names

    def pages(self, wildcards: Wildcards) -> list[str]:
        """Return the page of what the command gives."""
        given = {key: self._options[key] for key in GIVEN[:3] if self._options[key]}
        if not given or ("program" in given) == ("program_a" in given):
            raise WorkflowError(
                "explain: expected program=<file or workload>, or program_a=<file.mlir>, and program_b=<file.mlir> "
                f"to compare it with, got {given or 'none'}; fix: make explain PROGRAM=softmax.py"
            )
        name = "-".join(dict.fromkeys(map(stem, given.values())))
        return [f"{FOLDER}/{name}/explain.html"]

    def _program(self, name: str) -> str:
        """Return the program file or workload of a name: the command's, or one of the working directory."""
        if self._options["program"]:
            return self._options["program"]
        candidates = [f"{name}{suffix}" for suffix in (".py", *STABLEHLO)]
        found = next((path for path in candidates if Path(path).is_file()), None)
        if found or name in workloads.names():
            return found or name
        raise WorkflowError(
            f"target: explain/{name}: expected one of the files {', '.join(candidates)} in this folder, or a workload, "
            "got neither; fix: give --config program=<path>, or program_a=<file.mlir> program_b=<file.mlir>"
        )

    def _plan(self, name: str) -> Plan:
        if self._options["program_a"]:
            return self._of_files(
                name, [path for path in (self._options["program_a"], self._options["program_b"]) if path]
            )
        program = self._program(name)
        if program.endswith(STABLEHLO):
            return self._of_files(name, [program])
        return self._of_workload(name, program)

    def _of_files(self, name: str, paths: list[str]) -> Plan:
        for path in paths:
            if not Path(path).is_file():
                raise WorkflowError(f"{path}: expected a StableHLO file, got none; fix: the path")
        return Plan(
            name=name,
            title=" and ".join(paths),
            files=labelled(paths),
            inputs=self._options["inputs"],
            command=self._command({"A": paths[0], "B": paths[1] if len(paths) > 1 else ""}),
            not_tried={"compilers": self._left("compilers")},
            **self._common(name),
        )

    def _of_workload(self, name: str, program: str) -> Plan:
        try:
            workload = workloads.load(program)
        except (ValueError, ImportError) as error:
            raise WorkflowError(str(error)) from None
        is_file = program.endswith(".py")
        sizes = workload.DEFAULTS if is_file else cells.sizes(self._config, program)
        chosen = self._options["frontends"]
        self._check("frontends", chosen, self._frontends())
        has_form = {one: frameworks.load(one).DIALECT not in workload.NO_FORM for one in self._frontends()}
        shown = [one for one in chosen if has_form[one]]
        return Plan(
            name=name,
            title=workload.TITLE,
            frontends={one: programs.lower_pins(self._config, one) for one in shown if one not in NATIVES},
            natives={one: programs.lower_pins(self._config, one) for one in shown if one in NATIVES},
            workload=program,
            sizes=sizes,
            seed=self._config["settings"]["seed"],
            command=self._command({"PROGRAM": program}),
            not_tried={
                "frontends": [one for one in self._frontends() if has_form[one] and one not in shown],
                "frontends without a function": [one for one in chosen if not has_form[one]],
                "compilers": self._left("compilers"),
            },
            **self._common(name),
        )

    def _common(self, name: str) -> dict[str, Any]:
        chosen = self._options["compilers"] or list(self._config["compilers"])
        self._check("compilers", chosen, self._config["compilers"])
        judge = programs.judge_compiler(self._config)
        return {
            "root": f"{FOLDER}/{name}",
            "compilers": {one: self._tried(one) for one in chosen},
            "evaluator": self._tried(judge),
            "settings": self._options["settings"],
        }

    def _tried(self, compiler: str) -> CompilerSpec:
        row = self._config["compilers"][compiler]
        pins = programs.compiler_pins(self._config, compiler)
        return CompilerSpec(compiler, row.get("module", XLA), row.get("options", {}), pins)

    def _left(self, what: str) -> list[str]:
        chosen = self._options[what] or list(self._config[what])
        return [one for one in self._config[what] if one not in chosen]

    def _command(self, given: dict[str, str]) -> str:
        """Return the command that explains the same, with what it chose other than the configuration's file."""
        own = read(REPOSITORY / "config" / "config.yaml").get("explain", {})
        chosen = {"INPUTS": self._options["inputs"]}
        for what in ("compilers", "frontends"):
            if self._options[what] != own.get(what):
                chosen[what.upper()] = ",".join(self._options[what])
        bound = self._options["settings"]["bound"]
        if bound != {**SETTINGS, **own.get("settings", {})}["bound"]:
            chosen["BOUND"] = str(bound)
        return " ".join(
            ["make explain", *(f"{key}={value}" for key, value in (given | chosen).items() if value)]
        )

    def _frontends(self) -> list[str]:
        folder = Path(imports.SOURCE, imports.PACKAGE, "compilers")
        lowered = [one for one in self._config["frameworks"] if (folder / f"lower_{one}.py").is_file()]
        return [*lowered, *(one for one in NATIVES if one in self._config["frameworks"])]

    @staticmethod
    def _check(what: str, chosen: list[str], known: Any) -> None:
        for one in chosen:
            if one not in known:
                raise WorkflowError(
                    f"explain.{what}: expected some of {', '.join(known)}, got {one}; fix: {what.upper()}=<names>"
                )

    # Inputs and parameters of the rules

    def row(self, kind: str, wildcard: str) -> Callable[[Wildcards], str]:
        """Return an input function: the file or the pins that the plan has of this kind for a wildcard."""

        def find(wildcards: Wildcards) -> str:
            rows, name = getattr(self.plan(wildcards.name), kind), getattr(wildcards, wildcard)
            self._known(rows, name)
            return rows[name].pins if kind == "compilers" else rows[name]

        return find

    def lower_sources(self, wildcards: Wildcards) -> list[str]:
        """Return the files that a frontend's program is made from."""
        self._known(self.plan(wildcards.name).frontends, wildcards.frontend)
        lowering = programs.lower_sources(self._config, wildcards.frontend, self.plan(wildcards.name).workload)
        return self.sources(wildcards) + lowering

    def sources(self, wildcards: Wildcards) -> list[str]:
        """Return the files that decide what is explained: the user's, or the workload's module."""
        plan = self.plan(wildcards.name)
        inputs = [plan.inputs] if plan.inputs else []
        if plan.workload.endswith(".py"):
            return [*inputs, plan.workload]
        return [*inputs, *([sized.source(plan.workload)] if plan.workload else [])]

    def programs(self, wildcards: Wildcards) -> list[str]:
        """Return the files of all programs."""
        plan = self.plan(wildcards.name)
        sides = map(plan.side, plan.labels)
        return [path for side in sides for path in (side.program, side.arguments) if path]

    def evaluated(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the programs that a workload's expected values are computed from."""
        plan = self.plan(wildcards.name)
        return [path for row in plan.expected_job()["programs"].values() for path in row.values()]

    def expected(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the expected values."""
        plan = self.plan(wildcards.name)
        return [
            f"{folder}/{name}" for folder in plan.expected_folders for name in ("expected.json", "expected.npz")
        ]

    def judge_pins(self, wildcards: Wildcards) -> str:
        """Return the pins of the environment that computes expected values."""
        return self.plan(wildcards.name).evaluator.pins

    def tried(self, wildcards: Wildcards) -> list[str]:
        """Return the outcomes in all compilers, and those of frameworks without one."""
        plan = self.plan(wildcards.name)
        return [*map(plan.outcomes, plan.compilers), *map(plan.native, plan.natives)]

    def job(self, kind: str, *names: str) -> Callable[[Wildcards], str]:
        """Return a function for params: the path of the plan's job of this kind, of what the wildcards name."""

        def path(wildcards: Wildcards) -> str:
            plan = self.plan(wildcards.name)
            content = getattr(plan, f"{kind}_job")(*(getattr(wildcards, name) for name in names))
            return job_files.planned(f"explain-{kind}", content)

        return path

    def answers(self, wildcards: Wildcards) -> list[str]:
        """Return the answers to the questions that the table raises; waits for the table."""
        plan = self.plan(wildcards.name)
        return [f"{plan.answer(row)}/{row['kind']}.json" for row in self._questions(wildcards)]

    def question(self, wildcards: Wildcards) -> str:
        """Return the path of the job of one question."""
        rows = [row for row in self._questions(wildcards) if row["id"] == wildcards.question]
        self._known([row["id"] for row in rows], wildcards.question)
        row = next(row for row in rows if row["kind"] == wildcards.kind)
        return job_files.planned("question", self.plan(wildcards.name).question(row))

    def _questions(self, wildcards: Wildcards) -> list[dict[str, Any]]:
        return json.loads(Path(self._table(wildcards.name)).read_text())["questions"]

    @staticmethod
    def _known(names: Any, name: str) -> None:
        if name not in names:
            raise WorkflowError(
                f"target: expected one of {', '.join(names) or 'no names'}, got {name}; fix: change the path"
            )
