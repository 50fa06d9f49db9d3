"""Two forms of a function beside each other, and training runs that part."""

import math

import pandas as pd
import pytest
from scipy import stats

from stackwars.results import beyond, losses


def cell(workload, framework, ms, run="", rounds=3, spread=0.02, nodes=None, gated=None):
    low, high = (ms * math.exp(sign * spread) for sign in (-1, 1))
    return {
        "workload": workload, "framework": framework, "run": run, "rounds": rounds, "steady_ms": ms,
        "nodes": nodes, "steady_processes": gated,
        "steady_low_ms": low, "steady_high_ms": high, "first_ms": None, "first_low_ms": None,
        "first_high_ms": None,
    }  # fmt: skip


def of(*cells):
    return beyond.forms(pd.DataFrame(cells)).set_index(["workload", "framework"])


def test_a_form_is_compared_with_the_other_of_the_same_framework():
    found = of(
        cell("scan_rnn", "jax", 2.0), cell("unrolled_rnn", "jax", 1.0),
        cell("scan_rnn", "numpy", 7.0),
    )  # fmt: skip
    row = found.loc[("unrolled_rnn", "jax")]
    assert row["form_of"] == "scan_rnn"
    assert row["form_steady_ratio"] == pytest.approx(0.5)
    assert row["form_steady_verdict"] == "faster"
    # Two equal errors of 2 degrees of freedom each: their root sum of squares, with 4 (Welch, 1947).
    half = math.log(row["form_steady_high"] / 0.5)
    assert half == pytest.approx(
        0.02 * math.sqrt(2) * stats.t.ppf(0.975, 4) / stats.t.ppf(0.975, 2)
    )
    assert row["form_first_verdict"] == "no data"
    assert pd.isna(found.loc[("scan_rnn", "numpy"), "form_of"])


def test_processes_that_the_gate_left_out_are_no_degrees_of_freedom():
    row = cell("scan_rnn", "jax", 2.0, gated=2)
    found = beyond.logarithm(row, "steady")
    assert found.freedom == 1
    assert found.error == pytest.approx(0.02 / stats.t.ppf(0.975, 1))
    assert beyond.logarithm(row | {"steady_processes": None}, "steady").freedom == 2
    assert beyond.logarithm(row | {"steady_processes": 1}, "steady").error is None


def test_forms_of_two_runs_are_not_compared():
    found = of(cell("scan_rnn", "jax", 2.0), cell("unrolled_rnn", "jax", 1.0, run="2026-01"))
    assert found.loc[("unrolled_rnn", "jax"), "form_steady_verdict"] == "no data"


def test_forms_of_two_nodes_are_not_compared():
    found = of(
        cell("scan_rnn", "jax", 2.0, nodes="n1"), cell("unrolled_rnn", "jax", 1.0, nodes="n2"),
        cell("scan_rnn", "numpy", 2.0, nodes="n1"), cell("unrolled_rnn", "numpy", 1.0, nodes="n1"),
    )  # fmt: skip
    row = found.loc[("unrolled_rnn", "jax")]
    assert pd.isna(row["form_steady_ratio"]) and row["form_steady_verdict"] == "no data"
    assert row["form_detail"].startswith(
        "measured on node n2, scan_rnn on node n1: times of two nodes"
    )
    assert found.loc[("unrolled_rnn", "numpy"), "form_steady_ratio"] == pytest.approx(0.5)


def test_one_round_decides_nothing():
    found = of(cell("scan_rnn", "jax", 2.0, rounds=1), cell("unrolled_rnn", "jax", 1.0, rounds=1))
    row = found.loc[("unrolled_rnn", "jax")]
    assert (row["form_steady_ratio"], row["form_steady_verdict"]) == (0.5, "not decided")


def test_losses_are_compared_step_by_step():
    assert losses.apart([2.0, 1.0], [2.0, 1.01]) == pytest.approx(0.01 / 1.01)
    assert losses.apart([2.0], [2.0, 1.0]) == math.inf
    process = {"events": [{"event": "losses", "values": [2.0, 1.5, 1.0]}]}
    assert losses.numbers({"processes": [process]}) == {
        "loss_steps": 3, "loss_first": 2.0, "loss_last": 1.0,
    }  # fmt: skip
    assert losses.numbers({"processes": [{"events": []}]}) == {}
