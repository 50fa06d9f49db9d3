"""Rounds of a replay: their native processes, memory, and a job that was killed; then a whole one of GEMM."""

import json
from dataclasses import replace
from pathlib import Path

import handmade
import pytest

from made_tables import OLD, cell, only
from running import python
from stackwars import workloads
from stackwars.compilers import replay_cell
from stackwars.compilers.lower import LowerJob
from stackwars.compilers.replay import ReplayJob
from stackwars.compilers.replay_cell import ReplayCellJob
from stackwars.measure import documents, limits, loops
from stackwars.results import rounds, schema
from stackwars.results.raw import Raw
from stackwars.setup.environments import REPOSITORY
from stackwars.study.programs import ReplayCell

PINS = REPOSITORY / "envs" / "xla-0.7.1.txt"
NATIVES = {"jax": "jax", "torch_xla": "torch"}
SETTINGS = {
    "seed": handmade.SEED, "matmul_precision": "highest", "memory_cap_gib": 4, "timeout_s": 120, "rounds": 3,
    "steady_min_blocks": 3, "steady_max_blocks": 5, "steady_seconds": 0.0, "block_calls": 1, "loop_pairs": 2,
    "side_by_side": True,
}  # fmt: skip


def asked(home: Path, programs: dict, sizes: dict = handmade.SIZES, **settings) -> ReplayCellJob:
    """A replay of these programs with a native process of each framework."""
    common = {"workload": "gemm", "device": "cpu", "preset": "smoke", "repetition": 0, "sizes": sizes}
    common["settings"] = {**SETTINGS, **settings}
    own = {"compiler": OLD, "module": "xla", "options": {}, "baseline": "jax", "programs": programs}
    own |= {"check": handmade.write_check(home / "check.json", programs), "expected": ""}
    natives = {
        name: {
            "job": {**common, "framework": name, "dialect": NATIVES[name], "writes_files": False},
            "pins": str(REPOSITORY / "envs" / f"{name}.txt"),
        }
        for name in programs
    }
    return ReplayCellJob({**common, **own}, natives, {})


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
        ends = started.ends | {"basis": "interleaved"}
        machine = {"machine": {}, "wall_s": 1.0, "peak_rss_bytes": 1, "events": []}
        return {
            one.name: {
                "status": ends.get(one.name, "ok"),
                "status_detail": "",
                **machine,
                "basis": "interleaved",
            }
            | {"repetition": one.job.repetition, "workload": "gemm", "device": "cpu", "compiler": OLD}
            for one in participants
        }

    def started():
        return result

    started.ends, started.seeds, started.killed_in = {}, [], 0
    monkeypatch.setattr(replay_cell, "run_round", run_round)
    monkeypatch.setattr(replay_cell, "python_of", lambda job, pins: (Path("python"), None))
    monkeypatch.setattr(replay_cell.progress, "report", lambda record: None)
    return started


def test_native_processes_take_part_in_every_round(job, started, tmp_path):
    records, _ = replay_cell.measure(job, PINS, tmp_path / "replay")
    assert started() == [["replay", "jax", "torch_xla"]] * 3
    assert [set(one) for one in records] == [{"replay", "jax", "torch_xla"}] * 3
    assert [one["jax"]["repetition"] for one in records] == [0, 1, 2]
    assert len(set(started.seeds)) == 3


def test_native_processes_are_left_out_if_the_memory_is_too_small_for_all(job, started, tmp_path, monkeypatch):
    needed = replay_cell.expected_bytes(ReplayJob(**job.replay), natives=2)
    monkeypatch.setattr(limits, "available_memory_bytes", lambda: needed - 1)
    records, _ = replay_cell.measure(job, PINS, tmp_path / "replay")
    assert started() == [["replay"]] * 3
    for record in records:
        assert record["replay"]["status"] == "ok" and record["jax"]["status"] == "not run"
        assert "may need 3.0 GiB together, 3.0 GiB are free" in record["jax"]["status_detail"]


def test_each_process_may_need_its_weights_three_times_and_a_replay_once_more_for_each_further_program():
    sizes = {"batch": 4, "sequence": 8, "features": 32, "hidden": 64}
    own = ReplayJob(**{**dict.fromkeys(ReplayJob.__dataclass_fields__), "workload": "ffn", "sizes": sizes})
    own = replace(own, programs={"jax": {}, "torch_xla": {}})
    weights = 4 * workloads.load("ffn").parameter_count(sizes)
    assert weights >= 4 * 2 * 32 * 64
    assert replay_cell.expected_bytes(own, natives=0) == 2**30 + 4 * weights
    assert replay_cell.expected_bytes(own, natives=2) == 3 * 2**30 + (4 + 6) * weights


def test_a_native_process_that_ran_out_of_memory_is_not_started_again_and_one_that_failed_is(
    job, started, tmp_path, monkeypatch
):
    told = []
    monkeypatch.setattr(replay_cell.progress, "report", lambda record: told.append(record["status"]))
    started.ends |= {"jax": "oom", "torch_xla": "error"}
    records, _ = replay_cell.measure(job, PINS, tmp_path / "replay")
    assert started() == [["replay", "jax", "torch_xla"], *[["replay", "torch_xla"]] * 2]
    assert [(one["jax"]["status"], one["jax"]["repetition"]) for one in records] == [
        ("oom", n) for n in range(3)
    ]
    assert told == ["ok", "oom", "error", "ok", "error", "ok", "error"]


def test_a_round_whose_replay_is_not_ok_is_the_last(job, started, tmp_path):
    started.ends |= {"replay": "timeout"}
    records, _ = replay_cell.measure(job, PINS, tmp_path / "replay")
    assert len(records) == len(started()) == 1


def test_a_killed_job_goes_on_after_the_rounds_that_it_had_finished(job, started, tmp_path):
    started.killed_in = 2
    with pytest.raises(KeyboardInterrupt):
        replay_cell.measure(job, PINS, tmp_path / "replay")
    records, done = replay_cell.measure(job, PINS, tmp_path / "replay")
    assert len(started()) == 2 + 2 and len(records) == 3
    # The round that was killed is drawn as it was.
    assert started.seeds[1] == started.seeds[2] != started.seeds[3]
    assert done.seed == json.loads((tmp_path / "replay" / "rounds" / "job.json").read_text())["seed"]


def test_rounds_of_other_programs_are_not_taken_over(job, started, tmp_path):
    replay_cell.measure(job, PINS, tmp_path / "replay")
    (REPOSITORY / job.replay["programs"]["jax"]["program"]).write_bytes(b"another")
    replay_cell.measure(job, PINS, tmp_path / "replay")
    assert len(started()) == 6


SIZES = {"m": 384, "k": 384, "n": 384}
"""A call of some milliseconds, of which dispatching is little."""


def lowered(home: Path, framework: str) -> dict[str, str]:
    """The program of a framework, and its arguments."""
    home.mkdir(parents=True)
    own = LowerJob(framework, NATIVES[framework], "gemm", "base", SIZES, handmade.SEED, "highest")
    (home / "job.json").write_text(json.dumps(own.__dict__))
    command = ["-m", "stackwars.compilers.lower", "--job", home / "job.json", "--output", home]
    python(*command, pins=f"envs/{framework}.txt", cwd=REPOSITORY)
    return {"program": str(home / "program.mlir.gz"), "arguments": str(home / "arguments.json")}


@pytest.mark.env
def test_native_calls_and_replays_of_both_programs_alternate_and_agree(tmp_path):
    programs = {name: lowered(tmp_path / "programs" / name, name) for name in NATIVES}
    job = asked(tmp_path, programs, SIZES, rounds=2, loop_pairs=4)
    output = tmp_path / "replay"
    output.mkdir()
    records, done = replay_cell.measure(job, PINS, output)
    replay_cell.write(job, records, done, None, output)
    assert sorted(path.name for path in output.iterdir()) == ["profile.json", "replay.json"]
    found = documents.read(output / "replay.json")
    assert found["status"] == "ok" and found["run_seed"] == done.seed
    everybody = {"jax", "torch_xla", "replay jax", "replay torch_xla"}
    orders = [process["order"]["loop"] for process in found["processes"]]
    assert [set(order) for order in orders] == [everybody] * 2
    for name in NATIVES:
        assert [process["status"] for process in found["natives"][name]] == ["ok"] * 2
        assert [len(one) for one in found["programs"][name]["loops"]] == [4, 4]
    place = ReplayCell("cpu", OLD, "gemm")
    cells = [cell(name, baseline="") for name in NATIVES]  # their own rounds are not in this folder
    config = {
        "comparisons": [{"subject": "torch_xla", "baseline": "jax", "compare": ["cells", "programs"]}],
        "studies": {},
    }
    table = rounds.build(config, Raw(replays={place: found}), schema.table("cells", cells))
    for name in NATIVES:
        control = table[(table["quantity"] == "control") & (table["subject"] == name)]
        assert list(control["basis"]) == ["interleaved"] * 2 and (control["ratio"] > 0).all()
        # The machine of a test is busy, so its best loops tell that a native call and the replay do the same.
        native = [loops.loop_ms(one) for process in found["natives"][name] for one in loops.loops_of(process)]
        replayed = [loops.loop_ms(one) for rounds_ in found["programs"][name]["loops"] for one in rounds_]
        assert 0.5 < min(native) / min(replayed) < 2.0
    for number in (0, 1):
        parts = [
            only(table, quantity=q, round=number)["ratio"] for q in ("native", "replay", "everything else")
        ]
        assert parts[0] == pytest.approx(parts[1] * parts[2])
    profiles = documents.read(output / "profile.json")["programs"]
    assert set(profiles) == set(NATIVES)


@pytest.mark.env
def test_a_program_that_is_refused_leaves_the_others_and_the_native_processes(tmp_path):
    programs = {name: lowered(tmp_path / "programs" / name, name) for name in NATIVES}
    listed = json.loads(Path(programs["torch_xla"]["arguments"]).read_text())
    Path(programs["torch_xla"]["arguments"]).write_text(json.dumps({**listed, "program_sha256": "0" * 64}))
    job = asked(tmp_path, programs, SIZES, rounds=1)
    records, done = replay_cell.measure(job, PINS, tmp_path / "replay")
    replay_cell.write(job, records, done, None, tmp_path / "replay")
    found = documents.read(tmp_path / "replay" / "replay.json")
    assert {name: one["status"] for name, one in found["programs"].items()} == {
        "jax": "ok",
        "torch_xla": "invalid",
    }
    assert "its list of arguments is for 0000" in found["programs"]["torch_xla"]["status_detail"]
    assert found["programs"]["jax"]["loops"][0] and not found["programs"]["torch_xla"]["loops"]
    assert found["natives"]["torch_xla"][0]["status"] == "ok"
