"""What others have published, as it is committed, and our ratios beside it."""

import pandas
import pytest

from made_tables import comparison
from stackwars import workloads
from stackwars.results import published, schema


def lecture() -> pandas.DataFrame:
    keys = ["workload", "framework", "what"]
    return published.read_lecture().set_index(keys)


def test_the_committed_rows_are_possible():
    table = published.read_lecture()
    assert not table[["workload", "framework", "what"]].duplicated().any()
    assert set(table["what"]) == {"returned", published.DONE}
    assert (table["ms"] > 0).all() and (table["plus_minus_ms"] >= 0).all()


def test_every_workload_of_the_lecture_has_all_three_frameworks():
    found = lecture().reset_index()
    done = found[found.what == published.DONE].groupby("workload").framework.agg(set)
    assert set(done.index) == {n for n in workloads.names() if workloads.load(n).TABLE == "lecture"}
    assert all(names == {"jax", "torch_eager", "torch_inductor"} for names in done)
    assert set(found.device) == {"A100"}


def test_the_times_are_the_lectures():
    ms = lecture().ms
    # JAX's call returns long before it is done.
    assert ms["two_matmuls", "jax", "returned"] == 0.076
    assert ms["two_matmuls", "jax", "done"] == 0.205
    # Compiling gains nothing where the products take the time, and a factor of 7 where memory does.
    assert ms["two_matmuls", "torch_inductor", "done"] > ms["two_matmuls", "torch_eager", "done"]
    gained = ms["elementwise_chain", "torch_eager", "done"]
    assert gained / ms["elementwise_chain", "torch_inductor", "done"] == pytest.approx(6.7, abs=0.1)
    assert ms["mlp_postnorm", "torch_eager", "done"] == 22.5
    assert lecture().plus_minus_ms["mlp_postnorm", "torch_eager", "done"] == 0.0628


def test_the_original_s_times_are_of_three_tables():
    there = published.read_published()
    assert set(there["table"]) == {"I", "II", "III"} and set(there["framework"]) == {"jax", "torch_xla"}
    assert [published.status(name, "jax", there) for name in ("gemm", "newton")] == ["ok", ""]


def compared(workload: str = "gemm", ratio: float = 2.0, **columns):
    """The row of a comparison with what is published beside it."""
    table = schema.table("comparisons", [comparison(workload, ratio, **columns)])
    return published.compared(table).iloc[0]


def test_times_stand_beside_the_original_s():
    there = published.read_published().set_index(["workload", "framework"])
    for quantity, column in published.COLUMNS.items():
        expected = there.loc[("gemm", "torch_xla"), column] / there.loc[("gemm", "jax"), column]
        assert compared(quantity=quantity)["published_ratio"] == pytest.approx(expected)
    # Only of steady states the directions are compared.
    expected = there.loc["gemm", "steady_state_ms"]
    word = "slower" if expected["torch_xla"] > expected["jax"] else "faster"
    assert compared(verdict=word)["agreement"] == "agrees"
    assert compared(verdict="inconclusive")["agreement"] == "inconclusive"
    assert compared(verdict=word, quantity="first")["agreement"] == ""
    # A variant stands beside the framework that it varies, and is not judged.
    found = compared(subject="torch_xla_pending")
    assert (found["published_ratio"], found["agreement"]) == (compared()["published_ratio"], "")


def test_pairs_of_the_lecture_s_frameworks_stand_beside_its_times():
    names = {"subject": "torch_inductor", "baseline": "torch_eager", "quantity": "pairwise"}
    found = compared("elementwise_chain", verdict="faster", **names)
    assert found["published_ratio"] == pytest.approx(1 / 6.7, rel=0.02)
    assert found["agreement"] == "agrees"


@pytest.mark.parametrize("columns", [
    {"workload": "newton"}, {"device": "cpu-1t"}, {"quantity": "replay"},
    {"subject": "torch_inductor", "baseline": "torch_eager"},
])  # fmt: skip
def test_what_was_not_published_has_nothing_beside_it(columns):
    found = compared(**columns)
    assert pandas.isna(found["published_ratio"]) and found["agreement"] == ""
