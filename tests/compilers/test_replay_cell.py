"""Rounds of a replay, and a job that was killed; then one of GEMM that takes part in the rounds of a cell."""

import json
from dataclasses import asdict
from pathlib import Path

import handmade
import pytest

from made_tables import OLD, cell, only
from running import lower_program
from stackwars.compilers import replay_cell
from stackwars.compilers.lower import LowerJob
from stackwars.compilers.replay import ReplayJob
from stackwars.compilers.replay_cell import ReplayCellJob
from stackwars.core import documents
from stackwars.core.launch import REPOSITORY
from stackwars.measure import loops
from stackwars.measure.cell import measure as measure_cell
from stackwars.measure.supervisor import ProcessJob
from stackwars.results import rounds, schema
from stackwars.results.raw import Raw
from stackwars.setup.environments import ensure
from stackwars.study.programs import ReplayCell

PINS = REPOSITORY / "envs" / "xla-0.7.1.txt"
NATIVES = {"jax": "jax", "torch_xla": "torch"}
SETTINGS = {
    "seed": handmade.SEED, "matmul_precision": "highest", "memory_cap_gib": 4, "timeout_s": 120, "rounds": 3,
    "steady_min_blocks": 3, "steady_max_blocks": 5, "steady_seconds": 0.0, "block_calls": 1, "loop_pairs": 2,
    "side_by_side": True,
}  # fmt: skip


def asked(home: Path, programs: dict, sizes: dict = handmade.SIZES, **settings) -> ReplayJob:
    """A replay of these programs."""
    common = {"workload": "gemm", "device": "cpu", "preset": "smoke", "repetition": 0, "sizes": sizes}
    own = {"compiler": OLD, "module": "xla", "options": {}, "baseline": "jax", "programs": programs}
    own |= {"check": handmade.write_check(home / "check.json", programs), "expected": ""}
    return ReplayJob(**common, **own, settings={**SETTINGS, **settings})


def written(records: list[dict], job: ReplayJob, seed: int, output: Path) -> dict:
    """The result that is made of these rounds."""
    output.mkdir(parents=True, exist_ok=True)
    replay_cell.write(ReplayCellJob(asdict(job), {}), records, seed, None, output)
    return documents.read(output / "replay.json")


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


def test_a_replay_of_its_own_has_no_other_process_in_its_rounds(job, started, tmp_path):
    records, _ = replay_cell.measure(job, PINS, tmp_path / "replay")
    assert started() == [["replay"]] * 3
    assert [one["replay"]["repetition"] for one in records] == [0, 1, 2]
    assert len(set(started.seeds)) == 3


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
    (REPOSITORY / job.programs["jax"]["program"]).write_bytes(b"another")
    replay_cell.measure(job, PINS, tmp_path / "replay")
    assert len(started()) == 6


SIZES = {"m": 384, "k": 384, "n": 384}
"""A call of some milliseconds, of which dispatching is little."""


def lowered(home: Path, framework: str) -> dict[str, str]:
    """The program of a framework, and its arguments."""
    own = LowerJob(framework, NATIVES[framework], "gemm", "base", SIZES, handmade.SEED, "highest")
    return lower_program(ensure(REPOSITORY / "envs" / f"{framework}.txt"), asdict(own), home)


def measured_beside(tmp_path, programs: dict, **settings) -> dict:
    """What the rounds of torch_xla's cell give beside it, with a replay of these programs."""
    replay = asked(tmp_path, programs, SIZES, **settings)
    partner = {"framework": "jax", "dialect": "jax", "writes_files": True}
    job = ProcessJob("torch_xla", "torch", "gemm", "cpu", "smoke", 0, SIZES, replay.settings, partner)
    pins = [REPOSITORY / "envs" / f"{name}.txt" for name in ("torch_xla", "jax")]
    beside = tmp_path / "beside"
    found = measure_cell(job, *pins, tmp_path / "cell", beside, replay, PINS)
    assert found["status"] == "ok"
    rounds_ = documents.read(beside / "rounds.json")
    return {
        "torch_xla": found,
        "jax": documents.read(beside / "baseline" / "cell.json"),
        "replay": written(rounds_["rounds"], replay, rounds_["seed"], tmp_path / "replay"),
    }


@pytest.mark.env
def test_native_calls_and_replays_of_both_programs_alternate_and_agree(tmp_path):
    programs = {name: lowered(tmp_path / "programs" / name, name) for name in NATIVES}
    beside = measured_beside(tmp_path, programs, rounds=2, loop_pairs=4)
    found = beside["replay"]
    assert sorted(path.name for path in (tmp_path / "replay").iterdir()) == ["profile.json", "replay.json"]
    assert found["status"] == "ok" and found["run_seed"] == beside["jax"]["run_seed"]
    everybody = {"subject", "partner", "replay jax", "replay torch_xla"}
    orders = [process["order"]["loop"] for process in found["processes"]]
    assert [set(order) for order in orders] == [everybody] * 2
    for name in NATIVES:
        assert [process["status"] for process in found["natives"][name]] == ["ok"] * 2
        assert [len(one) for one in found["programs"][name]["loops"]] == [4, 4]
        # The controls of the replay are the processes of the cells, which have every step of a cell.
        own = beside[name]["processes"]
        assert [loops.loops_of(one) for one in own] == [loops.loops_of(one) for one in found["natives"][name]]
        assert {"first", "second", "steady", "dispatch"} <= {event["event"] for event in own[0]["events"]}
        assert beside[name]["ir"]["same_in_every_process"]
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
    profiles = documents.read(tmp_path / "replay" / "profile.json")["programs"]
    assert set(profiles) == set(NATIVES)
