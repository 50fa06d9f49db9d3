"""Processes of a replay put together, from hand-made processes."""

import json
import math

import handmade
import jsonschema
import numpy as np
import pytest

from stackwars.compilers import replay_cell

DIGESTS = {"jax": "a" * 64, "torch_xla": "b" * 64}


OUTPUT = np.arange(1, 9, dtype=np.float32)
"""Samples of both sets of inputs."""
FOUND = {"optimised": {"fusions": 3}, "optimised_problem": ""}
REFUSED = {"torch_xla": {"status": "invalid", "detail": "disagrees"}}


def process(folder, repetition: int, status=("ok", ""), error=2e-7, steady=(10, 12), refused=None):
    """The folder of one process of two programs; refused: {program: {"status", "detail"}}."""
    events = [{"event": "build", "at_s": 1.0, "versions": {"jax": "0.7.1"}, "device_kind": "cpu"}]
    for name, digest in DIGESTS.items():
        events.append({"event": "read", "program": name, "sha256": digest})
        events.append({"event": "compiled", "program": name, "compile_s": 1.5, **FOUND})
    events.append({"event": "run", "at_s": 1.5, "load": [0.5, 0.5, 0.5]})
    for name in DIGESTS if status[0] == "ok" else ():
        rel_l2 = 0.0 if name == "jax" else error
        events.append({"event": "first", "at_s": 1.5, "program": name, "ns": 100})
        events.append({"event": "parity", "program": name, "call": "first", "rel_l2": rel_l2})
        if name in (refused or {}):
            events.append({"event": "refused", "program": name, **refused[name]})
            continue
        events.append({"event": "second", "program": name, "ns": 50})
        counted = {f"{key}_ns": [0] * len(steady) for key in ("run", "wait", "steal")}
        blocks = {"ns": list(steady), "calls": 4, "other_processes_share": 0.0, **counted}
        events.append({"event": "steady", "at_s": 2.0, "program": name, **blocks})
    home = folder / f"process-{repetition}"
    home.mkdir(parents=True)
    result = {
        "status": status[0], "status_detail": status[1], "workload": "gemm", "device": "cpu",
        "preset": "smoke", "compiler": "some-xla", "module": "xla", "options": {}, "baseline": "jax",
        "repetition": repetition,
        "sizes": handmade.SIZES, "settings": {"parity_rel_l2": 1e-5, "seed": 1},
        "programs": {name: {} for name in DIGESTS}, "started_utc": "2025-11-20T10:00:00+00:00",
        "started_s": 1000.0, "wall_s": 5.0, "peak_rss_bytes": 100 + repetition, "exit_code": 0,
        "events": events, "machine": {}, "repeated": True,
    }  # fmt: skip
    (home / "process.json").write_text(json.dumps(result))
    for name in DIGESTS:
        np.save(home / f"{name}.npy", OUTPUT)
    return home


def cell(folder, digest: str, output=1.0, status="ok"):
    """A framework's own cell."""
    folder.mkdir()
    (folder / "cell.json").write_text(json.dumps({"status": status, "ir": {"sha256": digest}}))
    np.save(folder / "output.npy", np.float32(output) * OUTPUT)
    return folder


def test_samples_stand_by_program_and_process(tmp_path):
    folders = [process(tmp_path, 0, steady=(10, 12)), process(tmp_path, 1, steady=(20, 22, 24))]
    found = replay_cell.combine(folders, {})
    assert (found["status"], found["peak_rss_bytes"]) == ("ok", 101)
    assert found["programs"]["jax"]["optimised"] == {"fusions": 3}
    torch = found["programs"]["torch_xla"]
    assert [blocks["ns"] for blocks in torch["steady"]] == [[10, 12], [20, 22, 24]]
    assert torch["steady"][1] == {
        **{"ns": [20, 22, 24], "calls": 4},
        **{f"{name}_ns": [0] * 3 for name in ("run", "wait", "steal")},
        "other_processes_share": 0.0,
    }
    assert (torch["first_ns"], torch["second_ns"]) == ([100, 100], [50, 50])
    assert (torch["program_sha256"], torch["compile_s"]) == ("b" * 64, [1.5, 1.5])
    assert [row["repetition"] for row in found["processes"]] == [0, 1]
    assert "events" not in found["processes"][0]
    assert found["processes"][0]["versions"] == {"jax": "0.7.1"}


def test_process_that_was_not_needed_is_left_out(tmp_path):
    folders = [process(tmp_path, 0), process(tmp_path, 1)]
    rest = tmp_path / "process-2"
    rest.mkdir()
    stopped = {"status": "stopped", "status_detail": "decided", "repetition": 2, "events": []}
    (rest / "process.json").write_text(json.dumps({**stopped, "wall_s": 0.0}))
    found = replay_cell.combine([*folders, rest], {})
    assert found["status"] == "ok"
    assert [row["repetition"] for row in found["processes"]] == [0, 1]
    assert len(found["programs"]["jax"]["steady"]) == len(found["programs"]["jax"]["first_ns"]) == 2


def test_parity_is_the_worst_of_all_processes(tmp_path):
    folders = [process(tmp_path, 0, error=3e-6), process(tmp_path, 1, error=2e-6)]
    assert replay_cell.combine(folders, {})["programs"]["torch_xla"]["parity_rel_l2"] == 3e-6


@pytest.mark.parametrize("status", ["oom", "timeout", "error"])
def test_one_bad_process_leaves_no_time(tmp_path, status):
    folders = [process(tmp_path, 0), process(tmp_path, 1, status=(status, "why"))]
    found = replay_cell.combine(folders, {})
    assert (found["status"], found["status_detail"]) == (status, "why")
    for program in found["programs"].values():
        assert (program["status"], program["steady"]) == (status, [])


def test_program_refused_once_is_invalid_and_the_other_is_not(tmp_path):
    folders = [process(tmp_path, 0), process(tmp_path, 1, refused=REFUSED)]
    programs = replay_cell.combine(folders, {})["programs"]
    assert (programs["torch_xla"]["status"], programs["torch_xla"]["steady"]) == ("invalid", [])
    assert programs["torch_xla"]["status_detail"] == "disagrees"
    assert (programs["jax"]["status"], len(programs["jax"]["steady"])) == ("ok", 2)


def test_process_below_the_floor_leaves_no_time(tmp_path):
    flops = 2 * math.prod(handmade.SIZES.values())
    calls_ms = {"steady": (4_000_000, 4_000_000)}  # ns of blocks of 4 calls: 1 ms a call
    folders = [process(tmp_path, 0, **calls_ms), process(tmp_path, 1, steady=(400, 400))]
    # The floor is half a millisecond.
    peak = {"gflop_per_s": flops / 1e6, "copy_gb_per_s": 1.0, "last_cache_bytes": 2**20}
    found = replay_cell.combine(folders, {}, peak)
    assert found["status"] == "invalid"
    assert found["status_detail"].startswith("floor: 100% of the blocks are below 0.5 ms")
    assert {program["status"] for program in found["programs"].values()} == {"invalid"}
    assert replay_cell.combine(folders[:1], {}, peak)["status"] == "ok"


def test_program_with_one_output_for_both_sets_of_inputs_is_invalid(tmp_path):
    folder = process(tmp_path, 0)
    np.save(folder / "torch_xla.npy", np.ones(8, np.float32))
    programs = replay_cell.combine([folder], {})["programs"]
    assert programs["torch_xla"]["status_detail"].startswith("inputs: two different sets")
    assert {name: one["status"] for name, one in programs.items()} == {"jax": "ok", "torch_xla": "invalid"}


def test_program_of_its_cell_with_its_output_is_ok(tmp_path):
    cells = {"torch_xla": cell(tmp_path / "cell", "b" * 64, output=1.000001)}
    found = replay_cell.combine([process(tmp_path, 0)], cells)["programs"]
    assert found["torch_xla"]["status"] == "ok"
    assert found["torch_xla"]["native_rel_l2"] == pytest.approx(1e-6, rel=0.1)
    assert found["jax"]["native_rel_l2"] is None


@pytest.mark.parametrize(
    ("digest", "output", "detail"),
    [
        ("c" * 64, 1.0, "the program's digest is bbbbbbbbbbbb, its cell's is cccccccccccc"),
        ("b" * 64, 1.001, "relative L2 error 9.99e-04 against its own cell, over 1e-05"),
    ],
    ids=["another program", "another output"],
)
def test_not_what_the_cell_ran_is_invalid(tmp_path, digest, output, detail):
    cells = {"torch_xla": cell(tmp_path / "cell", digest, output)}
    found = replay_cell.combine([process(tmp_path, 0)], cells)["programs"]["torch_xla"]
    assert (found["status"], found["status_detail"]) == ("invalid", detail)
    assert found["steady"] == []


def test_cell_that_is_not_ok_is_compared_with_nothing(tmp_path):
    cells = {"torch_xla": cell(tmp_path / "cell", "c" * 64, status="oom")}
    found = replay_cell.combine([process(tmp_path, 0)], cells)["programs"]["torch_xla"]
    assert (found["status"], found["native_rel_l2"]) == ("ok", None)


def test_result_keeps_to_its_schema(tmp_path):
    folder = process(tmp_path, 0)
    result = json.loads((folder / "process.json").read_text())
    (folder / "process.json").write_text(json.dumps({**result, "device": "abacus"}))
    with pytest.raises(jsonschema.ValidationError, match="abacus"):
        replay_cell.combine([folder], {})


def test_profiles_are_of_the_first_process_and_of_the_programs_that_are_ok(tmp_path):
    folders = [
        process(tmp_path, 0, refused={"torch_xla": {"status": "invalid", "detail": "no"}}),
        process(tmp_path, 1),
    ]
    path = folders[0] / "process.json"
    document = json.loads(path.read_text())
    told = {"calls": 5, "wall_s": 0.5, "operations": {"dot": {"class": "products", "seconds": 0.4}}}
    told["spans"] = [["dot", 0.0, 0.4]]
    for name in DIGESTS:
        document["events"].append({"event": "profiled", "at_s": 3.0, "program": name, **told})
    path.write_text(json.dumps(document))
    found = replay_cell.profiles(folders, replay_cell.combine(folders, {}))
    assert found == {
        **{"workload": "gemm", "device": "cpu", "compiler": "some-xla", "preset": "smoke"},
        "repetition": 0,
        "programs": {"jax": told},
    }


def on_node(folder, node: str):
    path = folder / "process.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"machine": {"node": node}}))
    return folder


def test_replay_on_another_node_than_its_cells_is_invalid(tmp_path):
    folders = [on_node(process(tmp_path, 0), "n1")]
    own = cell(tmp_path / "jax", DIGESTS["jax"])
    result = json.loads((own / "cell.json").read_text())
    for node, status in (("n1", "ok"), ("n2", "invalid")):
        result["processes"] = [{"machine": {"node": node}, "repeated": True}]
        (own / "cell.json").write_text(json.dumps(result))
        found = replay_cell.combine(folders, {"jax": own})
        assert found["status"] == status
    assert "on nodes n1, n2: times of two nodes are not compared" in found["status_detail"]
