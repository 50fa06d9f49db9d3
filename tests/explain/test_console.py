"""The table at 80 columns, and a paragraph for each answer."""

import doctest
import re

import pytest

from explain_fixture import BETWEEN, CAUSE, FAULT, TABLE, cell, right, table
from stackwars.explain import console
from stackwars.explain.outcomes import NATIVE, REFUSED, UNJUDGED, WRONG, outcome


def test_examples_of_numbers_hold():
    assert doctest.testmod(console).failed == 0


def test_every_cell_says_its_outcome():
    lines = console.lines(TABLE)
    assert lines[0] == "mha: Multi-head attention"
    header, first, second, eager = lines[1:5]
    assert header.split() == ["program", "jaxlib-0.7.1", "jaxlib-0.10.2", "iree-3.13", NATIVE]
    assert re.split(" {2,}", first) == ["torch_xla", "8.81 ms 1.60x", "wrong 3/98304", "refused fft", "-"]
    assert second.split()[:5] == ["jax", "5.82", "ms", "1.06x", "crash"]
    assert eager.split()[-3:] == ["5.50", "ms", "1.00x"]


def test_what_judged_what_failed_and_what_was_not_tried_is_below():
    said = "\n".join(console.lines(TABLE)[5:])
    assert "Judged by NumPy in float64." in said
    assert "wrong: torch_xla in jaxlib-0.10.2: 3 of 98,304 elements wrong (the last 1 of axis 0)" in said
    assert "crash: jax in jaxlib-0.10.2: SIGSEGV" in said
    assert "refused: torch_xla in iree-3.13: failed to legalize" in said
    assert said.endswith("Not tried: frontends torchax.")


def test_times_of_a_busy_machine_have_a_warning():
    assert not console.busy(TABLE)
    cells = [cell("jax", "jaxlib-0.7.1", right(1.0) | {"others_share": share}) for share in (0.01, 0.4)]
    assert console.busy(table(cells=cells[:1])) == []
    (warning,) = console.busy(table(cells=cells))
    assert "up to 40% of the cores" in warning and warning in console.below(table(cells=cells))


def test_a_program_that_fails_alike_in_two_compilers_has_one_note():
    same = outcome(WRONG, "all wrong", wrong=1, total=1)
    cells = [cell("jax", compiler, same) for compiler in TABLE["compilers"][:2]]
    assert console.notes(table(cells=cells)) == ["wrong: jax in jaxlib-0.7.1, jaxlib-0.10.2: all wrong"]


def test_a_program_that_its_frontend_does_not_emit_is_refused_by_no_compiler():
    missing = outcome(REFUSED, "jax does not lower it: x.py:9: TypeError", emitted=False)
    cells = [cell("jax", compiler, missing) for compiler in TABLE["compilers"]]
    assert console.cell_text(cells[0]) == "no program"
    assert console.notes(table(cells=cells)) == ["no program: jax: jax does not lower it: x.py:9: TypeError"]


def test_values_without_a_reference_are_marked():
    unknown = {**right(2.0), "status": UNJUDGED}
    assert console.cell_text(cell("jax", "jaxlib-0.7.1", unknown, 1.0)) == "2.00 ms 1.00x?"
    said = console.judged(table(judge="", judge_reason="the weights do not fit"))
    assert "the weights do not fit" in said and "?" in said


@pytest.mark.parametrize("count", [1, 4, 9])
def test_no_line_is_wider_than_the_terminal(count):
    compilers = [f"jaxlib-0.{number}.2-no-ynn" for number in range(count)]
    cells = [cell("torch_tpu_undecomposed", name, right(1234.5), 123.4) for name in compilers]
    wide = table(programs=["torch_tpu_undecomposed"], compilers=compilers, cells=cells)
    lines = console.wrapped(console.lines(wide)).splitlines()
    assert max(map(len, lines)) <= console.WIDTH
    shown = " ".join(lines)
    assert all(name in shown for name in compilers) and shown.count("1,234") == count


def test_a_block_of_columns_has_only_the_programs_that_it_has():
    compilers = [f"jaxlib-0.{number}.2-no-ynn" for number in range(4)]
    cells = [cell("jax", name, right(1.0), 1.0) for name in compilers]
    cells.append(cell("numpy", NATIVE, right(2.0), 2.0))
    lines = console.grid(table(programs=["jax", "numpy"], compilers=compilers, cells=cells))
    assert sum(line.startswith("numpy") for line in lines) == 1


def test_a_cause_is_a_paragraph():
    said = console.paragraph("cause", CAUSE)
    assert said.startswith("torch_xla in jaxlib-0.7.1 takes 1.51x the time of jax: ")
    assert "1 place of 1 kind closes 97 % [91, 104] of the gap." in said
    assert "argument layout (mha.py:41): tensor<2304x768xf32> against tensor<768x2304xf32>" in said
    assert said.endswith(
        "A product takes 4.1 ms on 1.3 of 2 cores at 18 % of peak; in the other layout 1.2 ms."
    )


def test_a_gap_between_compilers_names_both_and_an_option_that_closes_it():
    said = console.paragraph("cause", BETWEEN)
    assert said.startswith(
        "jax in jaxlib-0.7.1 takes 1.51x the time that it takes in jaxlib-0.10.2: 2 places of 1 kind, timed alone, "
        "make up 97 % [91, 104] of the gap. 2 x operations (mha.py:41): dot_general. "
    )
    assert said.endswith("With xla_x= jaxlib-0.7.1 takes 0.66x the time, 96 % of the gap.")


@pytest.mark.parametrize("verdict", ["spread", "no gap", "not separable", "failed"])
def test_a_search_without_a_cause_says_why(verdict):
    said = console.paragraph("cause", {**CAUSE, "verdict": verdict, "ratio": None, "detail": "over 5 kinds"})
    assert said == f"torch_xla in jaxlib-0.7.1 takes longer than jax: {verdict}. over 5 kinds"
    repeated = console.cause_text(
        {**CAUSE, "verdict": verdict, "ratio": None, "detail": f"{verdict}: over 5 kinds"}
    )
    assert repeated == said
    going_on = console.cause_text({**CAUSE, "verdict": verdict, "ratio": None, "detail": f"{verdict} to tell"})
    assert going_on == f"torch_xla in jaxlib-0.7.1 takes longer than jax: {verdict} to tell"


def test_a_fault_is_a_paragraph():
    said = console.paragraph("fault", FAULT)
    assert said == (
        "torch_xla in jaxlib-0.10.2: wrong. 13 operations reduce to 2 at rows 3: dot_general, reduce. "
        "1 of 3 elements wrong. Right with xla_disable_hlo_passes=algsimp."
    )


def test_a_fault_that_its_reproducer_did_not_show_says_so():
    said = console.fault_text({**FAULT, "reproduced": False})
    assert said.endswith("reproduce.py did not show it in a fresh process; see reproduce.log.")


def test_constants_are_not_among_the_operations_that_are_named():
    region = ["stablehlo.constant : () -> tensor<f32>", *FAULT["region"]]
    assert "at rows 3: dot_general, reduce." in console.fault_text({**FAULT, "region": region})


def test_a_fault_that_was_not_reduced_says_why():
    said = console.paragraph("fault", {**FAULT, "verdict": "not reduced", "detail": "no time is left"})
    assert said.endswith("not reduced: no time is left")
