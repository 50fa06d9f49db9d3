"""Processes of an audit are kept as they finish, and run again only where something changed."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from audits.made import process
from stackwars.audits import aa_interleaved, independent, power, runner
from stackwars.measure.supervisor import ProcessJob

JOB = ProcessJob("jax", "jax", "depth_scaling", "cpu-1t", "smoke", 0, {"layers": 3}, {"seed": 1})
PINS = Path("envs/jax.txt")


@pytest.fixture
def started(monkeypatch) -> list[ProcessJob]:
    """The jobs that were run; each gives an honest process whose time grows with its layers."""
    jobs: list[ProcessJob] = []

    def supervise(job, python, folder, child_module):
        jobs.append(job)
        folder.mkdir(parents=True)
        ns = round(1e5 * (job.sizes.get("layers", 100) + job.repetition % 3))
        seconds = 20 * ns / 1e9 + 2e-4
        steady = {
            "ns": [ns] * 20, "seconds": seconds, "at_s": 100.82 + seconds, "run_ns": [ns] * 20,
            "wait_ns": [0] * 20, "steal_ns": [0] * 20, "other_processes_share": 0.0,
        }  # fmt: skip
        made = process(framework=job.framework, device=job.device, repetition=job.repetition,
                       workload=job.workload, status_detail="", steady=steady)  # fmt: skip
        if child_module.startswith("stackwars.audits.third_party"):
            made["events"] = [
                {"event": "ours", "ns": [ns + 9, ns, ns - 9]},
                {"event": "third_party", "harness": "pyperf 1", "ns": [ns, ns + 2, ns + 1]},
            ]
        return made

    def run_with_partner(side, job, python, partner_python, folder, seed):
        made = side(job, python, folder)
        layers = [job.sizes["layers"], job.partner["sizes"]["layers"]]
        times = ([round(1e5 * (n + job.repetition % 3))] * 4 for n in layers)
        first, second = ([{"event": "interleaved", "ns": ns, "calls": 1}] * 6 for ns in times)
        made["events"] += first
        return {**made, "partner": {"status": "ok", "framework": "jax", "events": second}}

    monkeypatch.setattr(runner, "supervise", supervise)
    monkeypatch.setattr(runner.interleaved, "run_with_partner", run_with_partner)
    monkeypatch.setattr(runner, "ensure", lambda pins: Path(sys.executable))
    return jobs


def test_finished_process_is_not_run_again(started, tmp_path):
    first = runner.run(JOB, PINS, tmp_path / "a", "stackwars.audits.depth_child")
    again = runner.run(JOB, PINS, tmp_path / "a", "stackwars.audits.depth_child")
    assert len(started) == 1
    assert again["events"] == first["events"]


def test_other_job_or_child_is_run(started, tmp_path):
    runner.run(JOB, PINS, tmp_path / "a", "stackwars.audits.depth_child")
    runner.run(replace(JOB, sizes={"layers": 4}), PINS, tmp_path / "a", "stackwars.audits.depth_child")
    runner.run(replace(JOB, sizes={"layers": 4}), PINS, tmp_path / "a", "stackwars.audits.mutant")
    assert len(started) == 3


def test_process_that_failed_stops_the_audit():
    with pytest.raises(
        RuntimeError, match=r"depth_scaling of jax on cpu-1t to run; it ended as oom: no memory"
    ):
        failed = {"status": "oom", "status_detail": "no memory"}
        runner.require_ok({**process(), "workload": "depth_scaling", **failed})


def job(dialect: str = "jax") -> dict:
    framework = {"jax": "jax", "torch": "torch_xla"}[dialect]
    settings = {"seed": 1, "matmul_precision": "highest"}
    return {
        "framework": framework,
        "dialect": dialect,
        "device": "cpu-1t",
        "preset": "smoke",
        "settings": settings,
    }


def test_power_runs_every_side_in_every_round_in_an_order_of_its_own(started, tmp_path):
    found = power.audit_power(job(), PINS, 12, tmp_path)
    orders = [tuple(j.sizes["layers"] for j in started[4 * r : 4 * r + 4]) for r in range(12)]
    assert all(sorted(order) == [100, 102, 105, 110] for order in orders)
    assert {j.partner["sizes"]["layers"] for j in started} == {100}
    assert len(set(orders)) > 4
    assert [size["count"] for size in found["sizes"]] == [3, 3, 3]
    assert [size["error_points"] for size in found["sizes"]] == pytest.approx([0, 0, 0], abs=0.11)
    assert json.loads(json.dumps(found)) == found


def test_aa_interleaved_is_one_side_in_every_round(started, tmp_path):
    found = aa_interleaved.audit_aa_interleaved(job("torch"), PINS, 12, tmp_path)
    assert {j.sizes["layers"] for j in started} == {100} == {j.partner["sizes"]["layers"] for j in started}
    assert {(j.framework, j.partner["framework"]) for j in started} == {("torch_xla", "torch_xla")}
    assert [j.repetition for j in started] == list(range(12))
    assert (found["aa"]["trials"], found["aa"]["count"]) == (3, 0)
    assert json.loads(json.dumps(found)) == found


def test_power_goes_on_where_it_was(started, tmp_path):
    power.measure(job(), PINS, 2, tmp_path)
    before = len(started)
    power.measure(job(), PINS, 3, tmp_path)
    assert (before, len(started)) == (8, 12)


def test_power_that_is_not_interleaved_is_an_error(started, monkeypatch, tmp_path):
    alone = {"status": "not run", "status_detail": "no memory", "events": []}
    monkeypatch.setattr(
        runner.interleaved,
        "run_with_partner",
        lambda side, job, python, *_: {**side(job, python, _[1]), "partner": alone},
    )
    with pytest.raises(RuntimeError, match="interleaved processes; the second one: no memory"):
        power.audit_power(job(), PINS, 1, tmp_path)


def test_medians_are_of_each_process(started, tmp_path):
    rows = independent.measure(job("torch"), PINS, {"ffn": {"batch": 1}}, 3, tmp_path)
    assert [j.repetition for j in started] == [0, 1, 2]
    row = independent.judged(rows["ffn"])
    assert row["ours_ms"] == pytest.approx([10.0, 10.1, 10.2])
    assert row["third_party_ms"] == pytest.approx([10.000001, 10.100001, 10.200001])
    # Of the three pairs ours took nine units longer, two less and ten less: the middle one counts.
    assert row["ratios"][1] == pytest.approx(1 - 2 / 10_100_000, abs=1e-9)
    assert (row["harness"], row["ok"]) == ("pyperf 1", True)


@pytest.mark.parametrize(("ratio", "ok"), [(1.0, True), (1.04, True), (1.06, False), (0.9, False)])
def test_medians_must_agree(ratio, ok):
    row = {"ours_ms": [10 * ratio, 11 * ratio, 30.0], "third_party_ms": [10.0, 11.0, 12.0]}
    assert independent.judged(row)["ok"] == ok
