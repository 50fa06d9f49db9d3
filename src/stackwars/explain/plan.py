"""What explaining one program consists of: the jobs of each step as JSON, and the files that they write.

Made for a user's program file, a workload or program files; the workflow and the command `stackwars explain` follow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from stackwars import frameworks
from stackwars.explain.outcomes import HANG, REFUSED
from stackwars.explain.question import Question, Side
from stackwars.explain.workers import CompilerSpec
from stackwars.setup import environments

PROGRAM, ARGUMENTS = "program.mlir.gz", "arguments.json"
SETTINGS = {
    "bound": 0.1,
    "compiler_gap": 1.5,
    "questions": 3,
    "seconds": 0.3,
    "budget_s": 600,
    "timeout_s": 120,
    "memory_cap_gib": "auto",
    "matmul_precision": "highest",
}
"""bound, compiler_gap: gaps between programs and between compilers that are explained. questions: at most so many of
each kind. seconds: each program is timed so long. budget_s: of a search; timeout_s: of a compilation or call."""
STATUSES = {HANG: "timeout", REFUSED: "unsupported"}


@dataclass(frozen=True)
class Tried:
    """A compiler of the table: its module and options, and the pins of its environment, "" for this Python."""

    module: str = "xla"
    options: dict[str, str] = field(default_factory=dict)
    environment: str = ""

    def named(self, name: str) -> dict[str, Any]:
        """Return the compiler as JSON, without its environment."""
        return {"name": name, "module": self.module, "options": self.options}

    def spec(self, name: str) -> CompilerSpec:
        """Return the compiler in its environment."""
        return CompilerSpec(**self.named(name), python=_python(self.environment))


def labelled(paths: Sequence[Path | str]) -> dict[str, str]:
    """Return {label: path}: files' names without suffix, told apart by a and b if they are the same.

    >>> labelled(["x/slow.mlir", "y/slow.mlir.gz"])
    {'slow-a': 'x/slow.mlir', 'slow-b': 'y/slow.mlir.gz'}
    """
    stems = list(map(stem, paths))
    if len(set(stems)) < len(stems):
        stems = [f"{one}-{side}" for one, side in zip(stems, "ab", strict=False)]
    return dict(zip(stems, map(str, paths), strict=True))


def stem(path: Path | str) -> str:
    """Return the name of a program's file without its suffix."""
    return Path(path).name.removesuffix(".gz").removesuffix(".mlir").removesuffix(".py")


def _python(pins: str) -> str:
    """Return the Python of an environment, whether or not it is built yet; "" is this one."""
    return str(environments.folder(Path(pins)) / "bin" / "python") if pins else ""


def _suspect(row: dict[str, Any]) -> dict[str, str]:
    """Return what is wrong with a program, in the words of `stackwars.compilers.check`."""
    if row["kind"] != "fault":
        return {}
    return {
        "label": row["program"],
        "status": STATUSES.get(row["status"], row["status"]),
        "detail": row["detail"],
    }


@dataclass(frozen=True)
class Plan:
    """What is explained.

    root: the folder of its results. files: {label: program file} of a question about files, else empty. frontends:
    {framework: pins} whose programs are tried. natives: {framework: pins} that run without a compiler. compilers: in
    the table's order. evaluator: computes expected values and parses programs. workload: name or path; "" for files.
    command: repeats it.
    """

    name: str
    title: str
    root: str
    compilers: dict[str, Tried]
    evaluator: Tried
    files: dict[str, str] = field(default_factory=dict)
    frontends: dict[str, str] = field(default_factory=dict)
    natives: dict[str, str] = field(default_factory=dict)
    workload: str = ""
    sizes: dict[str, int] = field(default_factory=dict)
    seed: int = 0
    inputs: str = ""
    settings: dict[str, Any] = field(default_factory=lambda: dict(SETTINGS))
    not_tried: dict[str, list[str]] = field(default_factory=dict)
    command: str = ""

    @property
    def labels(self) -> list[str]:
        """The programs of the table."""
        return [*self.files, *self.frontends]

    def side(self, label: str) -> dict[str, str]:
        """Return a program's Side."""
        if label in self.files:
            return asdict(Side(label, self.file(label)))
        folder = f"{self.root}/programs/{label}"
        return asdict(Side(label, f"{folder}/{PROGRAM}", f"{folder}/{ARGUMENTS}"))

    def file(self, label: str) -> str:
        """Return where a program file is copied to: under its own name, which the answer's lines are of."""
        suffix = (
            "".join(Path(self.files[label]).suffixes[-2:]) if self.files[label].endswith(".gz") else ".mlir"
        )
        return f"{self.root}/programs/{label}/{label}{suffix}"

    def expected(self, label: str) -> str:
        """Return the folder of a program's expected values: one for all programs of a workload."""
        return f"{self.root}/expected" + (f"/{label}" if self.files else "")

    def outcomes(self, compiler: str) -> str:
        """Return the file of a compiler's outcomes."""
        return f"{self.root}/outcomes/{compiler}.json"

    def native(self, framework: str) -> str:
        """Return the file of a framework that runs without a compiler."""
        return f"{self.root}/native/{framework}.json"

    def answer(self, question: dict[str, Any]) -> str:
        """Return the folder of what is found about a question of the table."""
        return f"{self.root}/{question['kind']}s/{question['id']}"

    def outcomes_job(self, compiler: str) -> dict[str, Any]:
        """Return the OutcomesJob of a compiler."""
        return self._tries(self.labels, compiler, self.compilers[compiler])

    def reference_job(self, label: str) -> dict[str, Any]:
        """Return the OutcomesJob of a program file, for `reference`."""
        return self._tries([label], "reference", self.evaluator)

    def lower_job(self, frontend: str) -> dict[str, Any]:
        """Return the LowerJob of a frontend."""
        return {
            "framework": frontend,
            "dialect": frameworks.load(frontend).DIALECT,
            "workload": self.workload,
            "variant": "base",
            "sizes": self.sizes,
            "seed": self.seed,
            "matmul_precision": self.settings["matmul_precision"],
        }

    def expected_job(self) -> dict[str, Any]:
        """Return the ExpectedJob of a workload; the second program is a witness if there is no reference in NumPy."""
        sides = {label: self.side(label) for label in list(self.frontends)[:2]}
        programs = {
            label: {key: side[key] for key in ("program", "arguments")} for label, side in sides.items()
        }
        return {
            "workload": self.workload,
            "variant": "base",
            "sizes": self.sizes,
            "seed": self.seed,
            "memory_cap_gib": self.settings["memory_cap_gib"],
            "timeout_s": self.settings["budget_s"],
            "programs": programs,
        }

    def native_job(self, framework: str) -> dict[str, Any]:
        """Return the NativeJob of a framework."""
        return {
            "framework": framework,
            **self._fields("workload", "sizes", "seed"),
            "expected": self.expected(framework),
            "settings": self.settings,
        }

    def table_job(self) -> dict[str, Any]:
        """Return the TableJob."""
        return {
            "name": self.name,
            "title": self.title,
            "programs": self.labels,
            "outcomes": {name: self.outcomes(name) for name in self.compilers},
            "natives": {name: self.native(name) for name in self.natives},
            "expected": list(dict.fromkeys(map(self.expected, self.labels))),
            "settings": {key: self.settings[key] for key in ("bound", "compiler_gap", "questions")},
            "not_tried": self.not_tried,
        }

    def question(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the Question of a row of the table's `questions`."""
        a = Side(**self.side(row.get("a") or row["program"]))
        b, other = row.get("b"), row.get("other")
        return Question(
            name=row["id"],
            a=a,
            b=Side(**self.side(b)) if b else None,
            compiler=self.compilers[row["compiler"]].spec(row["compiler"]),
            other=self.compilers[other].spec(other) if other else None,
            evaluator=self.evaluator.spec("evaluator"),
            **self._fields("workload", "sizes", "seed", "inputs"),
            suspect=_suspect(row),
            settings=self.settings | self._lowering(row),
        ).dump()

    def _lowering(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return how a search for a fault makes the program with other sizes."""
        pins = self.frontends.get(row.get("program", ""))
        if not pins:
            return {}
        return {"lower": {"python": str(_python(pins)), "job": self.lower_job(row["program"])}}

    def report_job(self) -> dict[str, Any]:
        """Return the job of `stackwars.explain.report`."""
        return {
            **self._fields("name", "title", "root"),
            "programs": {label: self.files.get(label, self.side(label)["program"]) for label in self.labels},
            **self._fields("workload", "sizes", "seed", "inputs", "command"),
        }

    def _fields(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}

    def _tries(self, labels: list[str], name: str, compiler: Tried) -> dict[str, Any]:
        return {
            "name": self.name,
            "sides": [self.side(label) for label in labels],
            "compiler": compiler.named(name),
            "evaluator": self.evaluator.named("evaluator"),
            "expected": {label: self.expected(label) for label in labels},
            **self._fields("workload", "sizes", "seed", "inputs"),
            "environment": compiler.environment,
            "evaluator_environment": self.evaluator.environment,
            "settings": self.settings,
        }
