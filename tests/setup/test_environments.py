"""Pinned environments: found by their pins, built once, never half."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stackwars.core.launch import REPOSITORY, clean_environ
from stackwars.setup import environments
from stackwars.setup.environments import ensure, folder
from stackwars.study.config import load


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


def test_folder_is_named_after_the_pins_their_text_and_the_python_wherever_they_are(
    pins, tmp_path, monkeypatch
):
    before = folder(pins)
    assert before.parent == environments.root()
    assert re.fullmatch(r"small-[0-9a-f]{12}", before.name)
    (tmp_path / "clone").mkdir()
    assert folder(Path(shutil.copy(pins, tmp_path / "clone"))) == before
    pins.write_text(pins.read_text() + "# another\n")
    changed = folder(pins)
    monkeypatch.setattr(sys, "version_info", type("V", (), {"major": 3, "minor": 99}))
    assert len({before, changed, folder(pins)}) == 3
    monkeypatch.delenv("STACKWARS_ENVS")
    assert environments.root() == REPOSITORY / ".envs"


def test_missing_pins_are_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"expected a pins file at .*gone\.txt"):
        ensure(tmp_path / "gone.txt")
    assert not environments.root().exists()


@pytest.mark.parametrize(("name", "operation"), [("python", "executed"), ("ready", "written")])
def test_environment_that_this_user_may_not_use_is_named(name, operation, pins, monkeypatch):
    finished(folder(pins))
    real = Path.exists

    def exists(path: Path) -> bool:
        if path.name == name:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(Path, "exists", exists)
    said = rf"small.txt cannot be used: .*\nWhat to do: .*{name} may not be {operation}"
    with pytest.raises(environments.BuildError, match=said):
        ensure(pins)


def test_set_up_refuses_a_finished_environment_that_this_user_may_not_use(pins):
    finished(folder(pins)).chmod(0o644)
    with pytest.raises(environments.BuildError, match=r"What to do: .* build your own with STACKWARS_ENVS="):
        environments.ensure_all([pins])


def test_all_that_is_missing_is_built_and_what_this_python_cannot_have_is_left_to_its_job(
    pins, tmp_path, monkeypatch
):
    asked = []

    def build(path: Path, home: Path, python: Path) -> None:
        asked.append(path.stem)
        if path.stem == "late":
            raise environments.Unavailable("late==1 has no wheels with a matching Python")
        finished(home)

    monkeypatch.setattr(environments, "_build", build)
    late = Path(shutil.copy(pins, tmp_path / "late.txt"))
    environments.ensure_all([late, pins])
    environments.ensure_all([late, pins])
    assert asked == ["late", "small", "late"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("this is no requirement ===\n", r"(?s)`uv pip sync` to succeed, got status 2.*this is no requirement"),
        ("smmap==5.0.3\n", "hash"),
    ],
)
def test_failed_build_is_told_and_leaves_nothing_that_looks_finished(pins, text, said):
    pins.write_text(text)
    with pytest.raises(environments.BuildError, match=said):
        ensure(pins)
    assert not (folder(pins) / "ready").exists()


@pytest.mark.env
def test_environment_is_built_once_by_two_that_ask_at_once(pins, monkeypatch):
    monkeypatch.delenv("UV_COMPILE_BYTECODE", raising=False)  # of `make test`
    command = [sys.executable, "-m", "stackwars.setup.environments", pins]
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


def test_variables_that_change_what_is_measured_are_dropped_and_those_that_a_child_needs_are_passed(
    monkeypatch,
):
    dropped = (
        "CPATH",
        "LD_PRELOAD",
        "CUDA_LAUNCH_BLOCKING",
        "TPU_MIN_LOG_LEVEL",
        "SLURM_CPUS_ON_NODE",
        "XLA_FLAGS",
    )
    passed = ("HOME", "LC_ALL", "STACKWARS_ENVS", "UV_DEFAULT_INDEX")
    for name in (*dropped, *passed):
        monkeypatch.setenv(name, "/some")
    found = clean_environ({})
    assert not found.keys() & set(dropped) and {found[name] for name in passed} == {"/some"}


def test_what_is_set_for_every_child_wins_over_this_process(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("NUMPY_MADVISE_HUGEPAGE", "1")
    found = clean_environ({"JAX_PLATFORMS": "cpu"})
    assert found["PATH"] == os.environ["PATH"]
    assert found["NUMPY_MADVISE_HUGEPAGE"] == "0"
    assert found["PYTHONPATH"] == str(REPOSITORY / "src")
    assert found["PYTHONHASHSEED"] == "0"
    assert found["JAX_PLATFORMS"] == "cpu"


def test_no_study_needs_no_disk():
    assert environments.missing_gb([]) == {} == environments.missing_gb([""])


def test_the_default_paper_takes_at_most_11_gb_and_not_what_others_need(monkeypatch):
    monkeypatch.setattr(environments, "_installer_links", lambda: True)
    sizes = environments.missing_gb(["tables"])
    assert set(sizes) == {"jax", "torch_xla", "xla-0.7.1", "xla-0.10.2"}
    assert sum(sizes.values()) <= 11
    assert "tensorflow" in environments.missing_gb(["tables", "stacks"])


def test_an_installer_that_cannot_link_takes_more(monkeypatch):
    sizes = {}
    for links in (True, False):
        monkeypatch.setattr(environments, "_installer_links", lambda links=links: links)
        sizes[links] = environments.sizes_gb()
    assert sizes[True]["torchax"] < 1 < 8 < sizes[False]["torchax"]
    assert all(sizes[True][name] <= sizes[False][name] for name in sizes[True])


def test_studies_are_set_up_by_name(monkeypatch):
    asked = []
    monkeypatch.setattr(environments, "ensure_all", lambda pins: asked.extend(path.stem for path in pins))
    monkeypatch.setattr(sys, "argv", ["environments", "--studies", "releases"])
    environments.main()
    assert asked == ["jax", "torch_xla", "xla-0.10.2"]


# A release of libtpu that names CPython 3.10 to 3.12 alone, in its pinned form.
LIBTPU = re.search(
    r"^libtpu==.*(?:\n    .*)*", (REPOSITORY / "envs" / "xla-0.7.1.txt").read_text(), re.MULTILINE
)[0]
PYTHONS = {"3.11", "3.13"} - {f"{sys.version_info.major}.{sys.version_info.minor}"}
"""Pythons of the Debians that `make smoke` is tried on; the environments of this one are built."""


def refusing(monkeypatch, tmp_path, package):
    """A uv that has no build of the package for this Python, unless asked for another Python's."""
    log = tmp_path / "uv.log"

    def run(command, **_):
        said = " ".join(command)
        with log.open("a") as file:
            file.write(said + "\n")
        if " venv " in said:
            Path(command[-1], "lib", "python3", "site-packages").mkdir(parents=True)
        if " sync " in said and package in Path(command[-1]).read_text():
            text = f"{package}==1 has no wheels with a matching Python ABI tag (e.g., `cp399`)"
            return subprocess.CompletedProcess(command, 1, "", text)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(environments.subprocess, "run", run)
    monkeypatch.setenv("STACKWARS_ENVS", str(tmp_path / "envs"))
    pins = tmp_path / "some.txt"
    pins.write_text(f"# some\n{package}==1 \\\n    --hash=sha256:00\nnumpy==2 \\\n    --hash=sha256:11\n")
    return pins, log


def test_libtpu_is_taken_from_an_earlier_python_where_this_one_has_none(monkeypatch, tmp_path):
    pins, log = refusing(monkeypatch, tmp_path, "libtpu")
    ensure(pins)
    *_, sync, install = log.read_text().splitlines()
    assert Path(sync.split()[-1]).read_text().startswith("numpy==2")
    assert "--no-deps --target" in install and "--python-version 3.12" in install
    assert Path(install.split()[-1]).read_text() == "libtpu==1 \\\n    --hash=sha256:00"


def test_other_package_without_a_build_is_unavailable_and_says_what_to_do(monkeypatch, tmp_path):
    pins, _ = refusing(monkeypatch, tmp_path, "torch")
    with pytest.raises(environments.Unavailable, match=r"torch==1 has no wheels(.|\n)*use Python 3\.11"):
        ensure(pins)
    assert not (folder(pins) / "ready").exists()


def test_index_that_does_not_answer_is_said_to_be_it(monkeypatch, pins, capfd):
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_CACHE_DIR", str(pins.parent / "cache"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    command = [sys.executable, "-m", "stackwars.setup.environments", str(pins)]
    done = subprocess.run(command, env=clean_environ({}), capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "What to do: The package index did not answer" in done.stderr
    assert "disk" not in done.stderr


@pytest.mark.env
@pytest.mark.parametrize("python", sorted(PYTHONS))
def test_every_environment_can_be_had_with_every_python(tmp_path, python):
    frameworks = load().frameworks.values()
    wanted = {row.environments["cpu"] for row in frameworks if row.environments}
    wanted |= {row.programs for row in frameworks if row.programs}
    wanted |= {row.environment for row in load().compilers.values()}
    wanted |= {e for row in load().targets.values() for e in row.environments.values()}
    assert wanted == set(environments.sizes_gb())
    for name in sorted(wanted):
        text = (REPOSITORY / "envs" / f"{name}.txt").read_text()
        late = python not in ("3.11", "3.12")
        (tmp_path / f"{name}.txt").write_text(text.replace(LIBTPU, "") if late else text)
        done = subprocess.run(
            [sys.executable, "-m", "uv", "pip", "install", "--dry-run", "--no-deps",
             "--require-hashes", "--only-binary", ":all:", "--python-version", python,
             "--target", tmp_path / "none", "-r", tmp_path / f"{name}.txt"],
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, f"{name} with Python {python}: {done.stderr}"


def test_a_package_for_a_later_python_is_unavailable_and_says_which_in_a_line(monkeypatch, tmp_path):
    pins, _ = refusing(monkeypatch, tmp_path, "none")
    said = (
        "error: No solution found when resolving dependencies\n"
        "  cause: Because the current Python version (3.11.7) does not satisfy Python>=3.12 and jax==0.11.2\n"
        "         depends on Python>=3.12, we can conclude that jax==0.11.2 cannot be used."
    )

    def run(command, **_):
        status = 1 if "sync" in command else 0
        return subprocess.CompletedProcess(command, status, "", said * status)

    monkeypatch.setattr(environments.subprocess, "run", run)
    with pytest.raises(environments.Unavailable) as raised:
        ensure(pins)
    assert raised.value.reason == "jax==0.11.2 needs Python >=3.12, this is 3.11.7"
