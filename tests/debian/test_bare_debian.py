"""The container's script sets up a Debian without any package of its own, and what it installs loads there.

It takes minutes and needs a mirror of Debian: `make debian` alone runs it, and uses the other environments there too.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess, check_output

import pytest

from machine import Debian, available
from stackwars.setup import environments
from stackwars.study.config import load

pytestmark = [pytest.mark.env, pytest.mark.slow]

CONFIG = load()
ASKED = "STACKWARS_DEBIAN"
RELEASES = {(3, 11): "bookworm", (3, 13): "trixie"}
CHECKOUT = "/srv/stackwars"


class SetUp:
    """A checkout in a bare Debian after the Containerfile's only step, without what the paper alone needs."""

    def __init__(self, debian: Debian) -> None:
        cache = Path(check_output([sys.executable, "-m", "uv", "cache", "dir"], text=True).strip())
        self._debian = debian
        self._environ = {
            **debian.share_cache(cache),
            "STACKWARS_WITHOUT_TEX": "1",
            # Each environment is imported once here, and compiling all of it takes far longer than that.
            "UV_COMPILE_BYTECODE": "0",
        }
        debian.checkout(CHECKOUT)
        self.made = self._run("envs/container.sh")

    def python(self, environment: str, code: str) -> CompletedProcess[str]:
        """Run Python code in a pinned environment."""
        pins = f"envs/{environment}.txt"
        return self._run(f'.venv/bin/python -m stackwars.setup.environments {pins} -- -c "$CODE"', CODE=code)

    def _run(self, command: str, **extra: str) -> CompletedProcess[str]:
        environ = {**self._environ, **extra}
        return self._debian.run(f"cd {CHECKOUT} && {command}", environ=environ, timeout=1200)


@pytest.fixture(scope="module")
def set_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SetUp]:
    """One bare Debian for all tests, with the harness's own Python where a release has it."""
    release = RELEASES.get(sys.version_info[:2], "bookworm")
    if ASKED not in os.environ:
        pytest.skip("a bare Debian is made by `make debian` alone")
    if reason := available(release):
        pytest.skip(reason)
    with Debian(tmp_path_factory.mktemp("debian") / release, release, packages=()) as debian:
        yield SetUp(debian)


CODE = "from stackwars.{} import {} as Opened; print('kind:', Opened('cpu', {}).device_kind())"


def programs() -> dict[str, str]:
    """Return what must load, and say of which kind its device is, in each environment: {environment: code}."""
    found = {}
    for compiler in CONFIG.compilers.values():
        found[compiler.environment] = CODE.format(
            f"core.compilers.{compiler.module}", "Compiler", compiler.options
        )
    for name, row in CONFIG.frameworks.items():
        if row.environments:
            code = CODE.format(f"measure.frameworks.{name}", "Session", "'highest'")
            found.setdefault(row.environments["cpu"], code)
    return {name: code for name, code in found.items() if name in environments.of_studies(["tables"])}


PROGRAMS = programs()


def test_set_up_succeeds(set_up):
    assert set_up.made.returncode == 0, set_up.made.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_installed_loads(set_up, name):
    if set_up.made.returncode != 0:
        pytest.fail("set-up failed", pytrace=False)
    done = set_up.python(name, PROGRAMS[name])
    assert done.returncode == 0, done.stdout
    assert "kind: " in done.stdout, done.stdout
