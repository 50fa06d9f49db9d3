"""The table at 80 columns, and a paragraph for each answer."""

import re
from dataclasses import replace

import pytest

from explain_fixture import BETWEEN, FLAW, FOUND, IREE, NEW, OLD, TABLE, cell, ended, right
from stackwars.core.outcome import Status
from stackwars.explain import console
from stackwars.explain.table import NATIVE


def test_every_cell_says_its_outcome():
    lines = console.lines(TABLE)
    assert lines[0] == "mha: Multi-head attention"
    header, first, second, eager = lines[1:5]
    assert header.split() == ["program", OLD, NEW, IREE, NATIVE]
    assert re.split(" {2,}", first) == ["torch_xla", "8.81 ms 1.60x", "wrong 3/98304", "unsupported fft", "-"]
    assert second.split()[:5] == ["jax", "5.82", "ms", "1.06x", "crash"]
    assert eager.split()[-3:] == ["5.50", "ms", "1.00x"]


def test_what_judged_what_failed_and_what_was_not_tried_is_below():
    below = "\n".join(console.lines(TABLE)[5:])
    for text in (
        "Judged by NumPy in float64.",
        "wrong: torch_xla in jaxlib-0.10.2: 3 of 98,304 elements wrong (the last 1 of axis 0)",
        "crash: jax in jaxlib-0.10.2: SIGSEGV",
        "unsupported: torch_xla in iree-3.13: failed to legalize",
    ):
        assert text in below
    assert below.endswith("Not tried: frontends torchax.")
    assert "a differs." in console.below(replace(TABLE, differ="a differs"))


def test_times_of_a_busy_machine_have_a_warning():
    quiet, busy = (cell("jax", OLD, right(1.0, share)) for share in (0.01, 0.4))
    assert console.busy(replace(TABLE, cells=[quiet])) == []
    table = replace(TABLE, cells=[quiet, busy])
    (warning,) = console.busy(table)
    assert "up to 40 % of the cores" in warning and warning in console.below(table)


def test_a_program_that_fails_alike_in_two_compilers_has_one_note():
    cells = [cell("jax", compiler, ended(Status.WRONG, "all wrong")) for compiler in (OLD, NEW)]
    assert console.notes(replace(TABLE, cells=cells)) == [
        "wrong: jax in jaxlib-0.7.1, jaxlib-0.10.2: all wrong"
    ]


def test_a_program_that_its_frontend_does_not_emit_is_refused_by_no_compiler():
    missing = ended(Status.UNSUPPORTED, "jax does not lower it: x.py:9: TypeError", is_emitted=False)
    cells = [cell("jax", compiler, missing) for compiler in TABLE.compilers]
    assert console.cell_text(cells[0]) == "no program"
    notes = console.notes(replace(TABLE, cells=cells))
    assert notes == ["no program: jax: jax does not lower it: x.py:9: TypeError"]


def test_values_without_a_reference_are_marked():
    unknown = replace(cell("jax", OLD, right(2.0), 1.0), status=Status.NOT_JUDGED)
    assert console.cell_text(unknown) == "2.00 ms 1.00x?"
    judged = console.judged(replace(TABLE, judge="", judge_reason="the weights do not fit"))
    assert "the weights do not fit" in judged and "?" in judged


@pytest.mark.parametrize("count", [1, 4, 9])
def test_no_line_is_wider_than_the_terminal(count):
    compilers = [f"jaxlib-0.{number}.2-no-ynn" for number in range(count)]
    cells = [cell("torch_tpu_undecomposed", name, right(1234.5), 123.4) for name in compilers]
    wide = replace(TABLE, programs=["torch_tpu_undecomposed"], compilers=compilers, cells=cells)
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


def test_a_cause_is_a_paragraph():
    text = console.paragraph(FOUND)
    assert text.startswith("torch_xla takes 1.51 times as long as jax in jaxlib-0.7.1: ")
    assert "1 place of 1 kind closes 97 % [91, 104] of the gap." in text
    assert "argument layout (mha.py:41): tensor<2304x768xf32> against tensor<768x2304xf32>" in text
    assert text.endswith(
        "A product takes 4.1 ms on 1.3 of 2 cores at 18 % of peak; in the other layout 1.2 ms."
    )


def test_a_gap_between_compilers_names_both_and_an_option_that_closes_it():
    text = console.paragraph(BETWEEN)
    assert text.startswith(
        "jax takes 1.51 times as long in jaxlib-0.7.1 as in jaxlib-0.10.2: 2 places of 1 kind, timed alone, "
        "make up 97 % [91, 104] of the gap. 2 x operations (mha.py:41): dot_general. "
    )
    assert text.endswith("With xla_x= jaxlib-0.7.1 takes 0.66x the time, 96 % of the gap.")


@pytest.mark.parametrize("verdict", ["spread", "no gap", "not separable", "failed"])
def test_a_search_without_a_cause_says_why(verdict):
    def paragraph(detail: str) -> str:
        return console.paragraph(replace(FOUND, verdict=verdict, ratio=None, detail=detail))

    head = "torch_xla takes longer than jax in jaxlib-0.7.1: "
    assert (
        paragraph("over 5 kinds") == paragraph(f"{verdict}: over 5 kinds") == f"{head}{verdict}. over 5 kinds"
    )
    assert paragraph(f"{verdict} to tell") == f"{head}{verdict} to tell"


def test_a_fault_is_a_paragraph():
    assert console.paragraph(FLAW) == (
        "torch_xla in jaxlib-0.10.2: wrong. 13 operations reduce to 2 at rows 3: dot_general, reduce. "
        "1 of 3 elements wrong. Right with xla_disable_hlo_passes=algsimp."
    )
    unseen = console.paragraph(replace(FLAW, reproduced=False))
    assert unseen.endswith("reproduce.py did not show it in a fresh process; see reproduce.log.")
    kept = console.paragraph(replace(FLAW, verdict="not reduced", detail="no time is left"))
    assert kept.endswith("not reduced: no time is left")


def test_constants_are_not_among_the_operations_that_are_named():
    region = ["stablehlo.constant : () -> tensor<f32>", *FLAW.region]
    assert "at rows 3: dot_general, reduce." in console.fault_text(replace(FLAW, region=region))
