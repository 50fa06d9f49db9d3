"""What the user sees while cells run."""

from measured import process
from stackwars.measure import progress
from stackwars.study.cells import Cell


def ended(workload: str, wall_s: float, **changes) -> dict:
    return process(Cell("jax", workload, "cpu"), wall_s=wall_s, **changes)


def test_ok_result_tells_its_latencies(capsys):
    result = ended("gemm", 12.34, first_ms=150.0, second_ms=2.5, steady_ms=(1.0, 3.0, 1.25))
    progress.report(result)
    assert capsys.readouterr().err == (
        "[stackwars]     jax gemm cpu process 1: ok: first 150.000 ms, second 2.500 ms, "
        "series 1.250 ms (3 calls) [12.3 s]\n")  # fmt: skip


def test_summary_of_a_round_without_a_series_of_a_bad_one_and_of_one_whose_partner_failed():
    result = ended("gemm", 3.0, loops_ms=(1.0, 3.0))
    result["events"] = [event for event in result["events"] if event["event"] != "steady"]
    assert progress.summary(result) == "ok: first 100.000 ms, second 2.000 ms, loop 4.000 ms (2 calls)"
    for text, shown in (("RuntimeError: no\nTraceback ...", "RuntimeError: no"), ("x" * 5000, "x")):
        found = progress.summary(process(status=("error", text)))
        assert found.startswith(f"error: {shown}") and len(found) < 200 and "\n" not in found
    partner = {"status": "error", "status_detail": "killed\nlog", "framework": "numpy"}
    told = progress.summary(process(partner=partner))
    assert told.endswith("calls); no ratio of this round, for its partner numpy: error: killed")
    assert not any("partner" in progress.summary(process(partner={"status": one})) for one in ("ok", "not run"))


def test_replay_is_named_by_its_compiler_and_tells_each_program(capsys):
    result = {
        "compiler": "jaxlib-1.2.3", "workload": "gemm", "device": "cpu", "repetition": 1,
        "status": "ok", "wall_s": 3.0, "programs": {"jax": {}, "torch_xla": {}},
        "events": [
            {"event": "steady", "program": "jax", "calls": 2, "ns": [2_000_000, 9_000_000, 4_000_000]},
            {"event": "steady", "program": "torch_xla", "calls": 2, "ns": [6_000_000] * 3},
        ],
    }  # fmt: skip
    progress.report(result)
    assert capsys.readouterr().err == (
        "[stackwars]     replay in jaxlib-1.2.3 gemm cpu process 2: "
        "ok: series jax 2.000 ms, torch_xla 3.000 ms (6 calls each) [3.0 s]\n")  # fmt: skip
