"""What this Python cannot have is `unsupported` with the reason, and never a failed run."""

import gzip
import json
from dataclasses import asdict

import pytest

from stackwars.compilers import ahead_supervisor, replay_cell
from stackwars.compilers.replay_job import ReplayJob
from stackwars.measure import cell, progress, supervisor
from stackwars.results import programs
from stackwars.results.folder import Folder
from stackwars.results.raw import Raw
from stackwars.setup import device
from stackwars.setup.environments import REPOSITORY, Unavailable
from stackwars.study.config import load
from stackwars.study.programs import compilations, replay_job, replays
from stackwars.workflow import devices
from toy_checkout import SETTINGS

WHY = "libtpu==0.0.21 has no wheels with a matching Python ABI tag"
PINS = REPOSITORY / "envs" / "jax.txt"


@pytest.fixture(autouse=True)
def no_wheel(monkeypatch, tmp_path):
    """No environment can be had."""

    def refuse(pins):
        raise Unavailable(WHY)

    for module in (supervisor, ahead_supervisor, devices):
        monkeypatch.setattr(module, "ensure", refuse)
    monkeypatch.setattr(progress, "PLANNED", tmp_path / "planned.json")


def rounds(job, folder, child: str = supervisor.CELL):
    """The folders of two rounds of a job."""
    found = [folder / f"process-{number}" for number in range(2)]
    for number, output in enumerate(found):
        wanted = type(job)(**{**asdict(job), "repetition": number})
        supervisor.run(wanted, PINS, output, child)
    return found


def test_cell_is_unsupported_and_a_later_round_is_not_tried(tmp_path, capsys):
    identity = ("jax", "jax", "gemm", "cpu", "smoke", 0, {"m": 1, "k": 1, "n": 1})
    folders = rounds(supervisor.ProcessJob(*identity, SETTINGS), tmp_path)
    found = cell.combine(folders)
    assert (found["status"], found["status_detail"]) == ("unsupported", WHY)
    assert [process["repeated"] for process in found["processes"]] == [True, False]
    assert f"unsupported: {WHY}" in capsys.readouterr().err


def test_cell_of_an_absent_device_is_not_run_and_builds_no_environment(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(device.NODES, "cuda", (str(tmp_path / "nvidia"),))
    monkeypatch.setattr(supervisor, "ensure", lambda pins: pytest.fail("built an environment"))
    identity = ("jax", "jax", "gemm", "cuda", "smoke", 0, {"m": 1, "k": 1, "n": 1})
    peers = {"baselines": {"jax": None}, "compilers": []}
    found = cell.combine(rounds(supervisor.ProcessJob(*identity, SETTINGS, peers=peers), tmp_path))
    why = f"no driver: none of {tmp_path}/nvidia exists"
    assert (found["status"], found["status_detail"]) == ("not run", why)
    assert f"not run: {why}" in capsys.readouterr().err


def test_replay_is_unsupported(tmp_path):
    config = {**load(), "preset": "smoke"}
    job = ReplayJob(**replay_job(config, replays(config)[0], 0))
    found = replay_cell.combine(rounds(job, tmp_path, "stackwars.compilers.replay"), {})
    assert (found["status"], found["status_detail"]) == ("unsupported", WHY)
    assert {program["status"] for program in found["programs"].values()} == {"unsupported"}


def test_compilation_is_a_row_that_says_why(tmp_path):
    config = {**load(), "preset": "smoke"}
    asked = compilations(config)[0]
    job = ahead_supervisor.CompileJob(
        asked.program.workload, asked.program.framework, "base", {"batch": 1},
        asked.target, config["targets"][asked.target], asked.compiler, 60,
    )  # fmt: skip
    program = tmp_path / "program.mlir"
    program.write_text("module {}")
    folder = tmp_path / asked.path
    ahead_supervisor.compile_into(job, PINS, program, folder)
    assert json.loads((folder / "ahead.json").read_text())["message"] == WHY
    said = gzip.decompress((folder / "optimised.hlo.gz").read_bytes()).decode()
    assert said == f"// no optimised HLO: unsupported: {WHY}\n"
    row = programs.build(config, Folder(tmp_path), Raw()).iloc[0]
    assert (row["status"], row["verdict"], row["status_detail"]) == ("unsupported", "", WHY)


def test_device_is_absent_for_that_framework(monkeypatch, tmp_path):
    monkeypatch.setitem(device.NODES, "tpu", (str(tmp_path),))
    assert devices.ask("jax", "tpu", PINS) == {"present": False, "reason": WHY}
