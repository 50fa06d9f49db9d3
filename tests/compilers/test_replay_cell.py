"""Processes of a replay put together, from hand-made processes."""

import json
import math

import handmade
import jsonschema
import pytest

from stackwars.compilers import replay_cell

DIGESTS = {"jax": "a" * 64, "torch_xla": "b" * 64}
CHECK = handmade.checked(DIGESTS)
FOUND = {"optimised": {"fusions": 3}, "optimised_problem": ""}
REFUSED = {"torch_xla": {"status": "wrong", "detail": "1 of 8 elements wrong"}}
RIGHT = {"judge": "NumPy in float64", "wrong": 0, "total": 8, "l2": 1e-7, "largest": 2e-7, "where": "", "limit": 1e-5,
         "flaky": False}  # fmt: skip


def process(folder, repetition: int, status=("ok", ""), values=RIGHT, steady=(10, 12), refused=None):
    """The folder of one process of two programs; values: torch_xla's; refused: {program: {"status", "detail"}}."""
    events = [{"event": "build", "at_s": 1.0, "versions": {"jax": "0.7.1"}, "device_kind": "cpu"}]
    for name, digest in DIGESTS.items():
        events.append({"event": "read", "program": name, "sha256": digest})
        events.append({"event": "compiled", "program": name, "compile_s": 1.5, **FOUND})
    events.append({"event": "run", "at_s": 1.5, "load": [0.5, 0.5, 0.5]})
    for name in DIGESTS if status[0] == "ok" else ():
        verdict = RIGHT if name == "jax" else values
        events.append({"event": "first", "at_s": 1.5, "program": name, "ns": 100})
        events.append({"event": "values", "program": name, "verdict": verdict})
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
        "sizes": handmade.SIZES, "settings": {"seed": 1},
        "programs": {name: {} for name in DIGESTS}, "started_utc": "2025-11-20T10:00:00+00:00",
        "started_s": 1000.0, "wall_s": 5.0, "peak_rss_bytes": 100 + repetition, "exit_code": 0,
        "events": events, "machine": {}, "repeated": True,
    }  # fmt: skip
    (home / "process.json").write_text(json.dumps(result))
    return home


def cell(folder, digest: str, status="ok"):
    """A framework's own cell."""
    folder.mkdir()
    (folder / "cell.json").write_text(json.dumps({"status": status, "ir": {"sha256": digest}}))
    return folder


def combined(folders, check=CHECK, cells=None) -> dict[str, dict]:
    """What the result has of each program."""
    return replay_cell.combine(folders, cells or {}, check)["programs"]


def test_samples_stand_by_program_and_process(tmp_path):
    folders = [process(tmp_path, 0, steady=(10, 12)), process(tmp_path, 1, steady=(20, 22, 24))]
    found = replay_cell.combine(folders, {}, CHECK)
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
    found = replay_cell.combine([*folders, rest], {}, CHECK)
    assert found["status"] == "ok"
    assert [row["repetition"] for row in found["processes"]] == [0, 1]
    assert len(found["programs"]["jax"]["steady"]) == len(found["programs"]["jax"]["first_ns"]) == 2


def test_values_are_the_worst_of_all_processes_and_of_the_check(tmp_path):
    folders = [process(tmp_path, n, values={**RIGHT, "largest": error}) for n, error in enumerate((3e-6, 2e-6))]
    assert combined(folders)["torch_xla"]["values"] == {**RIGHT, "largest": 3e-6}
    check = handmade.checked(DIGESTS, torch_xla=handmade.outcome(largest=5e-6))
    assert combined(folders, check)["torch_xla"]["values"]["largest"] == 5e-6
    assert combined([process(tmp_path, 2, values=None)])["torch_xla"]["values"]["total"] == 2048


def test_values_that_nobody_judged_are_null(tmp_path):
    unjudged = handmade.checked(DIGESTS, torch_xla=handmade.outcome(**dict.fromkeys(RIGHT)))
    assert combined([process(tmp_path, 0, values=None)], unjudged)["torch_xla"]["values"] is None


@pytest.mark.parametrize("status", ["oom", "timeout", "error"])
def test_one_bad_process_leaves_no_time(tmp_path, status):
    folders = [process(tmp_path, 0), process(tmp_path, 1, status=(status, "why"))]
    found = replay_cell.combine(folders, {}, CHECK)
    assert (found["status"], found["status_detail"]) == (status, "why")
    for program in found["programs"].values():
        assert (program["status"], program["steady"]) == (status, [])


def test_program_that_is_wrong_once_is_wrong_and_flaky_and_the_other_keeps_its_times(tmp_path):
    wrong = {**RIGHT, "wrong": 1, "largest": 0.5, "where": "7 of axis 0"}
    folders = [process(tmp_path, 0), process(tmp_path, 1, values=wrong, refused=REFUSED)]
    programs = combined(folders)
    torch = programs["torch_xla"]
    assert (torch["status"], torch["steady"], torch["first_ns"]) == ("wrong", [], [])
    assert torch["status_detail"] == "1 of 8 elements wrong"
    assert (torch["values"]["wrong"], torch["values"]["flaky"], torch["struck_ns"]) == (1, True, 70)
    assert (programs["jax"]["status"], len(programs["jax"]["steady"])) == ("ok", 2)
    assert programs["jax"]["struck_ns"] is None


def test_program_whose_check_is_not_ok_has_its_status_and_no_time_but_the_struck_one(tmp_path):
    for status, struck in (("wrong", 70), ("crash", None)):
        bad = {"torch_xla": handmade.outcome(status, "96 of 128 elements wrong")}
        refused = {"torch_xla": {"status": status, "detail": "96 of 128 elements wrong"}}
        folder = process(tmp_path / status, 0, refused=refused)
        torch = combined([folder], handmade.checked(DIGESTS, **bad))["torch_xla"]
        assert (torch["status"], torch["steady"], torch["struck_ns"]) == (status, [], struck)


def test_process_below_the_floor_leaves_no_time(tmp_path):
    flops = 2 * math.prod(handmade.SIZES.values())
    calls_ms = {"steady": (4_000_000, 4_000_000)}  # ns of blocks of 4 calls: 1 ms a call
    folders = [process(tmp_path, 0, **calls_ms), process(tmp_path, 1, steady=(400, 400))]
    # The floor is half a millisecond.
    peak = {"gflop_per_s": flops / 1e6, "copy_gb_per_s": 1.0, "last_cache_bytes": 2**20}
    found = replay_cell.combine(folders, {}, CHECK, peak)
    assert found["status"] == "invalid"
    assert found["status_detail"].startswith("floor: 100% of the blocks are below 0.5 ms")
    assert {program["status"] for program in found["programs"].values()} == {"invalid"}
    assert replay_cell.combine(folders[:1], {}, CHECK, peak)["status"] == "ok"


def test_program_of_its_cell_is_ok(tmp_path):
    cells = {"torch_xla": cell(tmp_path / "cell", "b" * 64)}
    assert combined([process(tmp_path, 0)], cells=cells)["torch_xla"]["status"] == "ok"


def test_another_program_than_its_cell_ran_is_invalid(tmp_path):
    cells = {"torch_xla": cell(tmp_path / "cell", "c" * 64)}
    found = combined([process(tmp_path, 0)], cells=cells)["torch_xla"]
    detail = "the program's digest is bbbbbbbbbbbb, its cell's is cccccccccccc"
    assert (found["status"], found["status_detail"], found["steady"]) == ("invalid", detail, [])


def test_cell_that_is_not_ok_is_compared_with_nothing(tmp_path):
    cells = {"torch_xla": cell(tmp_path / "cell", "c" * 64, status="oom")}
    assert combined([process(tmp_path, 0)], cells=cells)["torch_xla"]["status"] == "ok"


def test_result_keeps_to_its_schema(tmp_path):
    folder = process(tmp_path, 0)
    result = json.loads((folder / "process.json").read_text())
    (folder / "process.json").write_text(json.dumps({**result, "device": "abacus"}))
    with pytest.raises(jsonschema.ValidationError, match="abacus"):
        replay_cell.combine([folder], {}, CHECK)


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
    found = replay_cell.profiles(folders, replay_cell.combine(folders, {}, CHECK))
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
        found = replay_cell.combine(folders, {"jax": own}, CHECK)
        assert found["status"] == status
    assert "on nodes n1, n2: times of two nodes are not compared" in found["status_detail"]
