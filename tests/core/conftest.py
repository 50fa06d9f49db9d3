"""Workers that the tests of core share: each process of a compiler starts once."""

from collections.abc import Callable, Iterator

import pytest

from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.launch import REPOSITORY
from stackwars.setup.environments import ensure


def compiler(pins: str, module: str) -> CompilerSpec:
    return CompilerSpec(pins, module, python=str(ensure(REPOSITORY / "envs" / f"{pins}.txt")))


def _worker(name: str, pins: str, module: str) -> Callable[[], Worker]:
    def start() -> Iterator[Worker]:
        with Worker(compiler(pins, module)) as worker:
            yield worker

    return pytest.fixture(start, scope="session", name=name)


xla = _worker("worker", "xla-0.10.2", "xla")
iree = _worker("iree", "iree", "iree")
