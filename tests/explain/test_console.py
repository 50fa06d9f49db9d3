"""The table at 80 columns, and a paragraph for each answer."""

from dataclasses import replace

import pytest

from explain_fixture import BETWEEN, FLAW, FOUND, NEW, OLD, PARTED, TABLE, cell, ended, right
from snapshots import assert_snapshot
from stackwars.core.outcome import Status
from stackwars.explain import console
from stackwars.explain.answer import NATIVE

UNKNOWN = replace(PARTED, verdict="not classified", kind="", detail="", error=None, is_all=False)
ANSWERS = [
    FOUND, BETWEEN, FLAW, replace(FLAW, reproduced=False),
    replace(FLAW, verdict="not reduced", detail="no time is left"), PARTED, UNKNOWN,
    replace(UNKNOWN, verdict="failed", detail="jax draws random numbers (stablehlo.rng)"),
    *(replace(FOUND, verdict=one, ratio=None, detail=text)
      for one, text in (("spread", "over 5 kinds"), ("no gap", "no gap: over 5 kinds"), ("failed", "failed to tell"))),
    replace(BETWEEN, b="torch_eager", other=NATIVE, b_ms=None, ratio=None),
    # A constant is not among the operations that are named.
    replace(FLAW, region=["stablehlo.constant : () -> tensor<f32>", *FLAW.region]),
    # openxla/xla 47370 and 41579: a fault that nothing could be left out of was not reduced.
    *(replace(FLAW, operations=counts) for counts in ([1, 1], [3, 3], [4, 3])),
]  # fmt: skip
MISSING = ended(Status.UNSUPPORTED, "jax does not lower it: x.py:9: TypeError", is_emitted=False)
TABLES = [
    TABLE,
    replace(TABLE, differ="a differs"),
    # A program that fails alike in two compilers, or that its frontend does not emit, has one note.
    replace(TABLE, cells=[cell("jax", compiler, ended(Status.WRONG, "all wrong")) for compiler in (OLD, NEW)]),
    replace(TABLE, cells=[cell("jax", compiler, MISSING) for compiler in TABLE.compilers]),
    replace(TABLE, judge="", judge_reason="the weights do not fit",
            cells=[replace(cell("jax", OLD, right(2.0), 1.0), status=Status.NOT_JUDGED)]),
    # Times of a busy machine have a warning.
    replace(TABLE, cells=[cell("jax", OLD, right(1.0, share)) for share in (0.01, 0.4)]),
    # A framework without a compiler that is faster than all.
    replace(TABLE, cells=[cell("jax", OLD, right(5.82)), cell("torch_eager", NATIVE, right(0.0318))]),
]  # fmt: skip


def test_tables_and_a_paragraph_for_each_answer():
    lines = [line for table in TABLES for line in ("", *console.lines(table))]
    paragraphs = [console.paragraph(one) for one in ANSWERS]
    assert_snapshot("console.txt", console.wrapped("\n".join([*lines, *paragraphs]).split("\n")))


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
