"""The cells of a table and the questions that they raise."""

import numpy as np

from explain_fixture import ended, right
from stackwars.core.check import Checked
from stackwars.core.client import CompilerSpec
from stackwars.core.judge import Expected
from stackwars.core.outcome import Status
from stackwars.explain import table
from stackwars.explain.answer import NATIVE, Cell
from stackwars.explain.task import Settings


def cells(outcomes: dict[str, dict[str, Checked]]) -> list[Cell]:
    """Return the cells of {compiler: {program: outcome}}."""
    return [
        table.cell(program, compiler, found)
        for compiler, row in outcomes.items()
        for program, found in row.items()
    ]


def asked(outcomes: dict[str, dict[str, Checked]], **settings) -> list[str]:
    compilers = [CompilerSpec(name, "iree" if name.startswith("iree") else "xla") for name in outcomes]
    found = table.questions(
        cells(outcomes), [spec for spec in compilers if spec.name != NATIVE], Settings(**settings)
    )
    return [f"{question.kind} {question.id}" for question in found]


def test_ratios_are_to_the_best_of_all_and_natives_count():
    found = table.with_ratios(
        cells({"jaxlib-1": {"jax": right(3.0), "bad": ended(Status.CRASH)}, NATIVE: {"numpy": right(1.5)}})
    )
    assert [(cell.program, cell.ratio) for cell in found] == [("jax", 2.0), ("bad", None), ("numpy", 1.0)]


def test_the_slowest_is_compared_with_the_fastest_beyond_the_bound():
    assert asked({"jaxlib-1": {"a": right(1.0), "b": right(1.05), "c": right(1.3)}}) == ["cause jaxlib-1.c.a"]
    assert asked({"jaxlib-1": {"a": right(1.0), "b": right(1.09)}}) == []
    # Gaps between compilers have the same bound.
    for ms, questions in ((1.2, ["cause jaxlib-1.a.jaxlib-2"]), (1.09, [])):
        assert asked({"jaxlib-1": {"a": right(ms)}, "jaxlib-2": {"a": right(1.0)}}) == questions
    assert asked({"jaxlib-1": {"a": right(1.0)}, NATIVE: {"a": right(9.0), "b": right(1.0)}}) == []


def test_the_fastest_of_all_compilers_is_compared_with_the_fastest_framework_without_a_program():
    natives = {"numpy": right(1.1), "torch_eager": right(1.0), "torch_inductor": ended(Status.WRONG)}
    outcomes = {"jaxlib-1": {"a": right(9.0), "b": right(8.0)}, "iree-1": {"a": right(20.0)}, NATIVE: natives}
    assert asked(outcomes) == [
        "cause jaxlib-1.b.torch_eager.itself", "cause iree-1.a.jaxlib-1", "cause jaxlib-1.a.b"
    ]  # fmt: skip


def test_a_wrong_program_is_not_compared():
    assert asked({"jaxlib-1": {"a": right(1.0), "b": ended(Status.WRONG)}}) == ["fault jaxlib-1.b"]


def test_a_large_gap_between_compilers_is_a_question_and_the_largest_come_first():
    outcomes = {"jaxlib-1": {"a": right(1.0), "b": right(1.2)}, "iree-1": {"a": right(48.0), "b": right(54.0)}}
    # b has a smaller one between the same compilers.
    assert asked(outcomes) == ["cause iree-1.a.jaxlib-1", "cause jaxlib-1.b.a", "cause iree-1.b.a"]
    (first,) = table.questions(cells(outcomes), [], Settings(questions=1))
    assert (first.a, first.b, first.compiler, first.other, first.gap) == ("a", None, "iree-1", "jaxlib-1", 48.0)


def test_a_fault_in_a_family_of_compilers_is_one_question_about_its_newest():
    wrong = {"a": ended(Status.WRONG)}
    outcomes = {"jaxlib-1": wrong, "jaxlib-2": wrong, "iree-1": {"a": ended(Status.CRASH)}}
    assert asked(outcomes) == ["fault iree-1.a", "fault jaxlib-2.a"]


def test_what_is_no_fault_of_a_compiler_is_not_searched():
    missing = ended(Status.UNSUPPORTED, "torch says no", is_emitted=False)
    assert (
        asked({"jaxlib-1": {"a": missing, "b": ended(Status.ERROR)}, NATIVE: {"c": ended(Status.CRASH)}}) == []
    )


def test_two_files_that_compute_different_things_are_named():
    def expected(value: float, **changed) -> Expected:
        return Expected("x", limits={"output0": 1e-6}, values={"output0": np.full((4, 3), value)}, **changed)

    a, unknown = expected(1.0), Expected(reason="no memory")
    assert table.difference({"a": a, "b": expected(1.0), "c": unknown}) == ""
    found = table.difference({"a": a, "b": expected(1.1)})
    assert found.startswith("b and a compute different things: output0: 12 of 12 elements wrong")
    other = Expected("x", limits={"output1": 1e-6}, values={"output1": np.ones(3)})
    assert table.difference({"a": a, "b": other}).endswith("output0: no result output0")
