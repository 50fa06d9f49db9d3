"""Which devices this machine has."""

import json

import pytest

from measured import config
from running import job_file, python
from stackwars.core.launch import REPOSITORY
from stackwars.setup import device as machine_device
from stackwars.setup import environments
from stackwars.study.workflow import devices

JAX = REPOSITORY / "envs" / "jax.txt"


@pytest.fixture
def no_driver(monkeypatch, tmp_path):
    """A machine without accelerators and without environments."""
    nodes = {name: (str(tmp_path / name), str(tmp_path / "other")) for name in ("cuda", "tpu")}
    monkeypatch.setattr(machine_device, "NODES", nodes)
    monkeypatch.setenv("STACKWARS_ENVS", str(tmp_path / "environments"))
    return tmp_path


@pytest.fixture
def driver(monkeypatch, tmp_path):
    """A machine that has the driver nodes of every accelerator."""
    (tmp_path / "node").touch()
    nodes = {name: ("/gone", str(tmp_path / "node")) for name in ("cuda", "tpu")}
    monkeypatch.setattr(machine_device, "NODES", nodes)


def answering(monkeypatch, tmp_path, script: str):
    """Every environment's Python is this script."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    monkeypatch.setattr(devices, "ensure", lambda pins: python)


@pytest.mark.parametrize("device", ["cuda", "tpu"])
def test_device_without_a_driver_is_absent_and_builds_no_environment(no_driver, device):
    answer = devices.ask("jax", device, JAX)
    reason = f"no driver: none of {no_driver / device}, {no_driver / 'other'} exists"
    assert answer == {"present": False, "reason": reason}
    assert not environments.root().exists()


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ('echo a warning; echo "$3 $4"', {"present": True, "kind": "jax tpu"}),
        (
            "echo Traceback >&2; echo RuntimeError: no TPU >&2; exit 1",
            {"present": False, "reason": "jax: RuntimeError: no TPU"},
        ),
        ("kill -9 $$", {"present": False, "reason": "jax: it ended without a message"}),
    ],
)
def test_framework_tells_the_kind_of_the_device_or_why_it_is_absent(
    driver, monkeypatch, tmp_path, script, told
):
    answering(monkeypatch, tmp_path, script)
    assert devices.ask("jax", "tpu", JAX) == told


def test_framework_that_does_not_answer_is_given_up(driver, monkeypatch, tmp_path):
    answering(monkeypatch, tmp_path, "exec sleep 30")
    monkeypatch.setattr(devices, "_TIMEOUT_S", 0.3)
    answer = devices.ask("torch_xla", "tpu", JAX)
    assert answer == {"present": False, "reason": "torch_xla gave no answer in 0.3 s"}


def test_each_framework_with_an_environment_is_asked(no_driver):
    asked = config(devices=["cpu", "cpu-1t", "cuda", "tpu"])
    found = {device: devices.find(asked, device) for device in asked.devices}
    assert {device: list(answers) for device, answers in found.items()} == {
        "cpu": ["jax", "torch_xla"], "cpu-1t": ["jax", "torch_xla"],
        "cuda": ["jax"], "tpu": ["jax", "torch_xla"]}  # fmt: skip
    assert [answer["present"] for answer in found["cpu"].values()] == [True, True]
    assert not found["cuda"]["jax"]["present"]


def test_the_command_writes_what_it_found_and_puts_the_answers_of_several_nodes_together(tmp_path):
    chosen, output = (
        job_file("config", config(devices=["cpu", "tpu"]), tmp_path),
        tmp_path / "new" / "found.json",
    )

    def asked(*arguments: object) -> dict:
        python("-m", "stackwars.study.workflow.devices", "--config", chosen, *arguments, "--output", output)
        return json.loads(output.read_text())

    found = asked("--device", "cpu")
    assert found["jax"]["present"]
    paths = [tmp_path / device / "found.json" for device in ("cpu", "tpu")]
    for path, answer in zip(paths, (found, {}), strict=True):
        path.parent.mkdir()
        path.write_text(json.dumps(answer))
    assert asked("--answers", *paths) == {"cpu": found}


@pytest.mark.env
def test_real_framework_without_the_device_is_absent(driver):
    answer = devices.ask("jax", "cuda", JAX)
    assert not answer["present"]
    assert answer["reason"].startswith("jax: ")
