"""Shared fixtures: the environments' Pythons, and the tables of the reference."""

from collections.abc import Callable, Iterator
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
