"""Try every program in one compiler: right, wrong, crashed, hanging or refused, and the time of those that are right.

A program that ends its process takes no other program with it: the worker is started again.
`python -m stackwars.explain.outcomes --job FILE --output FILE`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.compilers import arguments
from stackwars.compilers.check import CALLS, VERDICT, keyed
from stackwars.explain.graph import Graph, GraphError
from stackwars.explain.question import Question, Side
from stackwars.explain.workers import CompilerSpec, Crashed, Refused, TimedOut, Worker
from stackwars.measure import documents, judge, machine
from stackwars.setup import environments
from stackwars.workloads.base import INPUT_SETS

SCHEMA = 1
RIGHT, WRONG, CRASH, HANG, REFUSED, FAILED, UNJUDGED = (
    *("right", "wrong", "crash", "hang"),
    *("refused", "failed", "not judged"),
)
NATIVE = "itself"
"""In the place of a compiler, for what has none: eager PyTorch and NumPy."""
BLOCK_NS = 1_000_000
"""A timed block is about this long, or one call."""
MOST_CALLS = 256
DETAIL = 600
"""Characters of what a compiler says."""
_OPERATION = re.compile(
    r"\b((?:stablehlo|chlo|mhlo)\.[a-z_]+)|custom_call_target = \"([^\"]+)\"|(?<!\S)@([\w.$]+)"
)


@dataclass(frozen=True)
class OutcomesJob:
    """All programs in one compiler.

    sides: the programs. compiler, evaluator: see `Question`; environment, evaluator_environment: the pins of their
    environments, "" for this Python. expected: the folder of each program's expected values. settings: seconds that
    each program is timed, timeout_s of a compilation or call, memory_cap_gib.
    """

    name: str
    sides: list[dict[str, str]]
    compiler: dict[str, Any]
    evaluator: dict[str, Any]
    expected: dict[str, str]
    workload: str = ""
    sizes: dict[str, int] = field(default_factory=dict)
    seed: int = 0
    inputs: str = ""
    environment: str = ""
    evaluator_environment: str = ""
    settings: dict[str, Any] = field(default_factory=dict)

    def question(self) -> Question:
        """Return a question about the first program, which knows the values of every program's arguments."""
        return Question(
            name=self.name,
            a=Side(**self.sides[0]),
            compiler=located(CompilerSpec(**self.compiler), self.environment),
            evaluator=located(CompilerSpec(**self.evaluator), self.evaluator_environment),
            workload=self.workload,
            sizes=self.sizes,
            seed=self.seed,
            inputs=self.inputs,
            settings=self.settings,
        )


def located(spec: CompilerSpec, pins: str) -> CompilerSpec:
    """Return the compiler in the environment of a pins file, which is built if it is missing."""
    return replace(spec, python=str(environments.ensure(Path(pins)))) if pins else spec


def outcome(status: str, detail: str = "", **numbers: Any) -> dict[str, Any]:
    """Return what is known of a program in a compiler; None for numbers that it did not come to.

    emitted: whether there is a program. operation: that at which a compiler refuses it.
    """
    missing = dict.fromkeys((*VERDICT, "compile_s", "ms", "low_ms", "high_ms", "others_share", "facts"))
    return {
        "status": status,
        "detail": detail,
        "operation": "",
        "emitted": True,
        "rounds": 0,
        **missing,
        **numbers,
    }


def outcomes(job: OutcomesJob) -> dict[str, Any]:
    """Return the document of a compiler's outcomes."""
    start = time.monotonic()
    identity = {"schema": SCHEMA, "compiler": job.compiler["name"], "module": job.compiler["module"]}
    try:
        question = job.question()
    except environments.BuildError as error:
        programs = {side["label"]: outcome(FAILED, str(error)) for side in job.sides}
        return {**identity, "versions": {}, "programs": programs, "seconds": 0.0, "machine": machine.record()}
    settings = {"cap_gib": job.settings["memory_cap_gib"], "timeout_s": job.settings["timeout_s"]}
    with Worker(question.compiler, **settings) as worker, _evaluator(question, worker, settings) as evaluator:
        tries = Tries(job, question, worker, evaluator)
        programs = tries.all()
        versions = worker.versions()
    return {
        **identity,
        "options": job.compiler["options"],
        "versions": versions,
        "programs": programs,
        "seconds": round(time.monotonic() - start, 3),
        "machine": machine.record(),
        "source": machine.revision(),
    }


@contextmanager
def _evaluator(question: Question, worker: Worker, settings: dict[str, Any]) -> Iterator[Worker]:
    """Return a worker that parses programs: the suspect's own if it is the same compiler."""
    if (question.compiler.module, question.compiler.python) == (
        question.evaluator.module,
        question.evaluator.python,
    ):
        yield worker
    else:
        with Worker(question.evaluator, **settings) as other:
            yield other


class Tries:
    """The programs of a job in one worker."""

    def __init__(self, job: OutcomesJob, question: Question, worker: Worker, evaluator: Worker) -> None:
        self._job, self._question, self._worker, self._evaluator = job, question, worker, evaluator
        self._sides = [Side(**side) for side in job.sides]
        self._graphs: dict[str, Graph] = {}
        self._loaded: set[str] = set()

    def all(self) -> dict[str, dict[str, Any]]:
        """Return the outcome of every program, by label."""
        result = {side.label: self._guarded(lambda side=side: self._checked(side)) for side in self._sides}
        timed = [side for side in self._sides if result[side.label]["status"] in (RIGHT, UNJUDGED)]
        try:
            times = self._times(timed)
        except (Crashed, TimedOut, Refused, MemoryError):
            # One of them: each alone tells which.
            self._loaded.clear()
            times = {}
            for side in timed:
                found = self._guarded(lambda side=side: self._times([side])[side.label])
                if found["status"] == RIGHT:
                    times[side.label] = found
                else:
                    result[side.label] = found
        for label, found in times.items():
            result[label] |= {
                key: value for key, value in found.items() if value is not None and key != "status"
            }
        return result

    def _guarded(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return what the work returns, or the outcome that its exception means."""
        try:
            return work()
        except Crashed as error:
            self._loaded.clear()
            return outcome(CRASH, str(error))
        except TimedOut as error:
            self._loaded.clear()
            return outcome(HANG, str(error))
        except Refused as error:
            said = " ".join(str(error).split())[:DETAIL]
            return outcome(REFUSED, said, operation=operation_in(said))
        except NotImplementedError as error:
            return outcome(REFUSED, str(error)[:DETAIL], emitted=False)
        except (MemoryError, GraphError, ValueError) as error:
            return outcome(FAILED, f"{type(error).__name__}: {error}"[:DETAIL])

    def _checked(self, side: Side) -> dict[str, Any]:
        """Compile, call with both sets of inputs and the first again, and compare all elements."""
        text = side.text
        self._graphs[side.label] = graph = self._evaluator.generic(text)
        values = self._question.values(side, graph)
        seconds = self._worker.compile(side.label, text)
        self._loaded.add(side.label)
        outputs: dict[str, np.ndarray] = {}
        for number, call in enumerate(CALLS):
            which = number % INPUT_SETS
            self._bind(side, values, which)
            outputs |= keyed(call, which, named_results(side, self._worker.run(side.label)))
        expected = judge.read(Path(self._job.expected[side.label]))
        verdict = judge.judge(outputs, expected)
        facts = {"compile_s": seconds, "facts": self._facts(side.label)}
        if verdict is None:
            return outcome(UNJUDGED, expected.reason, **facts)
        problem = judge.problem(verdict)
        return outcome(WRONG if problem else RIGHT, problem, **{key: verdict[key] for key in VERDICT}, **facts)

    def _facts(self, label: str) -> dict[str, int] | None:
        try:
            return self._worker.facts(label)
        except Refused:
            return None

    def _bind(self, side: Side, values: list[Callable[[int], np.ndarray]], which: int) -> None:
        names = self._question.identities(side, self._graphs[side.label])
        keys = []
        for name, value in zip(names, values, strict=True):
            key = name if getattr(value, "is_fixed", False) else f"{name} of set {which}"
            keys.append(self._worker.put(key, Lazy(value, which)))
        self._worker.bind(side.label, keys)

    def _times(self, sides: list[Side]) -> dict[str, dict[str, Any]]:
        """Return each program's time, interleaved with the others'."""
        if not sides:
            return {}
        for side in sides:
            if side.label not in self._loaded:
                self._worker.compile(side.label, side.text)
                self._loaded.add(side.label)
            self._bind(side, self._question.values(side, self._graphs[side.label]), 0)
        labels = [side.label for side in sides]
        brief = self._worker.time(labels, 0.01, least=2)
        fastest = min(float(np.median(one.wall_ns)) for one in brief.values())
        calls = int(min(MOST_CALLS, max(1, BLOCK_NS // max(1, fastest))))
        times = self._worker.time(labels, self._job.settings["seconds"], calls=calls)
        others = self._worker.others_share()
        return {label: {"status": RIGHT, **timing(one.wall_ns / 1e6, others)} for label, one in times.items()}


class Lazy:
    """An array that is made only if it is converted, as `Worker.put` does with one that it has not placed yet."""

    def __init__(self, value: Callable[[int], np.ndarray], which: int) -> None:
        self._value, self._which = value, which

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._value(self._which), dtype)


def timing(ms: np.ndarray, others_share: float) -> dict[str, Any]:
    """Return the median of the blocks' milliseconds per call with quartiles, and their number.

    others_share: of the cores' time, that other processes had meanwhile.
    """
    low, middle, high = map(float, np.percentile(ms, (25, 50, 75)))
    return {"ms": middle, "low_ms": low, "high_ms": high, "rounds": len(ms), "others_share": others_share}


def named_results(side: Side, results: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Return a program's results by name: as its arguments.json names them, or else by number."""
    if side.arguments:
        document, _ = arguments.load(Path(side.arguments))
        return arguments.named(document, results)
    return dict(zip(judge.output_names(len(results)), results, strict=True))


def operation_in(message: str) -> str:
    """Return the operation that a compiler's message names; "" if it names none.

    >>> operation_in("failed to legalize operation 'stablehlo.fft' that was explicitly marked illegal")
    'stablehlo.fft'
    """
    found = _OPERATION.search(message)
    return next((name for name in found.groups() if name), "") if found else ""


def main() -> None:
    options = documents.parse_arguments(__doc__, "job", "output")
    documents.write(options.output, outcomes(OutcomesJob(**documents.read(options.job))))


if __name__ == "__main__":
    main()
