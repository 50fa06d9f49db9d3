"""What others have published, as it is committed, and our ratios beside it."""

import pandas
import pytest

from made_tables import comparison
from stackwars.measure import workloads
from stackwars.study.results import published, schema


def test_every_workload_of_the_lecture_has_all_three_frameworks():
    found = published.read_lecture()
    done = found[found.what == published.DONE].groupby("workload").framework.agg(set)
    assert set(done.index) == {n for n in workloads.names() if workloads.load(n).TABLE == "lecture"}
    assert all(names == {"jax", "torch_eager", "torch_inductor"} for names in done)
    assert set(found.device) == {"A100"}


def compared(workload: str = "gemm", ratio: float = 2.0, **columns):
    """The row of a comparison with what is published beside it."""
    table = schema.table("comparisons", [comparison(workload, ratio, **columns)])
    return published.compared(table).iloc[0]


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
