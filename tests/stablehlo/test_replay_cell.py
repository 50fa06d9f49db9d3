"""Rounds of a replay, and a job that was killed; then one of GEMM that takes part in the rounds of a cell."""

import hashlib
import json
import math
from pathlib import Path

import handmade
import pytest

from lowerings import Lowerings
from made_tables import OLD, cell, only, outcome
from stackwars.core import documents
from stackwars.core.launch import REPOSITORY
from stackwars.measure import loops
from stackwars.measure.cell import measure as measure_cell
from stackwars.measure.stablehlo import replay_cell
from stackwars.measure.stablehlo.lower import LowerJob
from stackwars.measure.stablehlo.replay import ReplayJob
from stackwars.measure.stablehlo.replay_cell import ReplayCellJob
from stackwars.measure.supervisor import ProcessJob
from stackwars.study.config import load
from stackwars.study.programs import ReplayCell
from stackwars.study.results import rounds, schema
from stackwars.study.results.raw import Raw

PINS = REPOSITORY / "envs" / "xla-0.7.1.txt"
NATIVES = {"jax": "jax", "torch_xla": "torch"}
SETTINGS = {
    "seed": handmade.SEED, "matmul_precision": "highest", "memory_cap_gib": 4, "timeout_s": 120,
    "steady_min_blocks": 3, "steady_max_blocks": 5, "steady_seconds": 0.0, "block_calls": 1, "loop_pairs": 2,
    "side_by_side": True,
}  # fmt: skip


def asked(home: Path, programs: dict, sizes: dict = handmade.SIZES, **settings) -> ReplayJob:
    """A replay of these programs."""
    common = {"workload": "gemm", "device": "cpu", "preset": "smoke", "repetition": 0, "sizes": sizes}
    own = {"compiler": OLD, "module": "xla", "options": {}, "baseline": "jax", "programs": programs}
    own |= {"check": handmade.write_check(home / "check.json", programs), "expected": ""}
    return ReplayJob(**common, **own, settings={**SETTINGS, **settings})


@pytest.fixture
def job(tmp_path):
    texts = {"jax": handmade.JAX, "torch_xla": handmade.TORCH}
    return asked(tmp_path, {name: handmade.write(tmp_path, name, text) for name, text in texts.items()})


@pytest.fixture
def started(monkeypatch):
    """The participants of every round that is run; each ends well, or as a test says."""
    result: list[list[str]] = []

    def run_round(participants, settings, rng, expected_bytes):
        result.append([one.name for one in participants])
        started.seeds.append(rng.random())
        if len(result) == started.killed_in:
            raise KeyboardInterrupt
        base = {"workload": "gemm", "device": "cpu", "compiler": OLD, "basis": "interleaved", "machine": {}}
        base |= {"status_detail": "", "wall_s": 1.0, "peak_rss_bytes": 1, "events": []}
        return {
            one.name: {**base, "status": started.ends.get(one.name, "ok"), "repetition": one.job.repetition}
            for one in participants
        }

    def started():
        return result

    started.ends, started.seeds, started.killed_in = {}, [], 0
    monkeypatch.setattr(replay_cell, "run_round", run_round)
    monkeypatch.setattr(replay_cell, "python_of", lambda job, pins: (Path("python"), None))
    monkeypatch.setattr(replay_cell.progress, "report", lambda record: None)
    return started


def test_a_replay_of_its_own_has_no_other_process_in_its_rounds_until_one_is_not_ok(job, started, tmp_path):
    records, _ = replay_cell.measure(job, 3, PINS, tmp_path / "replay")
    assert started() == [["replay"]] * 3
    assert [one["replay"]["repetition"] for one in records] == [0, 1, 2]
    assert len(set(started.seeds)) == 3
    started.ends["replay"] = "timeout"
    records, _ = replay_cell.measure(job, 3, PINS, tmp_path / "bad")
    assert len(records) == 1 and len(started()) == 3 + 1


def test_a_killed_job_goes_on_after_its_finished_rounds_and_takes_over_none_of_other_programs(
    job, started, tmp_path
):
    started.killed_in = 2
    with pytest.raises(KeyboardInterrupt):
        replay_cell.measure(job, 3, PINS, tmp_path / "replay")
    records, done = replay_cell.measure(job, 3, PINS, tmp_path / "replay")
    assert len(started()) == 2 + 2 and len(records) == 3
    # The round that was killed is drawn as it was.
    assert started.seeds[1] == started.seeds[2] != started.seeds[3]
    assert done.seed == json.loads((tmp_path / "replay" / "rounds" / "job.json").read_text())["seed"]
    (REPOSITORY / job.programs["jax"]["program"]).write_bytes(b"another")
    replay_cell.measure(job, 3, PINS, tmp_path / "replay")
    assert len(started()) == 4 + 3


SIZES = {"m": 384, "k": 384, "n": 384}
"""A call of some milliseconds, of which dispatching is little."""


@pytest.mark.env
def test_native_calls_and_replays_of_both_programs_alternate_and_agree(tmp_path):
    with Lowerings() as lowerings:
        programs = {
            name: lowerings(
                LowerJob(name, dialect, "gemm", "base", SIZES, handmade.SEED, "highest"),
                tmp_path / "programs" / name,
            )
            for name, dialect in NATIVES.items()
        }
    replay = asked(tmp_path, programs, SIZES)
    partner = {"framework": "jax", "dialect": "jax", "writes_files": True}
    job = ProcessJob("torch_xla", "torch", "gemm", "cpu", "smoke", 0, SIZES, replay.settings, partner)
    pins = [REPOSITORY / "envs" / f"{name}.txt" for name in ("torch_xla", "jax")]
    subject = measure_cell(job, 1, *pins, tmp_path / "cell", tmp_path / "beside", replay, PINS)
    assert subject["status"] == "ok"
    records = {"torch_xla": subject, "jax": documents.read(tmp_path / "beside" / "baseline" / "cell.json")}
    rounds_ = documents.read(tmp_path / "beside" / "rounds.json")
    (tmp_path / "replay").mkdir(exist_ok=True)
    replay_cell.write(ReplayCellJob(replay, {}), rounds_["rounds"], rounds_["seed"], None, tmp_path / "replay")
    found = documents.read(tmp_path / "replay" / "replay.json")
    assert sorted(path.name for path in (tmp_path / "replay").iterdir()) == ["profile.json", "replay.json"]
    assert found["status"] == "ok" and found["run_seed"] == records["jax"]["run_seed"]
    everybody = {"subject", "partner", "replay jax", "replay torch_xla"}
    orders = [process["order"]["loop"] for process in found["processes"]]
    assert [set(order) for order in orders] == [everybody]
    for name in NATIVES:
        assert [process["status"] for process in found["natives"][name]] == ["ok"]
        assert [len(one) for one in found["programs"][name]["loops"]] == [2]
        # The controls of the replay are the processes of the cells, which have every step of a cell.
        processes = records[name]["processes"]
        assert [loops.loops_of(one) for one in processes] == [
            loops.loops_of(one) for one in found["natives"][name]
        ]
        assert {"first", "second", "steady", "dispatch"} <= {event["event"] for event in processes[0]["events"]}
        assert records[name]["ir"]["same_in_every_process"]
    place = ReplayCell("cpu", OLD, "gemm")
    cells = [cell(name, baseline="") for name in NATIVES]  # their own rounds are not in this folder
    config = load().changed(comparisons=load().comparisons[:1])
    table = rounds.build(config, Raw(replays={place: found}), schema.table("cells", cells))
    for name in NATIVES:
        control = table[(table["quantity"] == "control") & (table["subject"] == name)]
        assert list(control["basis"]) == ["interleaved"] and (control["ratio"] > 0).all()
        # The machine of a test is busy, so its best loops tell that a native call and the replay do the same.
        native = [loops.loop_ms(one) for process in found["natives"][name] for one in loops.loops_of(process)]
        replayed = [loops.loop_ms(one) for rounds_ in found["programs"][name]["loops"] for one in rounds_]
        assert 0.5 < min(native) / min(replayed) < 2.0
    parts = [only(table, quantity=q, round=0)["ratio"] for q in ("native", "replay", "everything else")]
    assert parts[0] == pytest.approx(parts[1] * parts[2])
    profiles = documents.read(tmp_path / "replay" / "profile.json")["programs"]
    assert set(profiles) == set(NATIVES)


DIGESTS = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("jax", "torch_xla")}
CHECK = handmade.checked(DIGESTS)
FOUND = {"optimised": {"fusions": 3}}
REFUSED = {"torch_xla": {"status": "wrong", "detail": "1 of 8 elements wrong"}}
RIGHT = {"judge": "NumPy in float64", "wrong": 0, "total": 8, "l2": 1e-7, "largest": 2e-7, "where": "", "limit": 1e-5,
         "flaky": False}  # fmt: skip


SERIES = {"run_ns": [0, 0], "wait_ns": [0, 0], "steal_ns": [0, 0], "minor_faults": 3, "major_faults": 0,
          "seconds": 0.0, "other_processes_share": 0.0}  # fmt: skip
LOOP = {"event": "loop", "at_s": 3.0, "began_s": 3.0, "calls": 4, "dropped": 1, "run_ns": 9, "wait_ns": 0,
        "steal_ns": 0, "minor_faults": 2, "major_faults": 0}  # fmt: skip


def process(repetition: int, status=("ok", ""), values=RIGHT, steady=(10, 12), refused=None):
    """The record of one process of two programs; values: torch_xla's; refused: {program: {"status", "detail"}}."""
    events = [{"event": "build", "at_s": 1.0, "versions": {"jax": "0.7.1"}, "device_kind": "cpu"}]
    for name, digest in DIGESTS.items():
        events.append({"event": "read", "program": name, "sha256": digest})
        events.append({"event": "compiled", "program": name, "compile_s": 1.5, **FOUND})
    events.append({"event": "run", "at_s": 1.5})
    for name in DIGESTS if status[0] == "ok" else ():
        verdict = RIGHT if name == "jax" else values
        events.append({"event": "first", "at_s": 1.5, "program": name, "ns": 100})
        events.append({"event": "values", "program": name, "verdict": verdict})
        if name in (refused or {}):
            events.append({"event": "refused", "program": name, **refused[name]})
            continue
        events.append({"event": "second", "program": name, "ns": 50})
        events.append(
            {"event": "steady", "at_s": 2.0, "program": name, "calls": 4, "ns": list(steady), **SERIES}
        )
        events += [
            {**LOOP, "program": name, "ns": [ns, ns], "at_s": LOOP["began_s"] + 2e-9 * ns} for ns in steady
        ]
    return {
        "status": status[0], "status_detail": status[1], "workload": "gemm", "device": "cpu",
        "preset": "smoke", "compiler": "some-xla", "module": "xla", "options": {}, "baseline": "jax",
        "repetition": repetition,
        "sizes": handmade.SIZES, "settings": {"seed": 1},
        "programs": {name: {} for name in DIGESTS}, "started_utc": "2025-11-20T10:00:00+00:00",
        "started_s": 1000.0, "wall_s": 5.0, "peak_rss_bytes": 100 + repetition,
        "events": events, "machine": {}, "repeated": True, "basis": "interleaved", "order": {"loop": ["replay jax"]},
    }  # fmt: skip


def native(repetition: int, status=("ok", ""), **changes) -> dict:
    """The record of the native process of a framework."""
    events = [{"event": "import"}, {"event": "first", "ns": 70}, {"event": "second", "ns": 60}]
    events += [{"event": "steady", "ns": [50, 50], "calls": 4}, {**LOOP, "ns": [99, 48]}, {"event": "end"}]
    return {
        "status": status[0], "status_detail": status[1], "repetition": repetition, "basis": "interleaved",
        "started_s": 1000.0, "wall_s": 5.0, "peak_rss_bytes": 90, "environment": "jax-0123", "machine": {},
        "framework": "jax", "log_tail": "", "events": events, **changes,
    }  # fmt: skip


def whole(processes, check=CHECK, cells=None, peak=None, natives=None) -> dict:
    """The result of these processes, with the native ones of their rounds."""
    rounds = [{"replay": process} for process in processes]
    for name, records in (natives or {}).items():
        for number, record in enumerate(records):
            rounds[number][name] = record
    return replay_cell.combine(rounds, cells or {}, check, peak, 7)


def combined(processes, check=CHECK, cells=None) -> dict[str, dict]:
    """What the result has of each program."""
    return whole(processes, check, cells)["programs"]


def test_samples_stand_by_program_and_round():
    found = whole([process(0, steady=(10, 12)), process(1, steady=(20, 22))])
    assert (found["status"], found["peak_rss_bytes"], found["run_seed"]) == ("ok", 101, 7)
    assert found["programs"]["jax"]["optimised"] == {"fusions": 3}
    torch = found["programs"]["torch_xla"]
    assert [blocks["ns"] for blocks in torch["steady"]] == [[10, 12], [20, 22]]
    assert torch["steady"][1] == {"ns": [20, 22], "calls": 4, **SERIES}
    assert [[loop["ns"] for loop in loops] for loops in torch["loops"]] == [
        [[10, 10], [12, 12]],
        [[20, 20], [22, 22]],
    ]
    assert (torch["first_ns"], torch["second_ns"]) == ([100, 100], [50, 50])
    assert (torch["program_sha256"], torch["compile_s"]) == (DIGESTS["torch_xla"], [1.5, 1.5])
    assert [row["repetition"] for row in found["processes"]] == [0, 1]
    assert "events" not in found["processes"][0]
    assert found["processes"][0]["versions"] == {"jax": "0.7.1"}
    assert found["processes"][0]["order"] == {"loop": ["replay jax"]}


def test_native_processes_have_their_timed_events_round_by_round():
    found = whole([process(0), process(1)], natives={"jax": [native(0), native(1, wall_s=6.0)]})["natives"]
    assert list(found) == ["jax"] and [one["wall_s"] for one in found["jax"]] == [5.0, 6.0]
    assert [event["event"] for event in found["jax"][0]["events"]] == ["first", "second", "loop"]
    assert "log_tail" not in found["jax"][0]


def test_a_native_process_that_is_not_ok_has_no_times_and_costs_the_programs_nothing():
    for status in ("error", "not run"):
        record = native(0, (status, "why"))
        found = whole([process(0)], natives={"jax": [record], "torch_xla": [native(0)]})
        [one] = found["natives"]["jax"]
        assert (one["status"], one["status_detail"], one["events"]) == (status, "why", [])
        assert found["status"] == found["programs"]["jax"]["status"] == "ok"
        assert found["natives"]["torch_xla"][0]["events"]


def test_values_are_the_worst_of_all_processes_and_of_the_check_and_null_if_nobody_judged():
    processes = [process(n, values={**RIGHT, "largest": error}) for n, error in enumerate((3e-6, 2e-6))]
    assert combined(processes)["torch_xla"]["values"] == {**RIGHT, "largest": 3e-6}
    for values, outcome_, expected in (
        (RIGHT, outcome(largest=5e-6), {"largest": 5e-6}),
        (None, outcome(), {"total": 128}),
        (None, outcome("not judged"), None),
    ):
        check = handmade.checked(DIGESTS, torch_xla=outcome_)
        found = combined([process(0, values=values)], check)["torch_xla"]["values"]
        assert (found and found | expected) == found and (found is None) == (expected is None)


@pytest.mark.parametrize("status", ["oom", "timeout", "error"])
def test_one_bad_process_leaves_no_time(status):
    processes = [process(0), process(1, status=(status, "why"))]
    found = whole(processes)
    assert (found["status"], found["status_detail"]) == (status, "why")
    for program in found["programs"].values():
        assert (program["status"], program["steady"], program["loops"]) == (status, [], [])


def test_program_that_is_wrong_once_is_wrong_and_flaky_and_the_other_keeps_its_times():
    wrong = {**RIGHT, "wrong": 1, "largest": 0.5, "where": "7 of axis 0"}
    processes = [process(0), process(1, values=wrong, refused=REFUSED)]
    programs = combined(processes)
    torch = programs["torch_xla"]
    assert (torch["status"], torch["steady"], torch["first_ns"]) == ("wrong", [], [])
    assert torch["status_detail"] == "1 of 8 elements wrong"
    assert (torch["values"]["wrong"], torch["values"]["flaky"], torch["struck_ns"]) == (1, True, 70)
    assert (programs["jax"]["status"], len(programs["jax"]["steady"])) == ("ok", 2)
    assert programs["jax"]["struck_ns"] is None


@pytest.mark.parametrize(("status", "struck"), [("wrong", 70), ("crash", None)])
def test_program_whose_check_is_not_ok_has_its_status_and_no_time_but_the_struck_one(status, struck):
    refused = {"torch_xla": {"status": status, "detail": "all wrong"}}
    check = handmade.checked(DIGESTS, torch_xla=outcome(status, "all wrong"))
    torch = combined([process(0, refused=refused)], check)["torch_xla"]
    assert (torch["status"], torch["steady"], torch["struck_ns"]) == (status, [], struck)


def test_process_below_the_floor_leaves_no_time():
    flops = 2 * math.prod(handmade.SIZES.values())
    calls_ms = {"steady": (4_000_000, 4_000_000)}  # ns of blocks of 4 calls: 1 ms a call
    processes = [process(0, **calls_ms), process(1, steady=(400, 400))]
    # The floor is half a millisecond.
    peak = {"gflop_per_s": flops / 1e6, "copy_gb_per_s": 1.0, "last_cache_bytes": 2**20}
    found = whole(processes, peak=peak)
    assert found["status"] == "invalid"
    assert found["status_detail"].startswith("floor: 100% of the blocks are below 0.5 ms")
    assert {program["status"] for program in found["programs"].values()} == {"invalid"}
    assert whole(processes[:1], peak=peak)["status"] == "ok"
    for event in processes[1]["events"]:
        if event["event"] == "steady":
            event["ns"] = [4_000_000] * 2
    assert whole(processes, peak=peak)["status_detail"].startswith("floor: ")


@pytest.mark.parametrize(
    ("digest_of", "cell_status", "status"),
    [("torch_xla", "ok", "ok"), ("jax", "ok", "invalid"), ("jax", "oom", "ok")],
)
def test_another_program_than_its_cell_ran_is_invalid_unless_the_cell_failed(
    tmp_path, digest_of, cell_status, status
):
    cells = {"torch_xla": handmade.write_cell(tmp_path / "cell", digest_of, cell_status)}
    found = combined([process(0)], cells=cells)["torch_xla"]
    assert (found["status"], bool(found["steady"])) == (status, status == "ok")
    assert all(f"{DIGESTS[name]:.12}" in found["status_detail"] for name in DIGESTS) == (status == "invalid")


def test_result_keeps_to_its_schema():
    with pytest.raises(ValueError, match=r"replay: .*abacus.*; fix: workflow/schemas/replay.schema.yaml"):
        whole([{**process(0), "device": "abacus"}])


def test_profiles_are_of_the_first_process_and_of_the_programs_that_are_ok():
    processes = [process(0, refused={"torch_xla": {"status": "invalid", "detail": "no"}}), process(1)]
    told = {"calls": 5, "wall_s": 0.5, "operations": {"dot": {"class": "products", "seconds": 0.4}}}
    told["spans"] = [["dot", 0.0, 0.4]]
    for name in DIGESTS:
        processes[0]["events"].append({"event": "profiled", "at_s": 3.0, "program": name, **told})
    found = replay_cell.profiles([{"replay": one} for one in processes], whole(processes))
    assert found == {
        **{"workload": "gemm", "device": "cpu", "compiler": "some-xla", "preset": "smoke"},
        "repetition": 0,
        "programs": {"jax": told},
    }
