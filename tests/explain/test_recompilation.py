"""Why a call compiles again, in frameworks by hand that hold one thing each in their programs, and in real ones."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stackwars.core import types
from stackwars.core.judge import Expected, output_values
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.explain import answer as answers
from stackwars.explain import console, page, recompilation
from stackwars.explain.answer import (
    FIRST_VALUE,
    FOLDED,
    NOT_DECIDED,
    SAME,
    SCALAR,
    SHAPE,
    SHARED,
    TOGETHER,
    TYPE,
    VALUES,
    WEAK_TYPE,
)
from stackwars.explain.recompilation import Calls, Search, described, is_scalar, other_number
from stackwars.study.workflow import explain

X, LONG = np.ones(3, np.float32), np.ones(5, np.float32)


class Toy:
    """A framework: a call compiles unless there is a program of its key. A program is what `key` makes of a call."""

    def __init__(self, calls: list[dict[str, Any]], key: Callable[[dict, list], Any]) -> None:
        self._calls, self._key, self._programs, self.is_running = calls, key, [], True

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None: ...

    def ask(self, command: str, **given: Any) -> Any:
        if command == "versions":
            return {"toy": "1"}
        values = {
            name: one["value"] if "value" in one else self._calls[one["call"]][name]
            for name, one in given["arguments"].items()
        }
        key = self._key(values, self._programs)
        is_new = key not in self._programs
        self._programs += [key] * is_new
        types.save(Path(given["folder"], "0.npy"), np.asarray(values["x"], np.float32) * 2)
        return {"compiled": int(is_new), "seconds": 0.1, "reasons": [], "results": 1}


def type_of(value: Any) -> Any:
    return type(value) if is_scalar(value) else (value.shape, value.dtype.name)


def by_types(call: dict, _) -> Any:
    return {name: type_of(value) for name, value in call.items()}


def by_values(call: dict, _) -> Any:
    return {name: value if is_scalar(value) else type_of(value) for name, value in call.items()}


def by_equality(call: dict, _) -> Any:
    """Share equal scalars, and hold 0 and 1, as torch_xla does."""
    scalars = [value for value in call.values() if is_scalar(value)]
    return [f"={value}" if value in (0, 1) else scalars.index(value) for value in scalars]


def by_first_value(call: dict, programs: list) -> Any:
    """Hold a scalar until it changes, as Dynamo does."""
    held = {name: {program[name] for program in programs} for name in call}
    return {
        name: type_of(value)
        if not is_scalar(value)
        else value
        if not held[name] or value in held[name]
        else "symbol"
        for name, value in call.items()
    }


def by_contents(call: dict, _) -> Any:
    return call["x"].tobytes()


def by_both(call: dict, _) -> Any:
    return call["a"] != 2 and call["b"] != 3


def always(_, programs: list) -> Any:
    return len(programs)


def expected(call: dict) -> Expected:
    values = output_values(np.asarray(np.asarray(call["x"], np.float64) * 2), 0)
    return Expected("NumPy", limits=dict.fromkeys(values, 1e-5), values=values)


def found(
    key: Callable, *changes: dict, start: Callable | None = None, budget_s: float = 60
) -> list[answers.Call]:
    """Return what is known of calls of which each changes some of the same arguments."""
    arguments = [{"x": X, "a": 2.0, "b": 3.0, **change} for change in changes]
    calls = Calls(arguments, list(map(expected, arguments)))
    sequence = Search("toy", calls, start or (lambda: Toy(arguments, key)), budget_s).run()
    assert [call.number for call in sequence.calls] == list(range(len(changes)))
    return sequence.calls


@pytest.mark.parametrize(
    ("key", "changes", "cause", "parameters"),
    [
        (by_types, {"x": LONG}, SHAPE, ["x"]),
        (by_types, {"x": X.astype(np.float16)}, TYPE, ["x"]),
        (by_types, {"x": LONG.astype(np.float16)}, f"{SHAPE} and {TYPE}", ["x"]),
        (by_types, {"x": 1.0}, WEAK_TYPE, ["x"]),
        (by_types, {"a": 2}, TYPE, ["a"]),
        (by_types, {"x": LONG, "a": 7.0}, SHAPE, ["x"]),
        (by_values, {"a": 7.0, "b": 8.0}, FOLDED, ["a", "b"]),
        (by_values, {"a": 1.0}, FOLDED, ["a"]),
        (by_equality, {"b": 2.0}, SHARED, ["b"]),
        (by_equality, {"b": 1.0}, FOLDED, ["b"]),
        (by_equality, {"a": 0.0}, FOLDED, ["a"]),
        (by_first_value, {"b": 7.0}, FIRST_VALUE, ["b"]),
        (by_first_value, {"b": 2.0}, FIRST_VALUE, ["b"]),
        (by_contents, {"x": 2 * X}, VALUES, ["x"]),
        (by_both, {"a": 7.0, "b": 8.0}, TOGETHER, ["a", "b"]),
        (always, {"a": 7.0}, SAME, []),
        (always, {}, SAME, []),
    ],
)  # fmt: skip
def test_a_difference_is_the_cause_if_it_alone_makes_a_repeated_call_compile(key, changes, cause, parameters):
    first, second = found(key, {}, changes)
    assert (first.compiled, first.cause) == (1, "")
    assert (second.compiled, second.cause, second.parameters) == (1, cause, parameters)
    assert cause in answers.CAUSES and second.against == 0


def test_a_call_that_reuses_a_program_has_no_cause_and_is_compared_with_the_closest_call():
    calls = found(by_equality, {}, {"a": 2.5, "b": 3.5}, {"b": 2.0}, {"a": 4.0, "b": 4.0}, {"a": 1.0})
    assert [call.compiled for call in calls] == [1, 0, 1, 0, 1]
    assert [call.cause for call in calls] == ["", "", SHARED, "", FOLDED]
    assert [call.against for call in calls] == [None, None, 0, None, 0]


@pytest.mark.parametrize("at", [2, 3, 4])
def test_a_process_that_dies_leaves_the_cause_undecided(at):
    processes = []

    class Dying(Toy):
        def ask(self, command, **rest):
            self.is_running = True
            if command == "call" and len(processes) == at:
                self.is_running = False
                raise Failed(Outcome(Status.CRASH, "SIGSEGV in call"))
            return super().ask(command, **rest)

    arguments = [{"x": X, "a": 2.0, "b": 3.0}, {"x": X, "a": 2.0, "b": 2.0}]

    def start() -> Toy:
        processes.append(None)
        return Dying(arguments, by_equality)

    _, second = found(by_equality, {}, {"b": 2.0}, start=start)
    assert second.cause == (NOT_DECIDED if at == 2 else SCALAR)


def test_a_search_without_time_decides_nothing():
    assert found(by_types, {}, {"x": LONG}, budget_s=-1)[1].cause == NOT_DECIDED


def test_a_call_that_fails_ends_no_other_call():
    class Refusing(Toy):
        def ask(self, command, **rest):
            if rest.get("arguments", {}).get("x") == {"call": 0}:
                raise Failed(Outcome(Status.UNSUPPORTED, "a tracer has no value"))
            return super().ask(command, **rest)

    arguments = [{"x": X, "a": 2.0, "b": 3.0}] * 2
    first, second = found(by_types, {}, {}, start=lambda: Refusing(arguments, by_types))
    assert first.status is Status.UNSUPPORTED and second.status is Status.OK
    assert (second.compiled, second.cause) == (1, "")


def test_moved_scalars_stay_equal_or_different_and_constants_stay():
    values = [0, 1, 2, 3, -1, -2, 0.0, 1.0, 0.25, 0.5, 1.5, 2.0, -0.5, -2.0]
    assert len({(type(other_number(one)), other_number(one)) for one in values}) == len(values)
    assert [other_number(one) for one in (0, 1, True, 0.0, 1.0)] == [0, 1, True, 0.0, 1.0]
    assert all(
        other_number(one) != one and other_number(one) not in (0, 1) for one in values if one not in (0, 1)
    )


@pytest.fixture
def explained(tmp_path):
    """Return a function that explains calls of a toy, and the folder."""

    def explain(key: Callable, *changes: dict, right: bool = True, reason: str = "") -> answers.Answer:
        arguments = [{"x": X, "a": 2.0, "b": 3.0, **change} for change in changes]
        values = [Expected(reason=reason) if reason else expected(one) for one in arguments]
        if not right:
            values = [
                replace(one, values={name: 3 + value for name, value in one.values.items()}) for one in values
            ]
        return recompilation.explain(
            Calls(arguments, values), {"torch_xla": ("", lambda: Toy(arguments, key))}, {},
            output=tmp_path, budget_s=60, say=lambda text: None, key="k", not_tried={}, bound=0.1, name="scalars",
            title="Two scalars", command="make explain PROGRAM=scalars.py", workload="scalars.py", sizes={}, seed=1,
            inputs="", programs={},
        )  # fmt: skip

    return explain, tmp_path


def test_the_answer_says_how_often_it_compiles_and_why(explained):
    explain, folder = explained
    answer = explain(by_equality, {}, {"a": 2.5, "b": 3.5}, {"b": 2.0}, {"a": 1.0})
    assert (
        answer.headline.startswith("torch_xla compiles in 3 of 4 calls: ") and answer.exit_status == page.SLOWER
    )
    for text in (answers.CAUSES[SHARED].format("b"), console.CAUSES[FOLDED].format("a")):
        assert text in answer.headline and text in " ".join((folder / "explain.md").read_text().split())
        assert text in " ".join((folder / "explain.html").read_text().split())
    assert answers.read(answers.Answer, folder / "explain.json") == answer
    text = console.wrapped(console.calls_lines(answer))
    assert max(map(len, text.splitlines())) < 80 and "b 2.0 (float)" in text
    # A second run makes no call again.
    assert explain(always, {}, {"a": 2.5, "b": 3.5}, {"b": 2.0}, {"a": 1.0}).sequences == answer.sequences


def test_one_compilation_is_no_finding_and_a_wrong_call_comes_first(explained):
    explain, _ = explained
    assert explain(by_types, {}, {"a": 7.0}).exit_status == page.OK
    wrong = explain(by_types, {"a": 9.0}, {"a": 7.0}, right=False)
    assert wrong.exit_status == page.NOT_RIGHT and wrong.headline.startswith("torch_xla is wrong in call 0")
    unjudged = explain(by_types, {"a": 9.5}, reason="no function numpy")
    assert unjudged.exit_status == page.NOT_RIGHT and unjudged.sequences[0].calls[0].status is Status.NOT_JUDGED
    assert "no function numpy" in console.wrapped(console.calls_lines(unjudged))


def test_arguments_are_described_by_type_and_scalars_by_value():
    shown = ["float32[3]", "int32[]", "float64[]", "2.0 (float)", "True (bool)"]
    assert list(map(described, (X, np.array(1, np.int32), np.float64(2), 2.0, True))) == shown


@pytest.mark.slow
@pytest.mark.env
@pytest.mark.parametrize(
    ("program", "framework", "compiled", "causes"),
    [
        ("read_back", "torch_xla", [2, 0, 1, 0], ["", "", VALUES, ""]),
        ("growing", "torch_inductor", [1, 1, 0, 0], ["", SHAPE, "", ""]),
        ("first_integer", "jax", [1, 1, 0], ["", WEAK_TYPE, ""]),
    ],
)
def test_the_cause_of_each_compilation_of_a_public_report_is_named(
    tmp_path, program, framework, compiled, causes
):
    path = Path(__file__).parent / "calls" / f"{program}.py"
    command = [str(path), "--frontends", framework, "--output", str(tmp_path)]
    answer = explain.explain(explain.request(explain.parser().parse_args(command), print))
    [sequence] = answer.sequences
    assert [call.status for call in sequence.calls] == [Status.OK] * len(compiled)
    assert [call.compiled for call in sequence.calls] == compiled
    assert [call.cause for call in sequence.calls] == causes
    assert answer.exit_status == page.SLOWER
    if program == "read_back":
        assert all(call.splits and call.programs == 2 for call in sequence.calls)
