"""The agreement of loops with undisturbed series, from processes with known times."""

import json

import pytest

from stackwars.audits import estimator


def process(
    before: float, loops: list[float], after: float | None = None, framework: str = "jax", **more
) -> dict:
    """A process with blocks of two calls, of so many ms a call."""
    steady = [{"event": "steady", "ns": [round(2e6 * ms)] * 3, "calls": 2} for ms in (before, after) if ms]
    turns = [{"event": "loop", "ns": [9e9, round(2e6 * ms)], "calls": 2, "dropped": 1} for ms in loops]
    return {"framework": framework, "workload": "gemm", "events": steady[:1] + turns + steady[1:], **more}


def test_loops_are_compared_with_the_geometric_mean_of_both_series():
    found = estimator.agreement(process(1.0, [1.98, 2.02, 5.0], after=4.0))
    assert (found.framework, found.workload, found.series) == ("jax", "gemm", 2)
    assert found.ratio == pytest.approx(2.02 / 2.0)
    assert estimator.agreement(process(1.0, [1.1])).ratio == pytest.approx(1.1)
    assert estimator.agreement(process(1.0, [])) is None


def test_a_run_has_the_agreement_of_both_processes_of_a_round_whose_loops_alternated(tmp_path):
    partner = {"status": "ok", "framework": "jax", "events": process(1.0, [1.02])["events"]}
    alternated = process(1.0, [1.01], framework="torch_xla", basis="interleaved", partner=partner)
    in_turn = {**alternated, "basis": "in turn"}
    alone = process(1.0, [1.5], basis="interleaved", partner=None)
    paths = []
    for name, cell in {
        "both": {"status": "ok", "framework": "torch_xla", "processes": [alternated, in_turn]},
        "alone": {"status": "ok", "framework": "jax", "processes": [alone]},
        "failed": {"status": "oom", "framework": "jax", "processes": [alternated]},
    }.items():
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps({"workload": "gemm", **cell}))
    found = list(estimator.of_cells(paths))
    assert [(one.framework, round(one.ratio, 4)) for one in found] == [("torch_xla", 1.01), ("jax", 1.02)]


def test_figures_are_means_of_each_framework_with_their_interval():
    found = [estimator.Agreement("jax", w, r, 1) for w, r in (("gemm", 1.0), ("gemm", 1.02), ("mha", 0.98))]
    (row,) = estimator.figures([*found, *found])
    assert row["value"] == pytest.approx(1.0, abs=1e-3)
    assert row["low"] < 1 < row["high"]
    assert (row["processes"], row["ok"]) == (6, True)
    assert row["workloads"] == {"gemm": pytest.approx(1.01, abs=1e-3), "mha": pytest.approx(0.98)}
    (far,) = estimator.figures([estimator.Agreement("jax", "gemm", 0.985, 1)])
    assert (far["ok"], far["off"], far["low"]) == (False, False, None)
