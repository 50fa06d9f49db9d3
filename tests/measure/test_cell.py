"""A cell measures itself: its rounds, its partner, what ends it, and the result that it writes."""

import gzip
import json
import shutil
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from measured import PROGRAM, process, process_folder, with_partner, write_cell
from report_fixture import HOSTILE
from running import wait_for
from stackwars.core.limits import alive
from stackwars.measure import cell as cell_module
from stackwars.measure import loops
from stackwars.measure.cell import combine, write
from stackwars.measure.conduct import IN_TURN, INTERLEAVED
from stackwars.measure.stablehlo.replay import ReplayJob
from stackwars.measure.supervisor import ProcessJob
from stackwars.study.cells import Cell
from toy_checkout import SETTINGS


def combined(tmp_path, *processes: dict) -> dict:
    folders = [process_folder(tmp_path / str(n), result) for n, result in enumerate(processes)]
    return combine(list(processes), folders, 7)


OOM = ("oom", "refused at build: no memory")
WRONG = {"judge": "it", "wrong": 1, "total": 8, "where": "", "flaky": False}
WRONG |= dict.fromkeys(("l2", "largest", "limit"), 0.5)


def test_a_cell_has_its_processes_its_program_and_its_output(tmp_path):
    output = np.arange(4, dtype=np.float32)
    folder = write_cell(tmp_path, [process(), process(repetition=1)], output)
    cell = json.loads((folder / "cell.json").read_text())
    assert (cell["status"], cell["status_detail"]) == ("ok", "")
    assert [p["repetition"] for p in cell["processes"]] == [0, 1]
    assert cell["versions"]["jax"] == "0.7.1"
    assert (cell["wall_s"], cell["peak_rss_bytes"], cell["run_seed"]) == (20.0, 2**28 + 1, 7)
    ir = cell["ir"]
    assert (ir["precision"], ir["dtype"], ir["same_in_every_process"]) == ("HIGHEST", "f32", True)
    assert gzip.decompress((folder / "stablehlo.mlir.gz").read_bytes()).decode() == PROGRAM
    assert np.array_equal(np.load(folder / "output.npy"), output)
    assert not list((folder / "forms").iterdir())


def test_programs_that_differ_are_noted_and_forms_are_those_of_the_first_process(tmp_path):
    processes = [process(repetition=n) for n in (0, 1)]
    folders = [process_folder(tmp_path / str(n), one) for n, one in enumerate(processes)]
    other = PROGRAM.replace("HIGHEST", "DEFAULT").encode()
    (folders[1] / "stablehlo.mlir.gz").write_bytes(gzip.compress(other))
    (folders[0] / "forms").mkdir()
    (folders[0] / "forms" / "jaxpr.txt.gz").write_bytes(gzip.compress(b"{ lambda }"))
    assert write(tmp_path / "cell", processes, folders, 7)["ir"]["same_in_every_process"] is False
    assert gzip.decompress((tmp_path / "cell" / "forms" / "jaxpr.txt.gz").read_bytes()) == b"{ lambda }"


def test_first_bad_process_gives_the_status(tmp_path):
    bad = process(repetition=1, status=OOM)
    worse = process(repetition=2, status=("error", "ended by SIGKILL"))
    cell = combined(tmp_path, process(values=WRONG), bad, worse)
    assert (cell["status"], cell["status_detail"]) == OOM
    assert cell["ir"] is cell["output_sha256"] is cell["values"] is None
    # The samples of the good process are still there.
    assert any(event["event"] == "steady" for event in cell["processes"][0]["events"])


def test_schema_knows_every_field_of_a_process_and_an_event(tmp_path):
    unknown = process(speed=1.0)
    with pytest.raises(ValueError, match="speed"):
        combined(tmp_path / "process", unknown)
    unknown = process()
    unknown["events"][5]["warmth"] = 1.0
    with pytest.raises(
        ValueError, match=r"cell: processes\[0\].*warmth.*; fix: workflow/schemas/cell.schema.yaml$"
    ):
        combined(tmp_path / "event", unknown)
    unknown = with_partner(process(), process(Cell("torch_xla", "gemm", "cpu")))
    assert combined(tmp_path / "partner", unknown)["status"] == "ok"
    unknown["partner"]["events"][5]["warmth"] = 1.0
    with pytest.raises(ValueError):
        combined(tmp_path / "event of a partner", unknown)


def test_bad_cell_says_that_there_is_no_program(tmp_path):
    cell = Cell("torch_xla", "gemm", "cpu")
    folder = write_cell(tmp_path, [process(cell, status=("error", "first line\nsecond line"))])
    program = gzip.decompress((folder / "stablehlo.mlir.gz").read_bytes()).decode()
    assert program == "// no program: error: first line\n"
    assert (folder / "output.npy").read_bytes() == b""


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"status": ("not run", "no driver")}, "not run"),
        ({"status": ("error", "no log"), "events": []}, "error"),
        ({"status": OOM, "memory": {"seconds": [0.1], "bytes": [5]}, "log_tail": HOSTILE}, "oom"),
    ],
)
def test_cell_of_a_process_that_was_not_run_or_ended_early_is_complete(tmp_path, changes, status):
    cell = combined(tmp_path, process(**changes))
    assert cell["status"] == status
    assert "events" not in changes or (cell["versions"], cell["device_kind"]) == ({}, None)


def pair_counts(cell: dict) -> list[int]:
    """The pairs of loops in each round."""
    return [len(loops.pairs(*map(loops.loops_of, (p, p["partner"])))) for p in cell["processes"]]


def test_every_round_is_a_process_and_its_partner(toy):
    cell = toy.measure_cell("ok", partner="ok", loop_pairs=3)
    assert (cell["status"], [p["repetition"] for p in cell["processes"]]) == ("ok", [0, 1])
    assert pair_counts(cell) == [3, 3]
    for one in cell["processes"]:
        partner = one["partner"]
        assert (partner["status"], partner["framework"], one["basis"]) == ("ok", "toy_partner", INTERLEAVED)
        assert {"first", "second", "steady", "loop"} <= {event["event"] for event in partner["events"]}
        assert one["round_s"] >= max(one["wall_s"], partner["wall_s"]) - 0.1
    assert cell["wall_s"] == pytest.approx(sum(one["round_s"] for one in cell["processes"]))
    files = {path.name for path in (toy.folder / toy.cell()).iterdir()}
    assert files == {"cell.json", "stablehlo.mlir.gz", "output.npy", "forms", "rounds"}
    assert "toy gemm cpu process 2: ok: first " in cell["printed"]


def test_later_rounds_add_to_the_first_and_take_fewer_steps(toy):
    first = toy.measure_cell("ok", partner="ok")
    more = toy.measure_cell("ok", partner="ok", rounds=3, resumes=True)
    assert [one["started_s"] for one in more["processes"]][:2] == [
        one["started_s"] for one in first["processes"]
    ]
    assert more["run_seed"] == first["run_seed"]
    for one, steps in zip(more["processes"], (3, 1, 0), strict=True):
        names = {event["event"] for event in one["events"]}
        assert {"first", "second", "loop"} <= names
        assert len(names & {"steady", "dispatch", "throughput"}) == steps
    assert pair_counts(more) == [SETTINGS["loop_pairs"]] * 3, "loops begin warm in the last round too"
    assert "toy gemm cpu process 3: ok: first " in more["printed"] and ", loop " in more["printed"]


def test_partner_that_dies_leaves_the_subject_its_numbers_with_no_pair(toy):
    cell = toy.measure_cell("ok", partner="sigkill")
    assert cell["status"] == "ok"
    assert [p["partner"]["status"] for p in cell["processes"]] == ["crash", "crash"]
    assert pair_counts(cell) == [0, 0]
    assert all(loops.loops_of(p) for p in cell["processes"])
    assert "no ratio of this round, for its partner toy_partner: crash" in cell["printed"]


def test_weights_over_the_cap_are_out_of_memory_before_anything_starts(toy):
    sizes = {"batch": 1, "sequence": 1, "features": 2**13, "hidden": 2**15}
    # There is no such environment: it is not asked for.
    cell = toy.measure_cell("ok", partner="ok", pins="envs/no_such_pins.txt", workload="ffn", sizes=sizes)
    assert cell["status"] == "oom"
    assert cell["status_detail"] == "weights of 2.1 GB exceed the cap of 0.5 GB"
    [one] = cell["processes"]
    assert (one["events"], one["repeated"], cell["run_seed"]) == ([], False, None)


FFN = {"batch": 1, "sequence": 1, "features": 2**10, "hidden": 2**10}
FFN_BYTES = 4 * (2 * 2**20 + 2 * 2**10)
"""Its weights."""
REPLAYED = {
    name: {"program": f"{name}.mlir.gz", "arguments": f"{name}.json"} for name in ("toy", "toy_partner")
}


def replay_job() -> ReplayJob:
    """A replay of two programs beside the processes of a cell."""
    whole = dict.fromkeys(ReplayJob.__dataclass_fields__, "")
    own = {"workload": "ffn", "device": "cpu", "sizes": FFN, "programs": REPLAYED, "settings": SETTINGS}
    return ReplayJob(**{**whole, **own, "repetition": 0, "compiler": "xla"})


RUNS = {"subject": "torch_xla", "partner": "jax", "replay": "jax"}
"""Whose program each participant runs."""


@pytest.fixture
def ran(monkeypatch):
    """What was asked of every call of `run_round`: the participants' names and the memory. `ran.ends`: how they end."""

    def ran():
        return found

    found, ran.ends = [], {}

    def run_round(participants, settings, rng, expected_bytes):
        found.append((tuple(one.name for one in participants), expected_bytes))
        result = {}
        for one in participants:
            cell, status = Cell(RUNS[one.name], "ffn", "cpu"), (ran.ends.get(one.name, "ok"), "why")
            result[one.name] = process(cell, repetition=one.job.repetition, status=status)
            del result[one.name]["round_s"]
            process_folder(one.folder, result[one.name])
        return result

    monkeypatch.setattr(cell_module, "run_round", run_round)
    environment = cell_module.Environment(Path("python"), None)
    monkeypatch.setattr(cell_module, "python_of", lambda job, pins: environment)
    return ran


def one_round(tmp_path, replay=None) -> dict[str, dict]:
    job = ProcessJob("jax", "jax", "ffn", "cpu", "smoke", 2, FFN, SETTINGS,
                     partner={"framework": "numpy", "dialect": "numpy"})  # fmt: skip
    others = {"partner": cell_module.Other(cell_module.partner_of(job), Path(), None)}
    if replay:
        others["replay"] = cell_module.Other(replay, Path(), None)
    return cell_module._round(job, Path(), others, tmp_path, None)


def test_a_round_asks_for_the_memory_of_its_processes(ran, tmp_path):
    """Three times the weights and 1 GiB each; a replay needs the weights once more for each further program."""
    one_round(tmp_path)
    records = one_round(tmp_path / "replay", replay_job())
    assert ran() == [
        (("subject", "partner"), 2 * (3 * FFN_BYTES + 2**30)),
        (("subject", "partner", "replay"), (3 + 3 + 4) * FFN_BYTES + 3 * 2**30),
    ]
    assert {(one["repetition"], one["basis"]) for one in records.values()} == {(2, INTERLEAVED)}


def test_a_replay_comes_after_the_others_if_the_memory_is_too_small_for_all(ran, tmp_path, monkeypatch):
    all_three = (3 + 3 + 4) * FFN_BYTES + 3 * 2**30
    monkeypatch.setattr(cell_module.limits, "available_memory_bytes", lambda: all_three - 1)
    records = one_round(tmp_path, replay_job())
    pair, alone = 2 * (3 * FFN_BYTES + 2**30), 4 * FFN_BYTES + 2**30
    assert ran() == [(("subject", "partner"), pair), (("replay",), alone)]
    assert {name: one["basis"] for name, one in records.items()} == {
        "subject": INTERLEAVED, "partner": INTERLEAVED, "replay": IN_TURN,
    }  # fmt: skip
    ran().clear()
    ran.ends["subject"] = "error"
    assert set(one_round(tmp_path / "again", replay_job())) == {"subject", "partner"}
    assert ran() == [(("subject", "partner"), pair)]


def whole_cell(tmp_path, partner: dict | None = None) -> dict:
    """Measure a cell of three rounds with a replay beside it; return what is written into `beside`."""
    beside = tmp_path / "beside"
    shutil.rmtree(beside, ignore_errors=True)
    shutil.rmtree(tmp_path / "cell", ignore_errors=True)
    beside.mkdir(parents=True)
    for paths in REPLAYED.values():
        for name in paths.values():
            (tmp_path / name).write_text("")
    programs = {f: {key: str(tmp_path / p) for key, p in paths.items()} for f, paths in REPLAYED.items()}
    partner = {"framework": "jax", "dialect": "jax"} | (partner or {"writes_files": True, "forms": False})
    job = ProcessJob("torch_xla", "torch", "ffn", "cpu", "smoke", 0, FFN, SETTINGS, partner=partner)
    replay = replace(replay_job(), programs=programs)
    pins = tmp_path / "pins.txt"
    pins.write_text("")
    cell = cell_module.measure(job, 3, pins, pins, tmp_path / "cell", beside, replay, pins)
    rounds = beside / "rounds.json"
    return {
        "cell": cell,
        "rounds": json.loads(rounds.read_text())["rounds"] if rounds.exists() else None,
        "baseline": beside / "baseline" if (beside / "baseline").exists() else None,
    }


def test_the_rounds_of_a_cell_give_the_baseline_s_cell_and_the_replay(ran, tmp_path):
    found = whole_cell(tmp_path)
    assert [names for names, _ in ran()] == [("subject", "partner", "replay")] * 3
    assert [one["replay"]["repetition"] for one in found["rounds"]] == [0, 1, 2]
    assert all(set(one) == {"replay", "torch_xla", "jax"} for one in found["rounds"])
    baseline = json.loads((found["baseline"] / "cell.json").read_text())
    assert (baseline["framework"], baseline["run_seed"]) == ("jax", found["cell"]["run_seed"])
    for own, beside in zip(baseline["processes"], found["cell"]["processes"], strict=True):
        assert own["events"] == beside["partner"]["events"] and own["partner"] is None
    # No time is counted twice.
    assert baseline["wall_s"] == 0.0 and [one["replay"]["round_s"] for one in found["rounds"]] == [0.0] * 3
    assert {path.name for path in found["baseline"].iterdir()} == {
        "cell.json", "stablehlo.mlir.gz", "output.npy", "forms",
    }  # fmt: skip


ALL, PAIR = ("subject", "partner", "replay"), ("subject", "partner")


@pytest.mark.parametrize(
    ("ends", "partner", "runs", "has_baseline", "statuses"),
    [
        # A partner that is only compared with is no cell, and one that failed is measured on its own.
        ({}, {"writes_files": False}, [ALL] * 3, False, ["ok ok"] * 3),
        ({"partner": "error"}, None, [ALL] * 3, False, ["error ok"] * 3),
        # One that cannot run is tried once: its first record stands for all.
        ({"partner": "unsupported"}, None, [ALL, *[("subject", "replay")] * 2], False, ["unsupported ok"] * 3),
        # A cell that failed leaves baseline and replay to themselves; a replay that failed has no later rounds.
        ({"subject": "error"}, None, [ALL], False, None),
        ({"replay": "timeout"}, None, [ALL, PAIR, PAIR], True, ["ok timeout"]),
    ],
)
def test_a_participant_that_fails_costs_no_other(ran, tmp_path, ends, partner, runs, has_baseline, statuses):
    ran.ends.update(ends)
    found = whole_cell(tmp_path, partner)
    assert found["cell"]["status"] == ends.get("subject", "ok")
    assert [names for names, _ in ran()] == runs and bool(found["baseline"]) == has_baseline
    rounds = found["rounds"] and [
        f"{one['jax']['status']} {one['replay']['status']}" for one in found["rounds"]
    ]
    assert rounds == statuses


def test_a_baseline_s_cell_is_taken_over_once(ran, tmp_path, monkeypatch):
    beside = whole_cell(tmp_path)["baseline"].parent
    job = tmp_path / "job.json"
    job.write_text(json.dumps({"the job": "is not read"}))
    arguments = ["cell", "--job", job, "--rounds", 3, "--pins", job, "--output", tmp_path / "own"]
    arguments += ["--taken", beside, "--beside", tmp_path / "its"]
    monkeypatch.setattr("sys.argv", [str(one) for one in arguments])
    cell_module.main()
    assert json.loads((tmp_path / "own" / "cell.json").read_text())["framework"] == "jax"
    assert (tmp_path / "its").is_dir(), "an output of the rule"
    with pytest.raises(TypeError, match="the job"):  # now it is measured
        cell_module.main()


def test_interrupted_cell_ends_at_once_with_its_processes(toy):
    pid = toy.folder / "child.pid"
    (toy.folder / toy.cell() / "cell.json").unlink(missing_ok=True)
    running = subprocess.Popen(
        toy.cell_command(), cwd=toy.folder, env=toy.environ("sleep"), stderr=subprocess.PIPE
    )
    child = int(wait_for(lambda: pid.exists() and pid.read_text()))
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=20)
    assert running.returncode != 0
    wait_for(lambda: not alive(child))
    assert not (toy.folder / toy.cell() / "cell.json").exists()
