"""Processes of an audit stay as they finish, and run again only if something changed; what they are compared by."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from stackwars.measure.supervisor import ProcessJob
from stackwars.study.audits import mutant, subjects
from stackwars.study.audits.subjects import CellSubject, SubjectJob

CHILD = "stackwars.measure.child"
JOB = ProcessJob("jax", "jax", "gemm", "cpu-1t", "smoke", 0, {"m": 3}, {"seed": 1})
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
    """The jobs that were run; each gives a process with times of both harnesses that depend on its repetition."""
    jobs: list[ProcessJob] = []

    def supervise(job, python, folder, child_module):
        jobs.append(job)
        folder.mkdir(parents=True)
        ns = round(1e5 * (100 + job.repetition % 3))
        events = [
            {"event": "ours", "ns": [ns + 9, ns, ns - 9]},
            {"event": "third_party", "harness": "pyperf 1", "ns": [ns, ns + 2, ns + 1]},
        ]
        return {"status": "ok", "status_detail": "", "wall_s": 3.0, "events": events}

    monkeypatch.setattr(subjects, "supervise", supervise)
    monkeypatch.setattr(subjects, "ensure", lambda pins: Path(sys.executable))
    return jobs


def test_finished_process_is_not_run_again(started, tmp_path):
    first = subjects.run_once(JOB, PINS, tmp_path / "a", CHILD)
    again = subjects.run_once(JOB, PINS, tmp_path / "a", CHILD)
    assert len(started) == 1
    assert again["events"] == first["events"]


def test_other_job_or_child_is_run(started, tmp_path):
    subjects.run_once(JOB, PINS, tmp_path / "a", CHILD)
    subjects.run_once(replace(JOB, sizes={"m": 4}), PINS, tmp_path / "a", CHILD)
    subjects.run_once(replace(JOB, sizes={"m": 4}), PINS, tmp_path / "a", "stackwars.study.audits.mutant")
    assert len(started) == 3


def cell(folder: Path, dialect: str = "jax") -> CellSubject:
    framework = {"jax": "jax", "torch": "torch_xla"}[dialect]
    settings = {"seed": 1, "matmul_precision": "highest"}
    return CellSubject(SubjectJob(framework, dialect, "cpu-1t", "smoke", settings), PINS, folder)


def test_medians_are_of_each_process(started, tmp_path):
    found = subjects.audit_independent(cell(tmp_path, "torch"), {"ffn": {"batch": 1}}, 3)
    assert [j.repetition for j in started] == [0, 1, 2]
    (row,) = found["workloads"]
    assert row["ours_ms"] == pytest.approx([10.0, 10.1, 10.2])
    assert row["third_party_ms"] == pytest.approx([10.000001, 10.100001, 10.200001])
    assert (row["harness"], row["ok"]) == ("pyperf 1", True)


@pytest.mark.parametrize(("ratio", "ok"), [(1.0, True), (1.04, True), (1.06, False), (0.9, False)])
def test_medians_must_agree(ratio, ok):
    row = {"ours_ms": [10 * ratio, 11 * ratio, 30.0], "third_party_ms": [10.0, 11.0, 12.0]}
    assert subjects.judged(row)["ok"] == ok


def test_dead_output_is_that_of_the_main_function():
    lines = mutant.return_zeros(PROGRAM).splitlines()
    place = lines.index("    return %zeros : tensor<2x3xf32>")
    assert lines[place - 1] == "    %zeros = stablehlo.constant dense<0.0> : tensor<2x3xf32>"
    assert "    return %arg0 : tensor<2xf32>" in lines, "a called function stays"
    with pytest.raises(ValueError, match="expected a line `return"):
        mutant.return_zeros("module {}")
