"""Compile a program in a worker, call it, judge it and time it: what a check, an explained program and a release do.

The worker is any client with the methods `load`, `place`, `timed_call` and `time` of `client.Worker`. Whatever ends a
program, a crash, a hang, a refusal, is the outcome of that program and of no other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from stackwars.core import judge
from stackwars.core.client import Worker
from stackwars.core.compilers import INPUT_SETS
from stackwars.core.judge import Expected
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.core.program import Program
from stackwars.core.program_text import refusal

CALLS = ("first", "second", "repeat")
"""The calls of a check: with the first set of inputs, with the second, and with the first again."""
BLOCK_NS = 1_000_000
"""A timed block is about this long, or one call."""
MOST_CALLS = 256
DETAIL = 600
"""Characters of what a compiler says."""
_OPERATION = re.compile(
    r"\b((?:stablehlo|chlo|mhlo)\.[a-z_]+)|custom_call_target = \"([^\"]+)\"|(?<!\S)@([\w.$]+)"
)


@dataclass(frozen=True)
class Timing:
    """Milliseconds of a call: the median of blocks, with quartiles. others_share: of the cores' time, that other
    processes had meanwhile.
    """

    ms: float
    low_ms: float
    high_ms: float
    rounds: int
    others_share: float


@dataclass(frozen=True)
class Checked:
    """The outcome of a program, with its verdict and times.

    operation: that at which a compiler refuses it. is_emitted: whether the frontend
    emitted a program of the computation, not an odd one (`judge.Expected`). verdict: on its values, see
    `judge.judge`; None if they were not judged. first_ns, repeat_ns: of its first and its last call.
    """

    outcome: Outcome
    operation: str = ""
    is_emitted: bool = True
    verdict: dict[str, Any] | None = None
    compile_s: float | None = None
    first_ns: int | None = None
    repeat_ns: int | None = None
    timing: Timing | None = None

    @property
    def ran(self) -> bool:
        """Its time means something: its values are right, or nothing says what they should be."""
        return self.outcome.status in (Status.OK, Status.NOT_JUDGED)

    def dump(self) -> dict[str, Any]:
        return asdict(self)


def check(worker: Worker, program: Program, expected: Expected) -> Checked:
    """Compile a program, call it with both sets of inputs and the first again, and compare all elements."""
    if program.missing:
        return Checked(Outcome(Status.UNSUPPORTED, program.missing), is_emitted=False)
    if isinstance(program.text, str) and (why := refusal(program.text)):
        return Checked(Outcome(Status.UNSUPPORTED, why))
    known: dict[str, Any] = {}
    try:
        known["compile_s"] = worker.load(program.label, program.text)
        outputs: dict[str, np.ndarray] = {}
        for number, call in enumerate(CALLS):
            which = number % INPUT_SETS
            worker.place(program.label, program.arguments, which)
            results, ns = worker.timed_call(program.label, which)
            if call != "second":
                known[f"{call}_ns"] = ns
            outputs |= keyed(call, which, named_results(program, results))
    except Failed as failed:
        return refused(failed, **known)
    verdict = judge.judge(outputs, expected)
    if verdict is None:
        status = Status.INVALID if expected.disputed else Status.NOT_JUDGED
        return Checked(Outcome(status, expected.reason or expected.left_open), **known)
    if problem := judge.problem(verdict):
        odd = expected.odd.get(program.label, "")
        outcome = Outcome(Status.WRONG, odd or problem, "wrong")
        return Checked(outcome, is_emitted=not odd, verdict=verdict, **known)
    return Checked(Outcome(Status.OK), verdict=verdict, **known)


def refused(failed: Failed, **known: Any) -> Checked:
    """Return what a program that failed is: a compiler's message in one line, with the operation that it names."""
    found = failed.outcome
    said = " ".join(found.detail.split())[:DETAIL]
    operation = operation_in(said) if found.status is Status.UNSUPPORTED else ""
    return Checked(Outcome(found.status, said, found.signature), operation, **known)


def time_together(worker: Worker, programs: Sequence[Program], seconds: float) -> dict[str, Timing]:
    """Return the time of each program, interleaved with the others, by label. They are loaded if they are not.

    :raises Failed: if one of them fails.
    """
    labels = [program.label for program in programs]
    for program in programs:
        if not worker.is_loaded(program.label):
            worker.load(program.label, program.text)
        worker.place(program.label, program.arguments)
    brief = worker.time(labels, 0.01, least=2)
    fastest = min(float(np.median(one.wall_ns)) for one in brief.values())
    calls = int(min(MOST_CALLS, max(1, BLOCK_NS // max(1, fastest))))
    times = worker.time(labels, seconds, calls=calls)
    return {label: timing(one.wall_ns / 1e6, worker.others_share) for label, one in times.items()}


def timing(ms: np.ndarray, others_share: float) -> Timing:
    """Return the median of blocks' milliseconds per call, with quartiles."""
    low, middle, high = map(float, np.percentile(ms, (25, 50, 75)))
    return Timing(middle, low, high, len(ms), others_share)


def named_results(program: Program, results: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Return a program's results by name."""
    if program.named:
        return program.named(results)
    return dict(zip(judge.output_names(len(results)), results, strict=True))


def keyed(call: str, which: int, results: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return a call's results by the keys of the expected values, which have the state after a first step alone."""
    keys = {name: judge.value_key(name, which) for name in results}
    return {f"{call}/{keys[name]}": value for name, value in results.items() if keys[name]}


def operation_in(message: str) -> str:
    """Return the operation that a compiler's message names; "" if it names none.

    >>> operation_in("failed to legalize operation 'stablehlo.fft' that was explicitly marked illegal")
    'stablehlo.fft'
    """
    found = _OPERATION.search(message)
    return next((name for name in found.groups() if name), "") if found else ""
