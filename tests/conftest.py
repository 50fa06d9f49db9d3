"""What several tests need: the environments' Pythons."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackwars.environments import REPOSITORY, ensure, root


@pytest.fixture(scope="session")
def jax_python() -> Path:
    """Python of the jax environment, built if it is missing."""
    return ensure(REPOSITORY / "envs" / "jax.txt")


@pytest.fixture(scope="session")
def torch_xla_python() -> Path:
    """Python of the torch_xla environment, built if it is missing."""
    return ensure(REPOSITORY / "envs" / "torch_xla.txt")


@pytest.fixture(autouse=True)
def shared_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkouts that a test makes use the environments of this one."""
    monkeypatch.setenv("STACKWARS_ENVS", str(root()))
