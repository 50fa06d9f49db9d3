"""Shared fixtures: the environments' Pythons, and the tables of the reference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stackwars.claims import decide
from stackwars.results import reference, runs
from stackwars.results.folder import Folder
from stackwars.setup.environments import REPOSITORY, ensure, root
from stackwars.study.config import load


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files with the longest tests first, so that no worker is left with one of them at the end: those that
    run the workflow, then those that run a framework; of each kind the file with most tests. pytest-xdist keeps
    this order with --no-loadscope-reorder alone.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)

    def has(path: Path, marker: str) -> bool:
        return any(item.get_closest_marker(marker) for item in files[path])

    ranks = {path: (not has(path, "slow"), not has(path, "env"), -len(files[path])) for path in files}
    items.sort(key=lambda item: ranks[item.path])


@pytest.fixture(scope="session")
def jax_python() -> Path:
    """Python of the jax environment, built if it is missing."""
    return ensure(REPOSITORY / "envs" / "jax.txt")


@pytest.fixture(scope="session")
def torch_xla_python() -> Path:
    """Python of the torch_xla environment, built if it is missing."""
    return ensure(REPOSITORY / "envs" / "torch_xla.txt")


@pytest.fixture(scope="session")
def tensorflow_xla_python() -> Path:
    """Python of the tensorflow environment, built if it is missing."""
    return ensure(REPOSITORY / "envs" / "tensorflow.txt")


@pytest.fixture(scope="session")
def torchax_python() -> Path:
    """Python of the torchax environment, built if it is missing."""
    return ensure(REPOSITORY / "envs" / "torchax.txt")


@pytest.fixture(scope="session")
def torch_tpu_python() -> Path:
    """Python of the torch_tpu environment, built if it is missing."""
    return ensure(REPOSITORY / "envs" / "torch_tpu.txt")


@pytest.fixture(scope="session")
def reference_tables(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The tables of the reference, made from the accepted runs."""
    config = {**load(), "source": "reference"}
    made = Folder(tmp_path_factory.mktemp("tables") / "from-reference", runs.REFERENCE)
    made.results.mkdir()
    reference.write(config, made)
    decide.write(config, made)
    return made


@pytest.fixture(autouse=True, scope="session")
def shared_environments() -> Iterator[None]:
    """Checkouts that a test makes, or a module of tests, use the environments of this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STACKWARS_ENVS", str(root()))
        yield
