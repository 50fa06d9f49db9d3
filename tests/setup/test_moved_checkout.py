"""A checkout with its environment works after it was copied or moved, whatever its folder is called."""

import os
import subprocess
from pathlib import Path

import pytest

from checkout import copy_checkout

pytestmark = pytest.mark.env

CELL = "results/smoke/cpu/numpy/gemm/cell.json"
WHERE = "from stackwars.setup.environments import REPOSITORY; print(REPOSITORY)"
NOTICE = "[set-up] this checkout was moved or copied: its environment works here as it did there\n"


def run(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a checkout as a user would: without the variables of these tests."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environ |= {"STACKWARS_WITHOUT_TEX": "1", "UV_COMPILE_BYTECODE": "0", **variables}
    return subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, encoding="utf-8", errors="replace", timeout=240
    )


def set_up(folder: Path) -> list[str]:
    """Set the checkout up; return the lines of set-up that are no warnings about this machine."""
    done = run(folder, "envs/setup.sh")
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.splitlines(keepends=True) if "checkout" in line or "building" in line]


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Path:
    folder = copy_checkout(tmp_path_factory.mktemp("original") / "checkout")
    assert len(set_up(folder)) == 1
    return folder


@pytest.fixture(scope="module")
def copy(original, tmp_path_factory) -> Path:
    """A copy for all tests, one after the other; `moved` takes it away from the first ones."""
    folder = tmp_path_factory.mktemp("copies") / "copy"
    subprocess.run(["cp", "-a", "--reflink=auto", original, folder], check=True)
    return folder


@pytest.fixture(scope="module")
def moved(copy) -> Path:
    return copy.rename(copy.with_name("Stäck wars"))


def test_no_file_of_the_environment_names_the_checkout(original):
    done = subprocess.run(
        ["grep", "-rl", "--exclude=*.pyc", str(original), original / ".venv"], capture_output=True, text=True
    )
    assert done.stdout == ""


def test_a_copy_uses_its_own_files(original, copy):
    assert run(copy, ".venv/bin/python", "-c", WHERE).stdout == f"{copy}\n"
    module = copy / "src" / "stackwars" / "study" / "workflow" / "lint.py"
    config = copy / "config" / "config.yaml"
    texts = {path: path.read_text() for path in (module, config)}
    module.write_text("print('the file of the copy')")
    assert (
        run(copy, ".venv/bin/python", "-m", "stackwars.study.workflow.lint").stdout == "the file of the copy\n"
    )
    config.write_text(f"{texts[config]}\ncolour: red\n")
    done = run(copy, ".venv/bin/snakemake", "-n", CELL, "--config", "preset=smoke")
    for path, text in texts.items():
        path.write_text(text)
    assert done.returncode != 0 and "config: colour: expected" in done.stdout + done.stderr


def test_set_up_notices_a_copy_once(copy):
    assert set_up(copy) == [NOTICE]
    assert set_up(copy) == []


def test_a_checkout_moved_to_a_folder_that_is_not_ascii_works_in_every_locale(moved):
    for locale in ("C", "xx_YY.UTF-8"):
        assert run(moved, ".venv/bin/python", "-c", WHERE, LC_ALL=locale).stdout == f"{moved}\n"
    assert set_up(moved) == [NOTICE]
    done = run(moved, ".venv/bin/snakemake", "-n", CELL, "--config", "preset=smoke", LC_ALL="C")
    assert done.returncode == 0, done.stderr


def test_an_environment_whose_python_is_gone_is_built_again(moved):
    """It begins to; without a package index it does not end."""
    python = moved / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/usr/lib/a-python-that-was-removed")
    unreachable = {
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": "0",
        "PIP_CONFIG_FILE": os.devnull,
    }
    done = run(moved, "envs/setup.sh", **unreachable)
    assert done.returncode != 0 and "building the harness environment" in done.stderr
    assert not (moved / ".venv" / "ready").exists()
