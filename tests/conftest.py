"""What several tests need: the environments' Pythons, and checkouts of this repository to work in."""

from __future__ import annotations

import shutil
import subprocess
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


def copy_checkout(target: Path) -> Path:
    """The files of this checkout that git knows or would add, in `target`: as a fresh clone has them."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        source = REPOSITORY / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)
    return target
