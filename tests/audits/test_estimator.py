"""The agreement of alternating loops with loops in a row, from processes with known times."""

import pytest

from stackwars.audits import estimator


def loops(name: str, times_ms: list[float]) -> list[dict]:
    """Loops with two blocks of two calls, of which the first does not count."""
    return [{"event": name, "ns": [9e9, round(2e6 * ms)], "calls": 2, "dropped": 1} for ms in times_ms]


def test_alternating_loops_are_compared_with_the_geometric_mean_of_both_series():
    events = [
        {"event": "steady", "ns": [9e9], "calls": 2},
        *loops("consecutive", [1.0, 1.0, 7.0]),
        *loops("loop", [1.98, 2.02, 5.0]),
        *loops("consecutive", [3.9, 4.0, 4.1]),
    ]
    found = estimator.agreement({"framework": "jax", "workload": "gemm", "events": events})
    assert found == ("jax", "gemm", pytest.approx(2.02 / 2.0))


def test_figures_are_means_of_each_framework_with_their_interval():
    found = [estimator.Agreement("jax", w, r) for w, r in (("gemm", 1.0), ("gemm", 1.02), ("mha", 0.98))]
    (row,) = estimator.figures([*found, *found])
    assert row["value"] == pytest.approx(1.0, abs=1e-3)
    assert row["low"] < 1 < row["high"]
    assert (row["processes"], row["ok"]) == (6, True)
    assert row["workloads"] == {"gemm": pytest.approx(1.01, abs=1e-3), "mha": pytest.approx(0.98)}
    (far,) = estimator.figures([estimator.Agreement("jax", "gemm", 0.985)])
    assert (far["ok"], far["off"], far["low"]) == (False, False, None)
