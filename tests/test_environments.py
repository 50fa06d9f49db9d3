"""Pinned environments: found by their pins, built once, never half."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stackwars import environments
from stackwars.environments import REPOSITORY, clean_environ, ensure, folder


@pytest.fixture(autouse=True)
def own_root(tmp_path, monkeypatch):
    """Environments of this test alone."""
    monkeypatch.setenv("STACKWARS_ENVS", str(tmp_path / "environments"))


@pytest.fixture
def pins(tmp_path) -> Path:
    """A pins file with one small package, as the harness pins it."""
    text = (REPOSITORY / "envs" / "harness.txt").read_text()
    package = re.search(r"^smmap==.*(?:\n +.*)*", text, re.MULTILINE)
    path = tmp_path / "small.txt"
    path.write_text(package[0] + "\n")
    return path


def finished(home: Path) -> Path:
    """An environment that looks built, with a Python that says so."""
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "python").write_text("#!/bin/sh\necho it is here\n")
    (home / "bin" / "python").chmod(0o755)
    (home / "ready").touch()
    return home / "bin" / "python"


def test_folder_is_named_after_the_pins_and_their_text(pins):
    before = folder(pins)
    assert before.parent == environments.root()
    assert re.fullmatch(r"small-[0-9a-f]{12}", before.name)
    assert folder(pins) == before
    pins.write_text(pins.read_text() + "# another\n")
    assert folder(pins) != before


def test_folder_does_not_depend_on_where_the_pins_are(pins, tmp_path):
    (tmp_path / "clone").mkdir()
    other = Path(tmp_path, "clone", pins.name)
    other.write_bytes(pins.read_bytes())
    assert folder(other) == folder(pins)


def test_folder_depends_on_the_python(pins, monkeypatch):
    before = folder(pins)
    monkeypatch.setattr(sys, "version_info", type("V", (), {"major": 3, "minor": 99}))
    assert folder(pins) != before


def test_root_is_in_the_repository_unless_moved(monkeypatch):
    monkeypatch.delenv("STACKWARS_ENVS")
    assert environments.root() == REPOSITORY / ".envs"


def test_missing_pins_are_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"expected a pins file at .*gone\.txt"):
        ensure(tmp_path / "gone.txt")
    assert not environments.root().exists()


def test_finished_environment_is_used(pins):
    python = finished(folder(pins))
    assert ensure(pins) == python


def test_command_runs_in_the_environment(pins):
    python = finished(folder(pins))
    command = [sys.executable, "-m", "stackwars.environments", pins]
    options = {"env": clean_environ({}), "capture_output": True, "text": True, "check": True}
    assert subprocess.run(command, **options).stdout.strip() == str(python)
    done = subprocess.run([*command, "--", "-c", "print(1)"], **options)
    assert done.stdout == "it is here\n"


def test_failed_build_is_told_and_leaves_nothing_that_looks_finished(pins):
    pins.write_text("this is no requirement ===\n")
    with pytest.raises(RuntimeError, match=r"(?s)expected `uv pip sync .*` to succeed.*free disk"):
        ensure(pins)
    assert not (folder(pins) / "ready").exists()


def test_pin_without_a_hash_is_refused(pins):
    pins.write_text("smmap==5.0.3\n")
    with pytest.raises(RuntimeError, match="hash"):
        ensure(pins)


@pytest.mark.env
def test_environment_is_built_once_by_two_that_ask_at_once(pins):
    command = [sys.executable, "-m", "stackwars.environments", pins]
    both = [
        subprocess.Popen(command, env=clean_environ({}), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]  # fmt: skip
    answers = [process.communicate(timeout=120) for process in both]
    python = str(folder(pins) / "bin" / "python")
    assert [out.strip() for out, _ in answers] == [python, python]
    assert sum(err.count(" building ") for _, err in answers) == 1
    code = "import smmap, sys; print(sys.prefix, smmap.__cached__)"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    prefix, compiled = done.stdout.split()
    assert prefix == str(folder(pins))
    # Compiled ahead, so that no timed import pays for it.
    assert Path(compiled).exists()


@pytest.mark.env
def test_interrupted_build_is_built_again(pins):
    home = folder(pins)
    finished(home)
    (home / "ready").unlink()
    (home / "half").touch()
    python = ensure(pins)
    assert (home / "ready").exists()
    assert not (home / "half").exists()
    subprocess.run([python, "-c", "import smmap"], check=True)


@pytest.mark.parametrize(
    "name",
    ["PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "XLA_FLAGS", "JAX_PLATFORMS", "JAX_ENABLE_X64",
     "PJRT_DEVICE", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "TORCH_LOGS", "LD_PRELOAD",
     "VIRTUAL_ENV"],
)  # fmt: skip
def test_variable_that_changes_what_is_measured_is_dropped(monkeypatch, name):
    monkeypatch.setenv(name, "1")
    assert name not in clean_environ({})


def test_other_variables_are_kept_and_ours_win(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    found = clean_environ({"JAX_PLATFORMS": "cpu"})
    assert found["PATH"] == os.environ["PATH"]
    assert found["PYTHONPATH"] == str(REPOSITORY / "src")
    assert found["PYTHONHASHSEED"] == "0"
    assert found["JAX_PLATFORMS"] == "cpu"
