"""Processes of an audit stay as they finish, and run again only if something changed; what they are compared by."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from audits.made import process
from stackwars.audits import independent, mutant, power, subjects, verdicts
from stackwars.audits.subjects import CellSubject, ReplaySubject
from stackwars.measure.supervisor import ProcessJob

DEPTH = "stackwars.audits.depth_scaling"
CHILD = "stackwars.measure.child"
JOB = ProcessJob("jax", "jax", DEPTH, "cpu-1t", "smoke", 0, {"layers": 3}, {"seed": 1})
PINS = Path("envs/jax.txt")
PROGRAM = """module @jit_function {
  func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32> {jax.result_info = "result"}) {
    %0:2 = stablehlo.while(%iterArg = %arg0, %i = %c) : tensor<2x3xf32>, tensor<i32>
    return %0#0 : tensor<2x3xf32>
  }
  func.func private @closed_call(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    return %arg0 : tensor<2xf32>
  }
}
"""


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

    monkeypatch.setattr(subjects, "supervise", supervise)
    monkeypatch.setattr(subjects.interleaved, "run_with_partner", run_with_partner)
    monkeypatch.setattr(subjects, "ensure", lambda pins: Path(sys.executable))
    return jobs


def test_finished_process_is_not_run_again(started, tmp_path):
    first = subjects.run_once(JOB, PINS, tmp_path / "a", CHILD)
    again = subjects.run_once(JOB, PINS, tmp_path / "a", CHILD)
    assert len(started) == 1
    assert again["events"] == first["events"]


def test_other_job_or_child_is_run(started, tmp_path):
    subjects.run_once(JOB, PINS, tmp_path / "a", CHILD)
    subjects.run_once(replace(JOB, sizes={"layers": 4}), PINS, tmp_path / "a", CHILD)
    subjects.run_once(replace(JOB, sizes={"layers": 4}), PINS, tmp_path / "a", "stackwars.audits.mutant")
    assert len(started) == 3


def test_process_that_failed_stops_the_audit():
    with pytest.raises(
        RuntimeError, match=r"depth_scaling of jax on cpu-1t to run, got oom: no memory; fix: that cell"
    ):
        failed = {"status": "oom", "status_detail": "no memory"}
        subjects.require_ok({**process(), "workload": "depth_scaling", **failed})


def cell(folder: Path, dialect: str = "jax") -> CellSubject:
    framework = {"jax": "jax", "torch": "torch_xla"}[dialect]
    settings = {"seed": 1, "matmul_precision": "highest"}
    job = {
        "framework": framework, "dialect": dialect, "device": "cpu-1t", "preset": "smoke", "settings": settings,
    }  # fmt: skip
    return CellSubject(job, PINS, folder)


def test_power_runs_every_side_in_every_round_in_an_order_of_its_own(started, tmp_path):
    found = power.audit_power(cell(tmp_path), 12)
    orders = [tuple(j.sizes["layers"] for j in started[4 * r : 4 * r + 4]) for r in range(12)]
    assert all(sorted(order) == [100, 102, 105, 110] for order in orders)
    assert {j.partner["sizes"]["layers"] for j in started} == {100}
    assert len(set(orders)) > 4
    assert [size["count"] for size in found["sizes"]] == [3, 3, 3]
    assert [size["error_points"] for size in found["sizes"]] == pytest.approx([0, 0, 0], abs=0.11)
    assert json.loads(json.dumps(found)) == found


def test_same_alone_is_one_side_in_every_round(started, tmp_path):
    found = power.audit_power(cell(tmp_path, "torch"), 12, same=True)
    assert {j.sizes["layers"] for j in started} == {100} == {j.partner["sizes"]["layers"] for j in started}
    assert {(j.framework, j.partner["framework"]) for j in started} == {("torch_xla", "torch_xla")}
    assert [j.repetition for j in started] == list(range(12))
    assert (found["aa"]["trials"], found["aa"]["count"], found["sizes"]) == (3, 0, [])
    assert json.loads(json.dumps(found)) == found


def test_power_resumes_after_the_finished_processes(started, tmp_path):
    power.audit_power(cell(tmp_path), 4)
    before = len(started)
    power.audit_power(cell(tmp_path), 5)
    assert (before, len(started)) == (16, 20)


def test_power_that_is_not_interleaved_is_an_error(started, monkeypatch, tmp_path):
    alone = {"status": "not run", "status_detail": "no memory", "events": []}
    monkeypatch.setattr(
        subjects.interleaved,
        "run_with_partner",
        lambda side, job, python, *_: {**side(job, python, _[1]), "partner": alone},
    )
    with pytest.raises(RuntimeError, match="interleaved processes; the second one: no memory"):
        power.audit_power(cell(tmp_path), 1)


def test_medians_are_of_each_process(started, tmp_path):
    found = independent.audit_independent(cell(tmp_path, "torch"), {"ffn": {"batch": 1}}, 3)
    assert [j.repetition for j in started] == [0, 1, 2]
    (row,) = found["workloads"]
    assert row["ours_ms"] == pytest.approx([10.0, 10.1, 10.2])
    assert row["third_party_ms"] == pytest.approx([10.000001, 10.100001, 10.200001])
    # Of the three pairs ours took nine units longer, two less and ten less: the middle one counts.
    assert row["ratios"][1] == pytest.approx(1 - 2 / 10_100_000, abs=1e-9)
    assert (row["harness"], row["ok"]) == ("pyperf 1", True)


@pytest.mark.parametrize(("ratio", "ok"), [(1.0, True), (1.04, True), (1.06, False), (0.9, False)])
def test_medians_must_agree(ratio, ok):
    row = {"ours_ms": [10 * ratio, 11 * ratio, 30.0], "third_party_ms": [10.0, 11.0, 12.0]}
    assert independent.judged(row)["ok"] == ok


def test_dead_output_is_that_of_the_main_function():
    lines = mutant.return_zeros(PROGRAM).splitlines()
    place = lines.index("    return %zeros : tensor<2x3xf32>")
    assert lines[place - 1] == "    %zeros = stablehlo.constant dense<0.0> : tensor<2x3xf32>"
    assert "    return %arg0 : tensor<2xf32>" in lines, "a called function stays"
    with pytest.raises(ValueError, match="expected a line `return"):
        mutant.return_zeros("module {}")


class Replayed(ReplaySubject):
    """Processes whose blocks take as long as their layers, in rounds that are slower and slower."""

    def lower(self, workload, sizes):
        return {name: {"layers": one["layers"]} for name, one in sizes.items()}

    def run(self, place, programs, **own):
        number = own["repetition"]
        steady = [
            {
                "event": "steady", "program": name, "calls": 1,
                "ns": [one["layers"] * (1000 + 100 * number + 7 * k * (-1) ** place) for k in range(9)],
            }
            for place, (name, one) in enumerate(programs.items())
        ]  # fmt: skip
        return {"repetition": number, "wall_s": 2.0, "events": steady}


def test_programs_of_one_process_are_compared_by_their_work():
    job = {"framework": "jax", "compiler": "iree-3.13", "device": "cpu"}
    found = power.audit_power(Replayed(job, PINS, Path("folder")), 8)
    assert (found["rounds"], found["wall_s"]) == (8, 16.0)
    assert [round(one["ratio"], 2) for one in found["sizes"]] == [
        pytest.approx(1 + percent / 100, abs=0.06) for percent in power.MORE
    ]
    # Every second program is a little slower than the base from block to block, and the same in all rounds.
    assert found["ratios"][power.BASE] == [1.0] * 8
    assert json.loads(json.dumps(found)) == found
    assert verdicts.power([found])["detail"].startswith("jax in iree-3.13 on cpu: 2 % is found in ")
    groups = verdicts.aa([], [found])["figures"]["groups"]
    assert "interleaved depth scaling, jax in iree-3.13" in groups


def test_the_job_decides_what_is_measured():
    assert type(subjects.subject({"framework": "jax"}, PINS, Path("x"))) is CellSubject
    replay = subjects.subject({"framework": "jax", "compiler": "c", "device": "cpu"}, PINS, Path("x"))
    assert replay.labels == {"framework": "jax", "compiler": "c", "device": "cpu"}
    assert "half_fence" not in replay.mutants()
