"""Compile a program in a worker, call it, judge it and time it: for checks, explained programs and releases.

The worker is any client with the methods `load`, `place`, `timed_call` and `time` of `client.Worker`. A crash, a hang
or a refusal is the outcome of the program that it ends and of no other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Timing:
    """Milliseconds of a call: the median of blocks, with quartiles. others_share: the share of the cores' time that
    other processes used meanwhile.
    """

    ms: float
    low_ms: float
    high_ms: float
    rounds: int
    others_share: float


@dataclass(frozen=True)
class Checked:
    """The outcome of a program, with its verdict and times.

    operation: the one that a compiler refuses. is_emitted: whether the frontend emitted a program of the
    computation, not an odd one (`judge.Expected`). verdict: from `judge.judge`; None if the values were not judged.
    first_ns, repeat_ns: time of the first and of the last call.
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
        """Return whether the time is meaningful: the values are right or could not be judged."""
        return self.outcome.status in (Status.OK, Status.NOT_JUDGED)


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
            if program.named:
                named = program.named(results)
            else:
                named = dict(zip(judge.output_names(len(results)), results, strict=True))
            outputs |= keyed(call, which, named)
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
    """Return the outcome of a program that failed, with the compiler's message in one line and its operation."""
    outcome = failed.outcome
    message = " ".join(outcome.detail.split())[:600]
    named = r"\b((?:stablehlo|chlo|mhlo)\.[a-z_]+)|custom_call_target = \"([^\"]+)\"|(?<!\S)@([\w.$]+)"
    match = re.search(named, message) if outcome.status is Status.UNSUPPORTED else None
    operation = next(filter(None, match.groups())) if match else ""
    return Checked(Outcome(outcome.status, message, outcome.signature), operation, **known)


def time_together(worker: Worker, programs: Sequence[Program], seconds: float) -> dict[str, Timing]:
    """Return the time of each program, interleaved with the others, by label. Programs are loaded if necessary.

    :raises Failed: if one of them fails.
    """
    labels = [program.label for program in programs]
    for program in programs:
        if not worker.is_loaded(program.label):
            worker.load(program.label, program.text)
        worker.place(program.label, program.arguments)
    brief = worker.time(labels, 0.01, least=2)
    fastest = min(float(np.median(one.wall_ns)) for one in brief.values())
    calls = int(min(256, max(1, 1_000_000 // max(1, fastest))))  # a timed block takes about 1 ms, or one call
    times = worker.time(labels, seconds, calls=calls)
    result = {}
    for label, one in times.items():
        low, middle, high = map(float, np.percentile(one.wall_ns / 1e6, (25, 50, 75)))
        result[label] = Timing(middle, low, high, len(one.wall_ns), worker.others_share)
    return result


def keyed(call: str, which: int, results: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return a call's results by the keys of the expected values; state after further steps has no key."""
    keys = {name: judge.value_key(name, which) for name in results}
    return {f"{call}/{keys[name]}": value for name, value in results.items() if keys[name]}
