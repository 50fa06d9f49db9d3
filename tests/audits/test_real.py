"""The audits of the timed process with the real frameworks, and with one that is broken."""

import json
from pathlib import Path

import pytest

from running import python
from stackwars.core.launch import REPOSITORY
from stackwars.measure import frameworks
from stackwars.study.audits import mutant, subjects
from stackwars.study.audits.mutant import HONEST
from stackwars.study.audits.subjects import ReplaySubjectJob, SubjectJob

pytestmark = pytest.mark.env
DIALECTS = {name: frameworks.load(name).DIALECT for name in ("jax", "torch_xla")}
SETTINGS = {
    "seed": 7, "matmul_precision": "highest", "memory_cap_gib": 8, "timeout_s": 120, "parity_rel_l2": 1e-5,
}  # fmt: skip
BROKEN = "lambda self, output: self._torch_xla.sync()"
"""What everybody takes for the fence of torch_xla."""


def pins(framework: str) -> Path:
    return REPOSITORY / "envs" / f"{framework}.txt"


def run(framework: str, *arguments: str) -> None:
    python(*arguments, pins=f"envs/{framework}.txt", cwd=REPOSITORY)


def measured_peak(device: str, folder: Path) -> dict:
    """What the device can do, measured as for a run but shorter."""
    path = folder / "peak.json"
    run("jax", "-m", "stackwars.measure.peak", device, str(path), "--seconds", "0.3")
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def peak(tmp_path_factory) -> dict:
    """The peak of a core of this machine."""
    return measured_peak("cpu-1t", tmp_path_factory.mktemp("peak"))


@pytest.mark.alone
def test_real_fence_passes_and_a_broken_one_does_not(peak, tmp_path):
    framework = "torch_xla"
    (tmp_path / "peak.json").write_text(json.dumps(peak))
    options = {
        "framework": framework, "dialect": DIALECTS[framework], "device": "cpu-1t",
        "precision": "highest", "peak": tmp_path / "peak.json",
    }  # fmt: skip
    command = [str(part) for key, value in options.items() for part in (f"--{key}", value)]
    found = {}
    for name, edits in {"real": "pass", "broken": f"framework.Session.fence = {BROKEN}"}.items():
        module = f"from stackwars.measure.frameworks import {framework} as framework"
        imports = f"from stackwars.study.audits import fences; {module}"
        output = tmp_path / f"{name}.json"
        run(framework, "-c", f"{imports}; {edits}; fences.main()", *command, "--output", str(output))
        found[name] = json.loads(output.read_text())["ok"]
    assert found["real"] == {"residual": True, "dropped": True}
    assert not found["broken"]["residual"]


def assert_rejected(found: dict, mutants: list[str]) -> None:
    """Check that these mutants were rejected by the checks that are meant for them, and the honest process not."""
    rejected = {row["mutant"]: row["rejected_by"] for row in found["processes"]}
    assert rejected.pop(HONEST) == []
    assert list(rejected) == mutants
    for name, checks in rejected.items():
        assert ("second clock" if name == "half_clock" else "floor") in checks, rejected
    assert found["ok"]


@pytest.mark.alone
@pytest.mark.parametrize(
    ("framework", "chosen"),
    [
        ("jax", ["no_fence", "dead_output", "cached_result", "cached_by_input", "half_clock"]),
        ("torch_xla", ["half_fence", "dead_output"]),
    ],
)
def test_every_mutant_is_rejected_and_the_honest_process_is_not(framework, chosen, peak, tmp_path, monkeypatch):
    monkeypatch.setattr(subjects, "HONEST_PROCESSES", 1)
    monkeypatch.setattr(mutant, "mutants", lambda session: chosen)
    job = SubjectJob(framework, DIALECTS[framework], "cpu-1t", "test", SETTINGS)
    found = subjects.audit_mutants(subjects.subject(job, pins(framework), tmp_path / "kept"), peak)
    assert_rejected(found, chosen)


@pytest.mark.alone
def test_every_mutant_of_a_replay_is_rejected_and_the_honest_process_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(subjects, "HONEST_PROCESSES", 1)
    names = {"compiler": "iree-3.13", "module": "iree", "options": {}, "lower_pins": str(pins("jax"))}
    job = ReplaySubjectJob("jax", "jax", "cpu", "test", SETTINGS, **names)
    peak = measured_peak("cpu", tmp_path)
    found = subjects.audit_mutants(subjects.subject(job, pins("iree"), tmp_path), peak)
    assert_rejected(found, mutant.mutants(None))


@pytest.mark.alone
def test_both_harnesses_time_the_same_calls(tmp_path):
    framework = "jax"
    job = SubjectJob(framework, DIALECTS[framework], "cpu-1t", "smoke", SETTINGS)
    sizes = {"ffn": {"batch": 16, "sequence": 16, "features": 128, "hidden": 512}}
    subject = subjects.subject(job, pins(framework), tmp_path)
    (row,) = subjects.audit_independent(subject, sizes, 1)["workloads"]
    # 67 MFLOP: a millisecond or so on one core, by whoever's clock.
    assert all(0.2 < ms < 50 for ms in row["ours_ms"] + row["third_party_ms"]), row
    assert row["ratio"] == pytest.approx(1, abs=0.3)
