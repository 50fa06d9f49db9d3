"""What several tests need: the environments' Pythons."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stackwars.setup.environments import REPOSITORY, ensure, root

LONGEST = ("test_smoke.py", "test_bare_debian.py", "test_faults.py")
"""Files that take minutes: they are begun first, so that the other worker has the rest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; a file's own tests stay in their order."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


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


@pytest.fixture(autouse=True, scope="session")
def shared_environments() -> Iterator[None]:
    """Checkouts that a test makes, or a module of tests, use the environments of this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STACKWARS_ENVS", str(root()))
        yield
