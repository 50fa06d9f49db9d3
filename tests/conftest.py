"""Shared fixtures: the environments' Pythons, and the tables of the reference."""

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stackwars.core.launch import REPOSITORY
from stackwars.setup.environments import ensure, root
from stackwars.study.claims import decide
from stackwars.study.config import load
from stackwars.study.results import runs, tables
from stackwars.study.results.folder import Folder

LONGEST = (
    "workflow/test_smoke.py", "explain/test_compile_time.py", "workloads/test_workload_dialects.py",
    "workflow/test_toy_study.py",
)  # fmt: skip
"""Files whose tests take over a minute together, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files with the longest tests first, so that no worker has one of them left at the end: LONGEST, those
    that run the workflow, then those that run a framework; of each kind the file with most tests. pytest-xdist keeps
    this order with --no-loadscope-reorder alone.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)

    def rank(path: Path) -> tuple[int, bool, bool, int]:
        name = f"{path.parent.name}/{path.name}"
        marks = {mark.name for item in files[path] for mark in item.iter_markers()}
        place = LONGEST.index(name) if name in LONGEST else len(LONGEST)
        return place, "slow" not in marks, "env" not in marks, -len(files[path])

    ranks = {path: rank(path) for path in files}
    items.sort(key=lambda item: ranks[item.path])


def _python(environment: str, fixture: str) -> Callable[[], Path]:
    """Return the fixture of an environment's Python, built if it is missing."""
    return pytest.fixture(
        lambda: ensure(REPOSITORY / "envs" / f"{environment}.txt"), scope="session", name=fixture
    )


jax_python = _python("jax", "jax_python")
torch_xla_python = _python("torch_xla", "torch_xla_python")
tensorflow_xla_python = _python("tensorflow", "tensorflow_xla_python")
torchax_python = _python("torchax", "torchax_python")
torch_tpu_python = _python("torch_tpu", "torch_tpu_python")


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """Return a function that makes a folder once for all workers of pytest-xdist; a test that writes copies it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def once(name: str, make: Callable[[Path], object]) -> Path:
        folder, finished = shared / name, shared / f"{name}.finished"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not finished.exists():
                folder.mkdir(exist_ok=True)
                make(folder)
                finished.touch()
        return folder

    return once


@pytest.fixture(scope="session")
def reference_tables(made_once) -> Folder:
    """Return the tables of the reference, made from the accepted runs."""
    config = load(source="reference")

    def make(folder: Path) -> None:
        tables.write(config, Folder(folder, runs.REFERENCE))
        decide.write(config, Folder(folder, runs.REFERENCE))

    return Folder(made_once("from-reference", make), runs.REFERENCE)


@pytest.fixture(autouse=True, scope="session")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let checkouts that tests make use the environments of this one, and processes leave files where pytest removes
    them.
    """
    tempfile.gettempdir()  # this process finds its folder before the variable changes
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STACKWARS_ENVS", str(root()))
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))
        yield
