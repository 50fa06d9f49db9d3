"""The lecture's times, as they are committed."""

import pandas
import pytest

from stackwars import workloads
from stackwars.results import published
from stackwars.results.folder import LECTURE, Folder


def lecture() -> pandas.DataFrame:
    keys = ["workload", "framework", "what"]
    return published.read_lecture(LECTURE).set_index(keys)


def changed(tmp_path, **values):
    """The committed file with a value of its first row changed."""
    table = pandas.read_csv(LECTURE)
    for column, value in values.items():
        table[column] = table[column].astype(object)
        table.loc[0, column] = value
    table.to_csv(tmp_path / "lecture.csv", index=False)
    return tmp_path / "lecture.csv"


def test_every_workload_of_the_lecture_has_all_three_frameworks():
    found = lecture().reset_index()
    done = found[found.what == published.DONE].groupby("workload").framework.agg(set)
    assert set(done.index) == {n for n in workloads.names() if workloads.load(n).TABLE == "lecture"}
    assert all(names == {"jax", "torch_eager", "torch_inductor"} for names in done)
    assert set(found.device) == {"A100"}
    assert Folder("anywhere")["lecture"] == LECTURE


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


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"workload": "three_matmuls"}, "workload: expected one of gemm, .*; came three_matmuls"),
        ({"what": "begun"}, "what: expected one of returned, done; came begun"),
        ({"what": "done"}, "some come twice"),
        ({"ms": 0}, "expected times over 0 ms"),
    ],
)
def test_a_row_that_cannot_be_is_refused(tmp_path, values, told):
    with pytest.raises(ValueError, match=told):
        published.read_lecture(changed(tmp_path, **values))
