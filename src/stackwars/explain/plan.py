"""What explaining one program consists of: the jobs of each step as JSON, and the files that they write.

Made for a user's program file, a workload or program files; the workflow and the command `stackwars explain` follow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from stackwars import frameworks
from stackwars.explain.question import SETTINGS, Question, Side
from stackwars.explain.workers import CompilerSpec

PROGRAM, ARGUMENTS = "program.mlir.gz", "arguments.json"


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
    compilers: dict[str, CompilerSpec]
    evaluator: CompilerSpec
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

    @classmethod
    def load(cls, document: dict[str, Any]) -> Plan:
        """Return the plan of its dictionary, which is JSON."""
        compilers = {name: CompilerSpec(**one) for name, one in document["compilers"].items()}
        evaluator = CompilerSpec(**document["evaluator"])
        return cls(**{**document, "compilers": compilers, "evaluator": evaluator})

    @property
    def labels(self) -> list[str]:
        """The programs of the table."""
        return [*self.files, *self.frontends]

    def side(self, label: str) -> Side:
        if label in self.files:
            return Side(label, self.file(label))
        folder = f"{self.root}/programs/{label}"
        return Side(label, f"{folder}/{PROGRAM}", f"{folder}/{ARGUMENTS}")

    def file(self, label: str) -> str:
        """Return where a program file is copied to: under its own name, which the answer's lines are of."""
        suffix = (
            "".join(Path(self.files[label]).suffixes[-2:]) if self.files[label].endswith(".gz") else ".mlir"
        )
        return f"{self.root}/programs/{label}/{label}{suffix}"

    def expected(self, label: str) -> str:
        """Return the folder of a program's expected values: one for all programs of a workload."""
        return f"{self.root}/expected" + (f"/{label}" if self.files else "")

    @property
    def expected_folders(self) -> list[str]:
        """The folders of all expected values."""
        return list(dict.fromkeys(map(self.expected, self.labels)))

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
        return self._tries(self.labels, self.compilers[compiler])

    def reference_job(self, label: str) -> dict[str, Any]:
        """Return the OutcomesJob of a program file, for `reference`."""
        return self._tries([label], self.evaluator)

    def lower_job(self, frontend: str) -> dict[str, Any]:
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
        sides = map(self.side, list(self.frontends)[:2])
        return {
            "workload": self.workload,
            "variant": "base",
            "sizes": self.sizes,
            "seed": self.seed,
            "memory_cap_gib": self.settings["memory_cap_gib"],
            "timeout_s": self.settings["budget_s"],
            "programs": {side.label: {"program": side.program, "arguments": side.arguments} for side in sides},
        }

    def native_job(self, framework: str) -> dict[str, Any]:
        return {
            "framework": framework,
            **self._fields("workload", "sizes", "seed"),
            "expected": self.expected(framework),
            "settings": self.settings,
        }

    def plan_job(self) -> dict[str, Any]:
        """Return the plan as JSON, for the steps `table` and `page`."""
        return asdict(self)

    def question(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the Question of a row of the table's `questions`."""
        b, other = row.get("b"), row.get("other")
        question = self._question(row["id"], row.get("a") or row["program"], self.compilers[row["compiler"]])
        question = replace(
            question,
            b=self.side(b) if b else None,
            other=self.compilers[other] if other else None,
            suspect=row.get("status", ""),
            settings=self.settings | self._lowering(row),
        )
        return asdict(question)

    def _lowering(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return how a search for a fault makes the program with other sizes."""
        pins = self.frontends.get(row.get("program", ""))
        if not pins:
            return {}
        return {"lower": {"pins": pins, "job": self.lower_job(row["program"])}}

    def _fields(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}

    def _question(self, name: str, label: str, compiler: CompilerSpec) -> Question:
        return Question(
            name=name,
            a=self.side(label),
            compiler=compiler,
            evaluator=self.evaluator,
            **self._fields("workload", "sizes", "seed", "inputs", "settings"),
        )

    def _tries(self, labels: list[str], compiler: CompilerSpec) -> dict[str, Any]:
        return {
            "question": asdict(self._question(self.name, labels[0], compiler)),
            "sides": [asdict(self.side(label)) for label in labels],
            "expected": {label: self.expected(label) for label in labels},
        }
