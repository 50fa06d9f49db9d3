"""The table at 80 columns, and a paragraph for each answer."""

from dataclasses import replace

import pytest

from explain_fixture import BETWEEN, FLAW, FOUND, NEW, OLD, PARTED, TABLE, cell, ended, right
from snapshots import assert_snapshot
from stackwars.core.outcome import Status
from stackwars.explain import console
from stackwars.explain.answer import NATIVE


def test_the_table_and_a_paragraph_for_each_answer():
    unseen, unreduced = (
        replace(FLAW, reproduced=False),
        replace(FLAW, verdict="not reduced", detail="no time is left"),
    )
    unknown = replace(PARTED, verdict="not classified", kind="", detail="", error=None, is_all=False)
    nowhere = replace(unknown, verdict="failed", detail="jax draws random numbers (stablehlo.rng)")
    answers = (FOUND, BETWEEN, FLAW, unseen, unreduced, PARTED, unknown, nowhere)
    paragraphs = [console.paragraph(one) for one in answers]
    assert_snapshot("console.txt", console.wrapped("\n".join([*console.lines(TABLE), *paragraphs]).split("\n")))
    assert "a differs." in console.below(replace(TABLE, differ="a differs"))


def test_times_of_a_busy_machine_have_a_warning():
    quiet, busy = (cell("jax", OLD, right(1.0, share)) for share in (0.01, 0.4))
    assert console.busy(replace(TABLE, cells=[quiet])) == []
    table = replace(TABLE, cells=[quiet, busy])
    (warning,) = console.busy(table)
    assert "up to 40 % of the cores" in warning and warning in console.below(table)


def test_a_program_that_fails_alike_in_two_compilers_has_one_note():
    cells = [cell("jax", compiler, ended(Status.WRONG, "all wrong")) for compiler in (OLD, NEW)]
    (note,) = console.notes(replace(TABLE, cells=cells))
    assert OLD in note and NEW in note


def test_a_program_that_its_frontend_does_not_emit_is_refused_by_no_compiler():
    missing = ended(Status.UNSUPPORTED, "jax does not lower it: x.py:9: TypeError", is_emitted=False)
    cells = [cell("jax", compiler, missing) for compiler in TABLE.compilers]
    assert console.cell_text(cells[0]) == "no program"
    assert len(console.notes(replace(TABLE, cells=cells))) == 1


def test_values_without_a_reference_are_marked():
    unknown = replace(cell("jax", OLD, right(2.0), 1.0), status=Status.NOT_JUDGED)
    assert console.cell_text(unknown) == "2.00 ms 1.00x?"
    judged = console.judged(replace(TABLE, judge="", judge_reason="the weights do not fit"))
    assert "the weights do not fit" in judged and "?" in judged


@pytest.mark.parametrize("count", [1, 4, 9])
def test_no_line_is_wider_than_the_terminal(count):
    compilers = [f"jaxlib-0.{number}.2-no-ynn" for number in range(count)]
    cells = [cell("torch_inductor_frozen", name, right(1234.5), 123.4) for name in compilers]
    wide = replace(TABLE, programs=["torch_inductor_frozen"], compilers=compilers, cells=cells)
    lines = console.wrapped(console.lines(wide)).splitlines()
    assert max(map(len, lines)) <= console.WIDTH
    shown = " ".join(lines)
    assert all(name in shown for name in compilers) and shown.count("1,234") == count


def test_a_block_of_columns_has_only_the_programs_that_it_has():
    compilers = [f"jaxlib-0.{number}.2-no-ynn" for number in range(4)]
    cells = [cell("jax", name, right(1.0), 1.0) for name in compilers]
    cells.append(cell("numpy", NATIVE, right(2.0), 2.0))
    lines = console.grid(replace(TABLE, programs=["jax", "numpy"], compilers=compilers, cells=cells))
    assert sum(line.startswith("numpy") for line in lines) == 1


@pytest.mark.parametrize("verdict", ["spread", "no gap", "not separable", "failed"])
def test_a_search_without_a_cause_says_why(verdict):
    def paragraph(detail: str) -> str:
        return console.paragraph(replace(FOUND, verdict=verdict, ratio=None, detail=detail))

    head = "torch_xla takes longer than jax in jaxlib-0.7.1: "
    assert (
        paragraph("over 5 kinds") == paragraph(f"{verdict}: over 5 kinds") == f"{head}{verdict}. over 5 kinds"
    )
    assert paragraph(f"{verdict} to tell") == f"{head}{verdict} to tell"


def test_constants_are_not_among_the_operations_that_are_named():
    region = ["stablehlo.constant : () -> tensor<f32>", *FLAW.region]
    assert "at rows 3: dot_general, reduce." in console.fault_text(replace(FLAW, region=region))


def test_a_fault_that_nothing_could_be_left_out_of_was_not_reduced():
    """openxla/xla 47370: "1 operations reduce to 1: sort"; 41579: "3 operations reduce to 3"."""
    one, three = (console.reduced_text(replace(FLAW, operations=[count, count])) for count in (1, 3))
    assert "reduce to" not in one + three
    assert "one operation" in one and "all 3 operations" in three
    assert "4 operations reduce to 3" in console.reduced_text(replace(FLAW, operations=[4, 3]))
