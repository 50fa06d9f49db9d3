"""Find which calls of a program compile again in each framework, and which of their arguments cause it.

One process makes all calls in order. A call that compiled again is compared with the earlier call that has the fewest
other arguments. A difference is a cause if a fresh process that made the calls before, and repeated that earlier call
without compiling, compiles when this difference alone is added. For the value of a Python scalar further processes
tell whether the program holds the value, or only which numbers are equal.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from stackwars.core import types
from stackwars.core.client import Process
from stackwars.core.judge import Expected
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.core.types import is_scalar
from stackwars.explain import answer as answers
from stackwars.explain import console, page
from stackwars.explain.answer import SCALAR, SHAPE, TYPE, VALUES, WEAK_TYPE, Answer, Call, CallSequence
from stackwars.explain.page import headline
from stackwars.explain.reduction import judged
from stackwars.explain.task import Kept, digest

VERSION = 1
"""Number of the protocol; another one makes all calls again."""
Arguments = Mapping[str, Any]
"""The arguments of a call by parameter: arrays and Python scalars."""
Request = dict[str, dict[str, Any]]
"""An order for a call: by parameter, the number of a call that has the value, or a Python scalar."""


@dataclass(frozen=True)
class Calls:
    """Calls of a program. expected: the values of each, as those of its first set of inputs."""

    arguments: Sequence[Arguments]
    expected: Sequence[Expected]

    def request(self, number: int) -> Request:
        return {name: {"call": number} for name in self.arguments[number]}


def explain(
    calls: Calls,
    processes: Mapping[str, tuple[str, Callable[[], Process]]],
    unavailable: Mapping[str, Outcome],
    *,
    output: Path,
    budget_s: float,
    say: Callable[[str], None],
    key: str,
    **known: Any,
) -> Answer:
    """Return the answer about calls in frameworks, and write it.

    processes: the Python of each framework, and a function that starts its process. budget_s: for each framework.
    key: a digest of what decides the computation. known: fields of the answer and its table.
    """
    kept, identities = Kept(output), list(map(_identity, calls.arguments))
    sequences = [
        kept.answer(
            CallSequence,
            digest(VERSION, key, framework, python, budget_s, identities),
            Search(framework, calls, start, budget_s, unavailable.get(framework), say).run,
            lambda found: any(call.status is Status.ERROR for call in found.calls),
        )
        for framework, (python, start) in processes.items()
    ]
    reference = next((one for one in calls.expected if one.reason), calls.expected[0])
    table = answers.Table(
        name=known["name"],
        title=known["title"],
        programs=list(processes),
        compilers=[],
        judge=reference.judge,
        judge_reason=reference.reason,
        differ="",
        cells=[answers.Cell(one.framework, answers.NATIVE, *_first_fault(one)) for one in sequences],
        questions=[],
        not_tried=known.pop("not_tried"),
        bound=known.pop("bound"),
        versions={sequence.framework: sequence.versions for sequence in sequences},
    )
    status = page.SLOWER if any(sequence.compiling > 1 for sequence in sequences) else page.OK
    if any(cell.status is not Status.OK for cell in table.cells):
        status = page.NOT_RIGHT
    arguments = [{name: described(value) for name, value in one.items()} for one in calls.arguments]
    result = Answer(**known, headline="", exit_status=status, table=table, calls=arguments, sequences=sequences)
    result = replace(result, headline=headline(result))
    page.write(output, result)
    say("\n" + console.wrapped([*console.calls_lines(result), "", result.headline, *page.written(output)]))
    return result


def _first_fault(sequence: CallSequence) -> tuple[Status, str]:
    """Return the outcome of the first call that is not right."""
    bad = ((call.status, call.detail) for call in sequence.calls if call.status is not Status.OK)
    return next(bad, (Status.OK, ""))


# Arguments


def described(value: Any) -> str:
    """Return an argument as a reader sees it: a Python scalar, or an array's type."""
    if is_scalar(value):
        return f"{value!r} ({type(value).__name__})"
    return f"{value.dtype.name}[{','.join(map(str, value.shape))}]"


def _identity(arguments: Arguments) -> list[Any]:
    """Return a key of arguments: equal for equal arguments."""
    values = (
        one if is_scalar(one) else (described(one), sha256(one.tobytes()).hexdigest())
        for one in arguments.values()
    )
    return list(zip(arguments, values, strict=True))


def differences(earlier: Arguments, later: Arguments) -> dict[str, str]:
    """Return {parameter: kind} of the arguments in which two calls differ."""
    kinds = {name: _difference(earlier[name], value) for name, value in later.items()}
    return {name: kind for name, kind in kinds.items() if kind}


def _difference(earlier: Any, later: Any) -> str:
    if is_scalar(earlier) and is_scalar(later):
        return TYPE if type(earlier) is not type(later) else SCALAR if earlier != later else ""
    if is_scalar(earlier) or is_scalar(later):
        return WEAK_TYPE
    if earlier.shape != later.shape:
        return SHAPE if earlier.dtype == later.dtype else f"{SHAPE} and {TYPE}"
    if earlier.dtype != later.dtype:
        return TYPE
    return "" if earlier.tobytes() == later.tobytes() else VALUES


def other_number(value: Any) -> Any:
    """Return a different number; 0, 1 and Booleans, which frameworks treat as constants, are returned as they are."""
    if isinstance(value, bool) or value in (0, 1):
        return value
    if isinstance(value, int):
        return value + (1 if value > 1 else -1)
    return value * (0.75 if 0 < value < 1 else 1.25)


def _changed_scalars(arguments: Arguments, names: Iterable[str]) -> Request:
    """Return different numbers for scalars. Equal scalars stay equal, and no others become equal."""
    others: dict[str, Any] = {}
    taken = [value for name, value in arguments.items() if is_scalar(value) and name not in names]
    for value in (arguments[name] for name in names):
        key = repr(value)
        others.setdefault(key, other_number(value))
        while others[key] != value and [*taken, *others.values()].count(others[key]) > 1:
            others[key] = other_number(others[key])
    return {name: {"value": others[repr(arguments[name])]} for name in names}


def _equal_scalars(arguments: Arguments) -> list[tuple[str, str]]:
    """Return the pairs of parameters with equal Python scalars, of those that frameworks do not hold as constants."""
    scalars = [
        (name, value) for name, value in arguments.items() if is_scalar(value) and other_number(value) != value
    ]
    return [(one, other) for one, a in scalars for other, b in scalars if one < other and repr(a) == repr(b)]


# The search


@dataclass
class Search:
    """The calls in one framework, and why some of them compile again. start: starts a process that makes calls."""

    framework: str
    calls: Calls
    start: Callable[[], Process]
    budget_s: float
    unavailable: Outcome | None = None
    say: Callable[[str], None] = print
    processes: int = 0
    versions: dict[str, str] = field(default_factory=dict)

    def run(self) -> CallSequence:
        start, requests = time.monotonic(), list(map(self.calls.request, range(len(self.calls.arguments))))
        self._end = start + self.budget_s
        self.say(f"{self.framework}: {len(requests)} calls, and those that tell why it compiles")
        made = self._make_calls(requests, self.calls.expected)
        calls = [self._with_cause(call, made) if call.compiled else call for call in made.values()]
        seconds = round(time.monotonic() - start, 1)
        return CallSequence(self.framework, calls, self.processes, seconds, self.versions)

    def _make_calls(self, requests: Sequence[Request], expected: Sequence[Expected] = ()) -> dict[int, Call]:
        """Make calls in order in a fresh process, up to one that ends it; return them by place."""
        if self.unavailable:
            return {0: Call(0, self.unavailable.status, self.unavailable.detail)}
        made: dict[int, Call] = {}
        self.processes += 1
        with self.start() as process, tempfile.TemporaryDirectory() as folder:
            for number, request in enumerate(requests):
                try:
                    row = process.ask("call", arguments=request, folder=folder)
                    self.versions = self.versions or process.ask("versions")
                except Failed as failed:
                    detail = " ".join(failed.outcome.detail.split())[:300]
                    made[number] = Call(number, failed.outcome.status, detail)
                    if process.is_running:
                        continue
                    break
                arrays = [types.load(Path(folder, f"{place}.npy")) for place in range(row.pop("results"))]
                outcome = judged([arrays], expected[number]).outcome if expected else Outcome(Status.OK)
                detail = "" if outcome.status is Status.OK else outcome.detail
                made[number] = Call(number, outcome.status, detail, **row)
        return made

    def _compiled(self, number: int, *requests: Request) -> list[int | None]:
        """Return how often calls compile after those before a call; None for one that does not run."""
        made = self._make_calls([*map(self.calls.request, range(number)), *requests])
        return [
            made[number + place].compiled if number + place in made else None for place in range(len(requests))
        ]

    def _with_cause(self, call: Call, made: Mapping[int, Call]) -> Call:
        """Return a call that compiled, with its cause unless it is the first call that ran."""
        arguments, number = self.calls.arguments, call.number
        earlier = [one for one in range(number) if made[one].compiled is not None]
        if not earlier:
            return call
        against = min(earlier, key=lambda one: (len(differences(arguments[one], arguments[number])), -one))
        kinds = differences(arguments[against], arguments[number])
        texts = [
            f"{name}: other values"
            if kind == VALUES
            else f"{name}: {described(arguments[number][name])} after {described(arguments[against][name])}"
            for name, kind in kinds.items()
        ]
        call = replace(call, against=against, differences=texts)
        if not kinds:
            return replace(call, cause=answers.SAME)
        repeat, alone = self.calls.request(against), []
        for name in kinds:
            if time.monotonic() > self._end:
                return replace(call, cause=answers.NOT_DECIDED)
            control, changed = self._compiled(number, repeat, {**repeat, name: {"call": number}})
            if control is None or changed is None:
                return replace(call, cause=answers.NOT_DECIDED)
            if control:
                return replace(call, cause=answers.SAME)
            alone += [name] if changed else []
        if not alone:
            return replace(call, cause=answers.TOGETHER, parameters=list(kinds))
        # An array's shape or type is the plainer cause where several suffice.
        order = (f"{SHAPE} and {TYPE}", SHAPE, TYPE, WEAK_TYPE, SCALAR, VALUES)
        cause = min((kinds[name] for name in alone), key=order.index)
        names = [name for name in alone if kinds[name] == cause]
        cause = self._scalar(number, against, names) if cause == SCALAR else cause
        return replace(call, cause=cause, parameters=names)

    def _scalar(self, number: int, against: int, names: Sequence[str]) -> str:
        """Return how a program depends on Python scalars whose values made it compile again."""
        later, earlier = self.calls.arguments[number], self.calls.arguments[against]
        equal = {one for pair in _equal_scalars(later) if set(pair) & set(names) for one in pair}
        request = self.calls.request(number)
        if all(other_number(later[name]) == later[name] for name in names):
            return answers.FOLDED
        # Equal scalars change together, in case they are one argument.
        for moving in (equal | set(names), set(names)):
            _, compiled = self._compiled(number, request, request | _changed_scalars(later, moving))
            if compiled is None:
                return SCALAR
            if not compiled:
                break
        else:
            return answers.FOLDED
        if _equal_scalars(later) == _equal_scalars(earlier):
            return answers.FIRST_VALUE
        # If the earlier call's program takes other numbers too, neither program holds the values.
        shifted = _changed_scalars(earlier, [name for name, value in earlier.items() if is_scalar(value)])
        (compiled,) = self._compiled(number, self.calls.request(against) | shifted)
        if compiled is None:
            return SCALAR
        return answers.FIRST_VALUE if compiled else answers.SHARED
