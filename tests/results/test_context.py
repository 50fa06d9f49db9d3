"""What the paper says of the run as a whole."""

import json

import numpy as np
import pytest

from measured import PEAK, config, process, write_cell, write_results
from stackwars.results import context, frame
from stackwars.study.cells import Cell

JAX, TORCH = Cell("jax", "gemm", "cpu"), Cell("torch_xla", "gemm", "cpu")


@pytest.fixture
def results(tmp_path):
    """A folder of results with devices and peak, and no cell yet."""
    return write_results(tmp_path)


def built(results) -> dict:
    return context.build(config(), frame.read(config(), results), "measured")


def test_run_is_described(results):
    write_cell(results, [process()])
    found = built(results)
    assert (found["preset"], found["origin"]) == ("smoke", "measured")
    assert found["machine"]["cpu_model"] == "A CPU"
    assert found["date_utc"] == "2025-11-20T10:00:00+00:00"
    assert (found["git_revision"], found["git_dirty"]) == ("0123456789ab", False)
    assert found["peak"] == PEAK
    assert found["sizes"]["gemm"] == {"m": 16, "k": 32, "n": 64}
    assert found["settings"]["memory_cap_bytes"] == 2**30
    assert found["settings"]["rounds_max"] == 1
    assert found["comparisons"] == config()["comparisons"]
    assert config()["compilers"][found["native_compiler"]]["native"]
    json.dumps(found)


def test_date_is_of_the_last_process(results):
    write_cell(results, [process(started_s=9000.0, started_utc="2025-11-22T00:00:00+00:00")])
    write_cell(results, [process(TORCH, started_s=100.0, started_utc="2025-11-21T00:00:00+00:00")])
    assert built(results)["date_utc"].startswith("2025-11-22")


def test_a_run_of_programs_alone_is_dated_by_its_last_compilation(results):
    for name, minute in (("b", 1), ("a", 2)):
        folder = results / "ahead" / "tpu-v6e" / name
        folder.mkdir(parents=True)
        one = process(started_utc=f"2025-11-20T10:0{minute}:00+00:00")
        (folder / "ahead.json").write_text(json.dumps(one))
    found = built(results)
    assert found["date_utc"] == "2025-11-20T10:02:00+00:00"
    assert (found["machine"]["cpu_model"], found["git_revision"]) == ("A CPU", "0123456789ab")
    # Beside cells they are not what a run's date is about.
    write_cell(results, [process()])
    assert built(results)["date_utc"] == "2025-11-20T10:00:00+00:00"


def test_every_revision_is_named_and_a_changed_checkout_told(results):
    write_cell(results, [process(source={"git_revision": "bbb", "git_dirty": False})])
    write_cell(results, [process(TORCH, source={"git_revision": "aaa", "git_dirty": True})])
    found = built(results)
    assert (found["git_revision"], found["git_dirty"]) == ("aaa bbb", True)


def with_versions(cell: Cell, **versions: str) -> dict:
    result = process(cell)
    result["events"][1]["versions"] = versions
    return result


def test_versions_of_both_environments_stand_together(results):
    write_cell(results, [with_versions(JAX, jax="0.7.1", numpy="2.4.6")])
    write_cell(results, [with_versions(TORCH, torch="2.9.0", numpy="2.4.6")])
    assert built(results)["versions"] == {
        "python": "3.11.7", "jax": "0.7.1", "torch": "2.9.0", "numpy": "2.4.6"}  # fmt: skip


def test_versions_that_differ_say_whose_they_are(results):
    write_cell(results, [with_versions(JAX, numpy="2.4.6")])
    write_cell(results, [with_versions(TORCH, numpy="1.26.4")])
    versions = built(results)["versions"]
    assert (versions["numpy"], versions["numpy (torch_xla)"]) == ("2.4.6", "1.26.4")


def test_device_is_present_where_any_framework_finds_it(results):
    found = built(results)["devices"]
    assert found["cpu"]["present"]
    assert not found["tpu"]["present"]
    assert found["tpu"]["reason"] == "no driver: none of /dev/accel0 exists"


def test_cost_is_wall_time_over_time_inside(results):
    # Two processes of 10 s, 1.5 s apart; each is inside from its import (1 s) to its last call (6 s).
    write_cell(results, [process(started_s=1000.0), process(repetition=1, started_s=1011.5)])
    found = built(results)
    assert found["wall_s"] == pytest.approx(21.5)
    assert found["overhead_ratio"] == pytest.approx(2.15)


def test_pause_that_a_replay_can_fill_is_not_counted(results):
    write_cell(results, [process(started_s=1000.0), process(repetition=1, started_s=1014.0)])
    assert built(results)["wall_s"] == pytest.approx(20.0)


def test_pause_of_hours_is_not_counted(results):
    write_cell(results, [process(started_s=1000.0), process(repetition=1, started_s=1011.5)])
    write_cell(results, [process(TORCH, started_s=40_000.0)])
    assert built(results)["wall_s"] == pytest.approx(31.5)


def test_process_that_was_not_repeated_costs_nothing(results):
    bad = {"status": ("oom", "refused at build")}
    skipped = process(repetition=1, repeated=False, wall_s=0.0, **bad)
    write_cell(results, [process(**bad), skipped])
    found = built(results)
    assert found["wall_s"] == pytest.approx(10.0)
    # Its child's last word was that it runs, 3.5 s after the start; its first, that it imports, at 1 s.
    assert found["overhead_ratio"] == pytest.approx(10.0 / 2.5)


def test_process_without_an_event_costs_its_wall_time_only(results):
    write_cell(results, [process(status=("error", "it did not start"), events=[])])
    found = built(results)
    assert (found["wall_s"], found["overhead_ratio"]) == (10.0, None)


def test_no_cell_at_all(results):
    found = built(results)
    assert (found["date_utc"], found["git_revision"]) == ("never", "unknown")
    assert (found["wall_s"], found["overhead_ratio"]) == (0.0, None)


def test_order_of_cells_does_not_matter_to_the_cost(results):
    late = process(JAX, started_s=1011.5)
    write_cell(results, [late], np.ones(2, np.float32))
    write_cell(results, [process(TORCH, started_s=1000.0)], np.ones(2, np.float32))
    assert built(results)["wall_s"] == pytest.approx(21.5)


def test_one_machine_has_no_nodes(results):
    write_cell(results, [process()])
    assert built(results)["nodes"] == []


def test_each_node_tells_what_it_measured_and_how_fast_it_is(results):
    record = process()["machine"]
    for cell, node in ((JAX, "n1"), (TORCH, "n1"), (Cell("jax", "ffn", "cpu"), "n2")):
        write_cell(results, [process(cell, machine={"node": node, **record})])
    (results / "cpu" / "peak.json").write_text(
        json.dumps(PEAK | {"machine": {"node": "n2", **record}})
    )
    grown = results / "growth" / "jax" / "decode" / "layers-1"
    grown.mkdir(parents=True)
    alone = process(workload="decode", machine={"node": "n2", **record})
    (grown / "process.json").write_text(json.dumps(alone))
    replayed = results / "replay" / "cpu" / "jaxlib" / "mha"
    replayed.mkdir(parents=True)
    replay = {"device": "cpu", "workload": "mha", "processes": [alone]}
    (replayed / "replay.json").write_text(json.dumps(replay))
    first, second = built(results)["nodes"]
    assert (first["node"], first["device"], first["workloads"]) == ("n1", "cpu", ["gemm"])
    assert first["peak"] is None
    assert (second["node"], second["workloads"]) == ("n2", ["decode", "ffn", "mha"])
    assert second["peak"]["gflop_per_s"] == PEAK["gflop_per_s"]
