"""What the user sees while cells run."""

import pytest

from measured import process, stopped
from stackwars.measure import progress
from stackwars.measure.supervisor import ProcessJob
from stackwars.study.cells import Cell

OUTPUTS = [f"results/smoke/cpu/jax/{name}/process-0" for name in ("gemm", "ffn", "mha")]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Plan and ended processes of this test alone, and a clock that stands at 1000 s."""
    monkeypatch.setattr(progress, "PLANNED", tmp_path / "run" / "planned.json")
    monkeypatch.setattr(progress, "FINISHED", tmp_path / "run" / "finished.jsonl")
    monkeypatch.setattr(progress.time, "time", lambda: 1000.0)


def job(workload: str, repetition: int = 0) -> ProcessJob:
    return ProcessJob("jax", "jax", workload, "cpu", "smoke", repetition, {}, {})


def ended(workload: str, wall_s: float, **changes) -> dict:
    return process(Cell("jax", workload, "cpu"), wall_s=wall_s, **changes)


@pytest.mark.parametrize(
    ("expected", "finished", "left"),
    [
        ([10.0, 20.0], [], 30.0),
        ([], [(10.0, 10.0)], 0.0),
        ([10.0, 20.0], [(10.0, 20.0)], 60.0),
        ([10.0], [(10.0, 5.0), (30.0, 15.0)], 5.0),
        ([None, 10.0], [(10.0, 20.0)], 40.0),
        ([None], [(None, 7.0), (None, 9.0)], 8.0),
        ([None, 10.0], [], None),
    ],
    ids=["as expected", "nothing to come", "twice as slow", "twice as fast", "one unknown",
         "all unknown", "nothing known"],
)  # fmt: skip
def test_time_left(expected, finished, left):
    assert progress.remaining_s(expected, finished) == (None if left is None else pytest.approx(left))


def test_first_process_is_announced_with_the_expected_time(files, capsys):
    progress.start(dict(zip(OUTPUTS, (60.0, 120.0, 240.0), strict=True)))
    progress.announce(job("gemm"), OUTPUTS[0])
    assert capsys.readouterr().err == (
        "[stackwars] 1 of 3: jax gemm cpu process 1: running (0 s so far, about 7 min left)\n")  # fmt: skip


def test_time_left_follows_the_machine(files, capsys, monkeypatch):
    progress.start(dict(zip(OUTPUTS, (60.0, 120.0, 240.0), strict=True)))
    progress.report(OUTPUTS[0], ended("gemm", 30.0))
    monkeypatch.setattr(progress.time, "time", lambda: 1031.0)
    capsys.readouterr()
    progress.announce(job("ffn"), OUTPUTS[1])
    assert capsys.readouterr().err == (
        "[stackwars] 2 of 3: jax ffn cpu process 1: running (31 s so far, about 3 min left)\n")  # fmt: skip


def test_time_that_is_not_known_is_not_made_up(files, capsys):
    progress.start(dict.fromkeys(OUTPUTS))
    progress.announce(job("gemm", 2), OUTPUTS[0])
    line = capsys.readouterr().err
    assert "process 3: running (0 s so far, time left not known yet)" in line


def test_process_outside_a_run_has_no_count(files, capsys):
    progress.announce(job("gemm"), OUTPUTS[0])
    progress.report(OUTPUTS[0], ended("gemm", 30.0))
    first, second = capsys.readouterr().err.splitlines()
    assert first == "[stackwars] jax gemm cpu process 1: running"
    assert second.endswith("[30.0 s]")
    assert not progress.FINISHED.exists()


def test_new_run_forgets_what_the_last_one_ended(files, capsys):
    progress.start(dict.fromkeys(OUTPUTS, 10.0))
    progress.report(OUTPUTS[0], ended("gemm", 30.0))
    progress.start(dict.fromkeys(OUTPUTS[1:], 10.0))
    capsys.readouterr()
    progress.announce(job("ffn"), OUTPUTS[1])
    assert "1 of 2: " in capsys.readouterr().err


def test_ok_result_tells_its_latencies(files, capsys):
    result = ended("gemm", 12.34, first_ms=150.0, second_ms=2.5, steady_ms=(1.0, 3.0, 1.25))
    progress.report(OUTPUTS[0], result)
    assert capsys.readouterr().err == (
        "[stackwars]     jax gemm cpu process 1: ok: first 150.000 ms, second 2.500 ms, "
        "steady 1.250 ms (3 calls) [12.3 s]\n")  # fmt: skip


def test_steady_state_is_told_per_call(files, capsys):
    progress.report(OUTPUTS[0], ended("gemm", 1.0, steady_ms=(1.0, 3.0, 1.25), calls=16))
    assert "steady 1.250 ms (48 calls)" in capsys.readouterr().err


def test_process_that_was_not_needed_is_done_without_a_word(files, capsys):
    progress.start(dict.fromkeys(OUTPUTS, 60.0))
    progress.report(OUTPUTS[0], stopped(repetition=3))
    assert capsys.readouterr().err == ""
    progress.announce(job("ffn"), OUTPUTS[1])
    assert "2 of 3: " in capsys.readouterr().err


def test_round_that_takes_no_time_in_the_reference_scales_nothing(files, capsys, monkeypatch):
    # Of the first workload one process ran, as fast as expected, and the last was not needed.
    progress.start(dict(zip(OUTPUTS, (60.0, 0.0, 60.0), strict=True)))
    progress.report(OUTPUTS[0], ended("gemm", 60.0))
    progress.report(OUTPUTS[1], stopped(Cell("jax", "ffn", "cpu")))
    monkeypatch.setattr(progress.time, "time", lambda: 1060.0)
    capsys.readouterr()
    progress.announce(job("mha"), OUTPUTS[2])
    assert "3 of 3: jax mha cpu process 1: running (60 s so far, about 60 s left)" in (capsys.readouterr().err)


def test_bad_result_tells_the_first_line_of_its_detail():
    bad = process(status=("error", "RuntimeError: no\nTraceback ..."))
    assert progress.summary(bad) == "error: RuntimeError: no"


def test_partner_that_failed_is_told_beside_the_times():
    told = progress.summary(
        process(partner={"status": "error", "status_detail": "killed\nlog", "framework": "numpy"})
    )
    assert told.endswith("calls); no ratio of this round, for its partner numpy: error: killed")
    for partner in (None, {"status": "ok"}, {"status": "not run"}):
        assert "partner" not in progress.summary(process(partner=partner))


def test_long_detail_is_cut():
    assert len(progress.summary(process(status=("error", "x" * 5000)))) < 200


def test_replay_is_named_by_its_compiler_and_tells_each_program(files, capsys):
    result = {
        "compiler": "jaxlib-1.2.3", "workload": "gemm", "device": "cpu", "repetition": 1,
        "status": "ok", "wall_s": 3.0, "programs": {"jax": {}, "torch_xla": {}},
        "events": [
            {"event": "steady", "program": "jax", "calls": 2, "ns": [2_000_000, 9_000_000, 4_000_000]},
            {"event": "steady", "program": "torch_xla", "calls": 2, "ns": [6_000_000] * 3},
        ],
    }  # fmt: skip
    progress.report(OUTPUTS[0], result)
    assert capsys.readouterr().err == (
        "[stackwars]     replay in jaxlib-1.2.3 gemm cpu process 2: "
        "ok: steady jax 2.000 ms, torch_xla 3.000 ms (6 calls each) [3.0 s]\n")  # fmt: skip
