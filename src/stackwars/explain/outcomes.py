"""Try every program in one compiler: right, wrong, crashed, hanging or refused, and the time of those that are right.

A program that ends its process takes no other program with it: the worker is started again.
`python -m stackwars.explain.outcomes --job FILE --output FILE`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.compilers import arguments
from stackwars.compilers.check import CALLS, VERDICT, keyed
from stackwars.explain.graph import Graph, GraphError
from stackwars.explain.question import Question, Side
from stackwars.explain.workers import Crashed, Refused, TimedOut, Worker
from stackwars.measure import documents, judge
from stackwars.setup import environments
from stackwars.workloads.base import INPUT_SETS

RIGHT, WRONG, CRASH, HANG = "right", "wrong", "crash", "hang"
REFUSED, FAILED, UNJUDGED = "refused", "failed", "not judged"
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

    question: a Question about the first program, which knows the values of every program's arguments. sides: the
    programs. expected: the folder of each program's expected values.
    """

    question: dict[str, Any]
    sides: list[dict[str, str]]
    expected: dict[str, str]


def outcome(status: str, detail: str = "", **numbers: Any) -> dict[str, Any]:
    """Return what is known of a program in a compiler; None for numbers that it did not come to.

    emitted: whether there is a program. operation: that at which a compiler refuses it.
    """
    missing = dict.fromkeys((*VERDICT, "compile_s", "ms", "low_ms", "high_ms", "others_share"))
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
    question = Question.load(job.question)
    compiler, evaluator = question.compiler, question.evaluator
    try:
        for spec in (compiler, evaluator):
            spec.python()
    except environments.BuildError as error:
        programs = {side["label"]: outcome(FAILED, str(error)) for side in job.sides}
        return {"module": compiler.module, "versions": {}, "programs": programs}
    with Worker(compiler, **question.limits) as worker, ExitStack() as stack:
        reader = worker
        if (compiler.module, compiler.pins) != (evaluator.module, evaluator.pins):
            reader = stack.enter_context(Worker(evaluator, **question.limits))
        programs = Tries(job, question, worker, reader).all()
        return {"module": compiler.module, "versions": worker.versions(), "programs": programs}


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
        if verdict is None:
            return outcome(UNJUDGED, expected.reason, compile_s=seconds)
        status = WRONG if (problem := judge.problem(verdict)) else RIGHT
        return outcome(status, problem, compile_s=seconds, **{key: verdict[key] for key in VERDICT})

    def _bind(self, side: Side, values: list[Callable[[int], np.ndarray]], which: int) -> None:
        names = self._question.identities(side, self._graphs[side.label])
        keys = []
        for name, value in zip(names, values, strict=True):
            keys.append(name if getattr(value, "is_fixed", False) else f"{name} of set {which}")
            if not self._worker.has(keys[-1]):
                self._worker.put(keys[-1], value(which))
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
        times = self._worker.time(labels, self._question.settings["seconds"], calls=calls)
        others = self._worker.others_share()
        return {label: {"status": RIGHT, **timing(one.wall_ns / 1e6, others)} for label, one in times.items()}


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
