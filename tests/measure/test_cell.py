"""A cell measures itself: its rounds, its partner, what ends it, and the result that it writes."""

import gzip
import json
import os
import signal
import subprocess
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from measured import PROGRAM, process, process_folder, with_partner, write_cell
from report_fixture import HOSTILE
from running import wait_for
from stackwars.measure import cell as cell_module
from stackwars.measure import loops
from stackwars.measure.cell import combine, write
from stackwars.measure.conduct import IN_TURN, INTERLEAVED
from stackwars.measure.limits import alive
from stackwars.measure.supervisor import ProcessJob
from stackwars.study.cells import Cell
from toy_checkout import SETTINGS


def combined(tmp_path, *processes: dict) -> dict:
    folders = [process_folder(tmp_path / str(n), result) for n, result in enumerate(processes)]
    return combine(list(processes), folders, 7)


OOM = ("oom", "refused at build: no memory")


def test_ok_where_every_process_is(tmp_path):
    cell = combined(tmp_path, process(), process(repetition=1))
    assert (cell["status"], cell["status_detail"]) == ("ok", "")
    assert [p["repetition"] for p in cell["processes"]] == [0, 1]
    assert cell["versions"]["jax"] == "0.7.1"
    assert cell["wall_s"] == 20.0
    assert cell["peak_rss_bytes"] == 2**28 + 1
    assert cell["run_seed"] == 7


def test_first_bad_process_gives_the_status(tmp_path):
    bad = process(repetition=1, status=OOM)
    worse = process(repetition=2, status=("error", "ended by SIGKILL"))
    cell = combined(tmp_path, process(), bad, worse)
    assert (cell["status"], cell["status_detail"]) == OOM
    assert cell["ir"] is cell["output_sha256"] is None
    # The samples of the good process are still there.
    assert any(event["event"] == "steady" for event in cell["processes"][0]["events"])


def test_program_is_read_back(tmp_path):
    ir = combined(tmp_path, process(), process(repetition=1))["ir"]
    assert (ir["precision"], ir["dtype"], ir["same_in_every_process"]) == ("HIGHEST", "f32", True)


def test_programs_that_differ_are_noted(tmp_path):
    processes = [process(repetition=n) for n in (0, 1)]
    folders = [process_folder(tmp_path / str(n), one) for n, one in enumerate(processes)]
    other = PROGRAM.replace("HIGHEST", "DEFAULT").encode()
    (folders[1] / "stablehlo.mlir.gz").write_bytes(gzip.compress(other))
    assert combine(processes, folders, 7)["ir"]["same_in_every_process"] is False


@pytest.mark.parametrize("changes", [{"status": ("lost", "")}, {"sizes": {"m": "16"}}, {"wall_s": "long"}])
def test_result_outside_the_schema_is_refused(tmp_path, changes):
    with pytest.raises((jsonschema.ValidationError, TypeError)):
        combined(tmp_path, process(**changes))


def test_schema_knows_every_field_of_a_process_and_an_event(tmp_path):
    unknown = process(speed=1.0)
    with pytest.raises(jsonschema.ValidationError, match="speed"):
        combined(tmp_path / "process", unknown)
    unknown = process()
    unknown["events"][5]["warmth"] = 1.0
    with pytest.raises(jsonschema.ValidationError, match="warmth"):
        combined(tmp_path / "event", unknown)
    unknown = with_partner(process(), process(Cell("torch_xla", "gemm", "cpu")))
    assert combined(tmp_path / "partner", unknown)["status"] == "ok"
    unknown["partner"]["events"][5]["warmth"] = 1.0
    with pytest.raises(jsonschema.ValidationError):
        combined(tmp_path / "event of a partner", unknown)


def test_ok_cell_has_its_program_and_output(tmp_path):
    output = np.arange(4, dtype=np.float32)
    folder = write_cell(tmp_path, [process(), process(repetition=1)], output)
    assert gzip.decompress((folder / "stablehlo.mlir.gz").read_bytes()).decode() == PROGRAM
    assert np.array_equal(np.load(folder / "output.npy"), output)
    assert json.loads((folder / "cell.json").read_text())["status"] == "ok"


def test_cell_has_the_forms_of_its_first_process(tmp_path):
    processes = [process(repetition=n) for n in (0, 1)]
    folders = [process_folder(tmp_path / str(n), one) for n, one in enumerate(processes)]
    (folders[0] / "forms").mkdir()
    (folders[0] / "forms" / "jaxpr.txt.gz").write_bytes(gzip.compress(b"{ lambda }"))
    write(tmp_path / "cell", processes, folders, 7)
    kept = (tmp_path / "cell" / "forms" / "jaxpr.txt.gz").read_bytes()
    assert gzip.decompress(kept) == b"{ lambda }"
    assert not list((write_cell(tmp_path / "other", [process()]) / "forms").iterdir())


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
        assert {"first", "second", "steady", "throughput", "loop"} <= {
            event["event"] for event in partner["events"]
        }
        assert one["round_s"] >= max(one["wall_s"], partner["wall_s"]) - 0.1
    assert cell["wall_s"] == pytest.approx(sum(one["round_s"] for one in cell["processes"]))
    files = {path.name for path in (toy.folder / toy.cell()).iterdir()}
    assert files == {"cell.json", "stablehlo.mlir.gz", "output.npy", "forms"}, "no rounds"
    assert "toy gemm cpu process 2: ok: first " in cell["printed"]


def test_seed_of_all_that_is_random_is_recorded_and_differs_by_run(toy):
    cells = [toy.measure_cell("ok", rounds=1) for _ in range(2)]
    assert cells[0]["run_seed"] != cells[1]["run_seed"]
    assert {cell["settings"]["seed"] for cell in cells} == {SETTINGS["seed"]}


def test_the_baseline_has_no_partner_and_the_same_steps(toy):
    cell = toy.measure_cell("ok", rounds=1)
    [one] = cell["processes"]
    assert one["partner"] is None
    assert len(loops.loops_of(one)) == SETTINGS["loop_pairs"]


def test_partner_that_dies_leaves_the_subject_its_numbers_with_no_pair(toy):
    cell = toy.measure_cell("ok", partner="sigkill")
    assert cell["status"] == "ok"
    assert [p["partner"]["status"] for p in cell["processes"]] == ["crash", "crash"]
    assert pair_counts(cell) == [0, 0]
    assert all(loops.loops_of(p) for p in cell["processes"])
    assert "no ratio of this round, for its partner toy_partner: crash" in cell["printed"]


def test_partner_that_cannot_run_is_tried_once(toy):
    cell = toy.measure_cell("ok", partner="raise at build")
    first, second = (p["partner"] for p in cell["processes"])
    assert first["status"] == second["status"] == "unsupported"
    assert first["started_s"] == second["started_s"], "that of the first round stands for both"


def test_round_whose_process_fails_is_the_last(toy):
    cell = toy.measure_cell("raise", partner="ok")
    assert (cell["status"], len(cell["processes"])) == ("error", 1)


def test_weights_over_the_cap_are_out_of_memory_before_anything_starts(toy):
    sizes = {"batch": 1, "sequence": 1, "features": 2**13, "hidden": 2**15}
    # There is no such environment: it is not asked for.
    cell = toy.measure_cell("ok", partner="ok", pins="envs/no_such_pins.txt", workload="ffn", sizes=sizes)
    assert cell["status"] == "oom"
    assert cell["status_detail"] == "weights of 2.1 GB exceed the cap of 0.5 GB"
    [one] = cell["processes"]
    assert (one["events"], one["repeated"], cell["run_seed"]) == ([], False, None)


def test_processes_of_a_round_are_measured_in_turn_if_both_do_not_fit(tmp_path, monkeypatch):
    needed = []
    sizes = {"batch": 1, "sequence": 1, "features": 2**10, "hidden": 2**10}
    weights = 2 * 2**20 + 2 * 2**10
    job = ProcessJob("jax", "jax", "ffn", "cpu", "smoke", 0, sizes, SETTINGS,
                     partner={"framework": "numpy", "dialect": "numpy"})  # fmt: skip

    def run_round(participants, settings, rng, expected_bytes):
        needed.append(expected_bytes)
        return {one.name: process() | {"basis": IN_TURN} for one in participants}

    monkeypatch.setattr(cell_module, "run_round", run_round)
    here = cell_module.Environment(Path(), None)
    record = cell_module._round(job, here, here, tmp_path, None)
    assert record["basis"] == record["partner"]["basis"] == IN_TURN
    # Three times the weights and 1 GiB for each of two processes.
    assert needed == [2 * (3 * 4 * weights + 2**30)]


def test_killed_cell_resumes_after_the_rounds_that_it_had_finished(toy):
    rounds = toy.folder / toy.cell() / "rounds"
    running = subprocess.Popen(
        toy.cell_command(partner=True, rounds=3), cwd=toy.folder, env=toy.environ("ok", STACKWARS_TOY_PARTNER="ok"),
        stderr=subprocess.PIPE,
    )  # fmt: skip
    first = wait_for(lambda: (rounds / "0" / "round.json").exists() and (rounds / "0" / "round.json"))
    record = json.loads(first.read_text())
    seed = json.loads((rounds / "job.json").read_text())["seed"]
    os.kill(running.pid, signal.SIGKILL)
    running.communicate(timeout=20)
    cell = toy.measure_cell("ok", partner="ok", rounds=3)
    assert [p["repetition"] for p in cell["processes"]] == [0, 1, 2]
    assert cell["processes"][0]["started_s"] == record["started_s"]
    assert cell["processes"][2]["started_s"] > record["started_s"]
    assert (cell["run_seed"], cell["status"]) == (seed, "ok")
    assert not rounds.exists()


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


@pytest.mark.env
def test_torch_xla_beside_jax(tmp_path, jax_python, torch_xla_python):
    from stackwars.setup.environments import REPOSITORY

    settings = SETTINGS | {"memory_cap_gib": 8, "timeout_s": 120, "rounds": 1}
    job = ProcessJob("torch_xla", "torch", "gemm", "cpu", "smoke", 0, {"m": 16, "k": 32, "n": 64}, settings,
                     partner={"framework": "jax", "dialect": "jax"})  # fmt: skip
    pins = [REPOSITORY / "envs" / f"{name}.txt" for name in ("torch_xla", "jax")]
    cell = cell_module.measure(job, *pins, tmp_path / "cell")
    assert (cell["status"], cell["processes"][0]["partner"]["status"]) == ("ok", "ok")
    assert pair_counts(cell) == [settings["loop_pairs"]]
    assert "dot" in gzip.decompress((tmp_path / "cell" / "stablehlo.mlir.gz").read_bytes()).decode()
