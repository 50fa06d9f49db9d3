"""Environments that this Python cannot have make a job `unsupported` with the reason, and fail no run."""

import gzip
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from running import job_file
from stackwars.core import judge
from stackwars.core.check import Checked
from stackwars.core.launch import REPOSITORY
from stackwars.core.outcome import Outcome, Status
from stackwars.measure import cell, nodes, supervisor
from stackwars.measure.stablehlo import ahead_supervisor, arguments, check, expected, replay_cell
from stackwars.publish.paper import listings
from stackwars.setup import device, environments
from stackwars.setup.environments import Unavailable
from stackwars.study.config import load
from stackwars.study.programs import BASE, Program, compilations, replays
from stackwars.study.results import programs, tables
from stackwars.study.results.folder import Folder
from stackwars.study.results.raw import Raw
from stackwars.study.workflow import devices
from stackwars.study.workflow.jobs import check_job, expected_job, lower_job, replay_job
from toy_checkout import SETTINGS

WHY = "libtpu==0.0.21 has no wheels with a matching Python ABI tag"
PINS = REPOSITORY / "envs" / "jax.txt"


@pytest.fixture(autouse=True)
def no_wheel(monkeypatch):
    """No environment can be had."""

    def refuse(pins):
        raise Unavailable(WHY)

    for module in (supervisor, ahead_supervisor, check, expected, devices, environments, programs):
        monkeypatch.setattr(module, "ensure", refuse)


def measured(job, folder) -> dict:
    """The cell of a job that cannot be measured."""
    return cell.measure(job, 1, PINS, None, folder)


def test_cell_is_unsupported(tmp_path, capsys):
    identity = ("jax", "jax", "gemm", "cpu", "smoke", 0, {"m": 1, "k": 1, "n": 1})
    found = measured(supervisor.ProcessJob(*identity, SETTINGS), tmp_path)
    assert (found["status"], found["status_detail"]) == ("unsupported", WHY)
    assert [process["repeated"] for process in found["processes"]] == [True]
    assert f"unsupported: {WHY}" in capsys.readouterr().err


def test_cell_of_an_absent_device_is_not_run_and_builds_no_environment(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(device.NODES, "cuda", (str(tmp_path / "nvidia"),))
    monkeypatch.setattr(supervisor, "ensure", lambda pins: pytest.fail("built an environment"))
    identity = ("jax", "jax", "gemm", "cuda", "smoke", 0, {"m": 1, "k": 1, "n": 1})
    found = measured(supervisor.ProcessJob(*identity, SETTINGS), tmp_path)
    why = f"no driver: none of {tmp_path}/nvidia exists"
    assert (found["status"], found["status_detail"]) == ("not run", why)
    assert f"not run: {why}" in capsys.readouterr().err


def test_replay_is_unsupported(tmp_path):
    config = load(preset="smoke")
    check_file = tmp_path / "check.json"
    job = replace(replay_job(config, replays(config)[0]), check=str(check_file))
    unsupported = check.outcome(Checked(Outcome(Status.UNSUPPORTED, WHY)))
    check_file.write_text(json.dumps({"judge": "", "programs": dict.fromkeys(job.programs, unsupported)}))
    records, rounds = replay_cell.measure(job, 1, PINS, tmp_path)
    assert rounds is None
    replay_cell.write(replay_cell.ReplayCellJob(job, {}), records, None, None, tmp_path)
    found = json.loads((tmp_path / "replay.json").read_text())
    assert len(found["processes"]) == 1 and found["run_seed"] is None
    assert (found["status"], found["status_detail"]) == ("unsupported", WHY)
    assert {program["status"] for program in found["programs"].values()} == {"unsupported"}


def test_compilation_is_a_row_that_says_why(tmp_path):
    config = load(preset="smoke")
    asked = compilations(config)[0]
    job = ahead_supervisor.CompileJob(
        asked.program.workload, asked.program.framework, "base", {"batch": 1},
        asked.target, config.targets[asked.target].document(), asked.compiler, 60,
    )  # fmt: skip
    program = tmp_path / "program.mlir"
    program.write_text("module {}")
    folder = tmp_path / asked.path
    ahead_supervisor.compile_into(job, PINS, program, folder)
    assert json.loads((folder / "ahead.json").read_text())["message"] == WHY
    text = gzip.decompress((folder / "optimised.hlo.gz").read_bytes()).decode()
    assert text == f"// no optimised HLO: unsupported: {WHY}\n"
    row = programs.build(config, Folder(tmp_path), Raw()).iloc[0]
    assert (row["status"], row["verdict"], row["status_detail"]) == ("unsupported", "", WHY)

    # A run of compilations alone has the date of these.
    found = tables.context(config, Raw(compiled=[json.loads((folder / "ahead.json").read_text())]))
    assert found["date_utc"] != tables.NOT_MEASURED and found["machine"]


@pytest.fixture
def run(monkeypatch):
    """Run a command of the workflow in an environment that this Python cannot have."""

    def execute(python: Path, command: list[str], environ: dict[str, str]) -> None:
        subprocess.run(command, executable=python, env=environ, check=True)

    def run_in_environment(module: str, *arguments: object) -> None:
        command = [str(PINS), "--", "-m", module, *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", ["environments", *command])
        environments.main()

    monkeypatch.setattr(environments.os, "execve", execute)
    return run_in_environment


def test_a_lowered_program_is_a_file_that_says_why(run, tmp_path):
    job = lower_job(load(preset="smoke"), Program("jax", "gemm", BASE))
    base = tmp_path / "base"
    run("stackwars.measure.stablehlo.lower", "--job", job_file("lower", job, tmp_path), "--output", base)
    text = gzip.decompress((base / "program.mlir.gz").read_bytes()).decode()
    assert text == f"// no program: {WHY}\n"
    assert arguments.load(base / "arguments.json")[1] == []


def test_a_check_is_unsupported_and_nothing_is_expected(monkeypatch, tmp_path):
    config, why = load(preset="smoke"), Unavailable(WHY).reason

    def order(module, job, output):
        options = {"--job": job_file("job", job, tmp_path), "--pins": PINS, "--output": output}
        monkeypatch.setattr(sys, "argv", ["main", *(str(word) for pair in options.items() for word in pair)])
        module.main()

    order(expected, expected_job(config, "gemm", BASE), tmp_path / "expected")
    values = judge.read(tmp_path / "expected")
    assert (values.reason, values.values) == (why, {})
    assert judge.judge({"last/output0": np.zeros(2)}, values) is None
    wanted = replace(check_job(config, "jaxlib-0.10.2", "gemm", BASE), expected=str(tmp_path / "expected"))
    order(check, wanted, tmp_path / "check")
    found = json.loads((tmp_path / "check" / "check.json").read_text())
    assert {(one["status"], one["status_detail"]) for one in found["programs"].values()} == {
        ("unsupported", why)
    }
    assert set(found["programs"]) == set(wanted.programs) and found["judge_reason"] == why


def test_peak_is_none_and_says_why(run, tmp_path):
    run("stackwars.measure.peak", "cpu", tmp_path / "peak.json")
    assert json.loads((tmp_path / "peak.json").read_text())["unavailable"] == WHY
    assert nodes.peaks(tmp_path) == []


def test_listings_and_forms_of_programs_are_written(tmp_path):
    config = load(preset="smoke")
    folder = Folder(tmp_path / "results")
    for step in (listings.write, programs.write_forms):
        step(config, folder)
    assert not (folder["listings"] / "mha.tex").exists(), "no program was measured"
    assert not list(folder["graphs"].iterdir())
    assert json.loads(folder["program_forms"].read_text()) == []


def test_device_is_absent_for_that_framework(monkeypatch, tmp_path):
    monkeypatch.setitem(device.NODES, "tpu", (str(tmp_path),))
    assert devices.ask("jax", "tpu", PINS) == {"present": False, "reason": WHY}
