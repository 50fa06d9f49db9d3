"""The rows of rounds.csv of native cells: a process and its partner in the same round."""

import math

import pytest

from made_tables import cell, having, measured_cell, only
from measured import config, process, with_partner
from stackwars.study.cells import Cell
from stackwars.study.results import rounds, schema
from stackwars.study.results.raw import Raw

STAGES = ("first", "second", "undisturbed", "steady")


def timed(framework: str, number: int, factor: float, **changes) -> dict:
    """A process all of whose times are so many times those of another one, and differ from each other."""
    return process(
        Cell(framework, "gemm", "cpu"),
        number,
        first_ms=50 * factor,
        second_ms=7 * factor,
        steady_ms=(3 * factor,) * 3,
        loops_ms=(2 * factor, 3 * factor, 4 * factor),
        **changes,
    )


def built(processes: list[dict], table: list[dict] | None = None):
    """rounds.csv of torch_xla's cell with these processes, and of a cell of JAX's with other times."""
    found = Raw(
        cells={
            Cell("jax", "gemm", "cpu"): measured_cell("jax", (900.0, 900.0)),
            Cell("torch_xla", "gemm", "cpu"): measured_cell("torch_xla", (1.0,)) | {"processes": processes},
        }
    )
    rows = table or [cell("jax"), cell("torch_xla")]
    return rounds.build(config(), found, schema.table("cells", rows))


def test_every_time_is_over_that_of_the_partner_in_the_round_and_not_of_the_baselines_own_cell():
    pairs = [(timed("torch_xla", n, 3.0 * drift), timed("jax", n, drift)) for n, drift in enumerate((1.0, 2.0))]
    table = built([with_partner(*pair) for pair in pairs])
    for quantity in STAGES:
        found = having(table, quantity=quantity)
        assert list(found["round"]) == [0, 1]
        assert list(found["ratio"]) == pytest.approx([3.0, 3.0])
        assert set(found["subject"]) == {"torch_xla"} and set(found["baseline"]) == {"jax"}
    assert [having(table, quantity=quantity)["baseline_ms"].iloc[0] for quantity in STAGES] == pytest.approx(
        [50.0, 7.0, 3.0, 3.0]
    )


def test_steady_ratio_is_the_median_over_pairs_of_loops_and_says_how_they_were_measured():
    # The machine slows down during a round: of both medians the ratio would be 3 / 2.
    one = process(Cell("torch_xla", "gemm", "cpu"), loops_ms=(2.0, 3.0, 12.0))
    other = process(loops_ms=(1.0, 2.0, 4.0))
    found = having(built([with_partner(one, other)]), quantity="steady").iloc[0]
    assert (found["ratio"], found["subject_ms"], found["baseline_ms"]) == (2.0, 3.0, 2.0)
    assert found["basis"] == "interleaved"
    found = having(built([with_partner(one, other, "in turn")]), quantity="steady").iloc[0]
    assert (found["ratio"], found["basis"]) == (2.0, "in turn")


def test_round_without_its_partner_has_no_ratio_and_the_others_keep_theirs():
    whole = with_partner(timed("torch_xla", 0, 2.0), timed("jax", 0, 1.0))
    without = with_partner(timed("torch_xla", 1, 2.0), timed("jax", 1, 1.0, status=("crash", "SIGKILL")))
    for quantity in STAGES:
        assert list(having(built([whole, without]), quantity=quantity)["round"]) == [0]
    assert having(built([timed("torch_xla", 0, 2.0)]), quantity="steady").empty


@pytest.mark.parametrize("refused", ["jax", "torch_xla"])
def test_what_is_not_valid_is_compared_with_nothing(refused):
    rows = [cell(name, status="invalid" if name == refused else "ok") for name in ("jax", "torch_xla")]
    table = built([with_partner(timed("torch_xla", 0, 2.0), timed("jax", 0, 1.0))], rows)
    assert all(having(table, quantity=quantity).empty for quantity in STAGES)
    assert set(having(table, quantity="process")["subject"]) == {"jax", "torch_xla"} - {refused}


def test_each_process_has_the_median_of_its_loops():
    one = process(Cell("torch_xla", "gemm", "cpu"), steady_ms=(9.0,) * 5, loops_ms=(1.0, 1.04, 1.02))
    found = only(built([one]), quantity="process", subject="torch_xla")
    assert (found["subject_ms"], found["basis"], found["baseline"]) == (pytest.approx(1.02), "interleaved", "")
    assert math.isnan(found["ratio"])
