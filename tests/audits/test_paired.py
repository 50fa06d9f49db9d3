"""The pairs that the audits measure, their rounds, resuming, and a real pair."""

import json
import sys
from pathlib import Path

import pytest

from measured import config
from stackwars.measure.supervisor import ProcessJob
from stackwars.study.audits import paired
from stackwars.study.audits.paired import PairJob

SETTINGS = {
    "seed": 7, "matmul_precision": "highest", "memory_cap_gib": 8, "timeout_s": 120, "block_calls": 1,
    "steady_seconds": 0.05, "steady_min_blocks": 3, "steady_max_blocks": 50, "loop_pairs": 2,
}  # fmt: skip


def job(rows: tuple[int, int] = (42, 40), **changes: object) -> PairJob:
    sides = [
        {"framework": "jax", "dialect": "jax", "pins": "envs/jax.txt",
         "sizes": {"m": count, "k": 1024, "n": 1024}}
        for count in rows
    ]  # fmt: skip
    named = {"name": "jax-gemm", "kind": "same", "workload": "gemm", "device": "cpu", "preset": "test"}
    return PairJob(**{**named, "trials": 1, "rounds": 2, "settings": SETTINGS, "sides": sides, **changes})


def record(process: ProcessJob, **changes: object) -> dict:
    """A process whose calls take 0.1 ms for each row, 1 % more in alternating loops."""
    ns = 1e5 * process.sizes["m"]
    series = [("steady", 1.0)] * (process.repetition < 2) + [("loop", 1.01), ("loop", 1.01)]
    events = [{"event": name, "calls": 1, "ns": [ns * factor] * 4, "dropped": 1} for name, factor in series]
    source = {"git_revision": "abc", "git_dirty": False}
    return {
        "status": "ok", "basis": "interleaved", "framework": "jax", "workload": "gemm", "device": "cpu",
        "wall_s": 2.0, "source": source, "events": events, **changes,
    }  # fmt: skip


@pytest.fixture
def started(monkeypatch) -> list:
    """The participants of every round that was run."""
    rounds = []

    def run_round(participants, settings, rng, expected_bytes):
        rounds.append(participants)
        for one in participants:
            one.folder.mkdir(parents=True)
        return {one.name: record(one.job) for one in participants}

    monkeypatch.setattr(paired.conduct, "run_round", run_round)
    monkeypatch.setattr(paired, "ensure", lambda pins: Path(sys.executable))
    return rounds


def test_every_trial_has_the_rounds_of_a_cell_from_the_first(started, tmp_path):
    found = paired.measure(job(trials=2, rounds=3), tmp_path)
    assert [one[0].job.repetition for one in started] == [0, 1, 2] * 2
    assert (found["subject"], found["baseline"], found["revisions"]) == ("jax", "jax", ["abc"])
    assert json.loads(json.dumps(found)) == found
    assert found["undisturbed"] == [pytest.approx(1.05), pytest.approx(1.05), None] * 2
    assert found["ratios"] == pytest.approx([1.05] * 6)


def test_the_two_roles_take_the_steps_of_a_cell(started, tmp_path):
    paired.measure(job(), tmp_path)
    subject, baseline = started[0]
    assert set(subject.steps) - set(baseline.steps) == {"dispatch", "throughput"}
    assert [one[0].job.repetition for one in started] == [0, 1]


def test_finished_rounds_are_not_measured_again_unless_the_job_changes(started, tmp_path):
    paired.measure(job(), tmp_path)
    paired.measure(job(), tmp_path)
    assert len(started) == 2
    paired.measure(job(rows=(34, 33)), tmp_path)
    assert len(started) == 4


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"status": "oom", "status_detail": "no memory"}, "to run, got oom: no memory; fix: that cell"),
        ({"basis": "in turn"}, "at once, got one after the other; fix: free memory"),
    ],
)
def test_a_round_that_is_none_of_the_study_stops_the_audit(changes, said):
    process = job().process(job().sides[0], 0)
    with pytest.raises(RuntimeError, match=said):
        paired.summary([record(process), record(process, **changes)])


def test_what_the_configuration_lacks_has_no_pair():
    trials = {"jax": 1, "numpy": 2}
    asked = {"frameworks": [], "replays": [], "workloads": ["gemm", "bert_base"], "trials": trials}
    names = [(pair.kind, pair.device, pair.name) for pair in paired.all_pairs(config(audits=asked))]
    assert names == [("same", "cpu", "jax-gemm")]
    of_both = paired.all_pairs(
        config(audits=asked, devices=["cpu", "cpu-1t"], device_workloads={"cpu-1t": ["ffn"]})
    )
    assert [(pair.device, pair.workload) for pair in of_both] == [("cpu", "gemm")]
