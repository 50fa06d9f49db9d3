"""The pinned Python environments: which of them studies need, and how one is built once from its pins file.

An environment lives in `<repository>/.envs/<name>-<key>/`, where the key is a digest of the pins and
the Python version: a changed pin is a new folder, and a deleted folder is simply built again. Its file envs/<name>.in
names its size on disk, and the studies (or `explain`, or `audits`) that need it. Standard library only, because set-up
runs before anything is installed.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from stackwars.core.launch import REPOSITORY, clean_environ
from stackwars.core.lines import fold
from stackwars.core.outcome import Outcome, Status
from stackwars.setup import advice

ALL = "all"
"""Stands for every study."""
BORROWED = {"libtpu": "3.12"}
"""Packages that may be installed for an earlier Python: {name: Python's version}. libtpu is a library with a C
interface and a few lines of Python: its release 0.0.21 names CPython 3.10 to 3.12 and works with 3.13."""
_SIZE = re.compile(
    r"^# Size on disk: ([0-9.]+) GB(?: \(([0-9.]+) GB where the installer cannot link .*\))?$", re.MULTILINE
)
_NEEDED_BY = re.compile(r"^# Needed by: ([a-z_, ]+)$", re.MULTILINE)
_NO_WHEEL = re.compile(r"(\S+?)==\S+ has no wheels with a matching Python")
_OTHER_PYTHON = re.compile(
    r"current Python version \((\S+)\) does not satisfy\s+Python\s*(\S+?)\s+and\s+(\S+)\s+depends"
)
_WHY_UNAVAILABLE = "STACKWARS_UNAVAILABLE"
"""Environment variable with the reason for which a command runs without its environment."""


class BuildError(RuntimeError):
    """An environment was not built, or may not be used: the installer's message, and what to do."""

    @property
    def outcome(self) -> Outcome:
        """The properties of a program that need the environment."""
        return Outcome(Status.ERROR, " ".join(str(self).split()))


class Unavailable(BuildError):
    """This Python cannot have the environment: a pinned package has no build for it."""

    @property
    def reason(self) -> str:
        message = " ".join(str(self).split())
        if match := _OTHER_PYTHON.search(message):
            return f"{match[3]} needs Python {match[2]}, this is {match[1]}"
        return _NO_WHEEL.search(message)[0]

    @property
    def outcome(self) -> Outcome:
        return Outcome(Status.UNSUPPORTED, self.reason)


def root() -> Path:
    """Return the folder of all environments; `STACKWARS_ENVS` moves it, e.g. to share it between clones."""
    return Path(os.environ.get("STACKWARS_ENVS", REPOSITORY / ".envs"))


def folder(pins: Path) -> Path:
    """Return the folder of a pins file's environment, whether or not it exists.

    :raises FileNotFoundError: if the pins file does not exist.
    """
    if not pins.is_file():
        raise FileNotFoundError(f"expected a pins file at {pins}; fix: make it with envs/lock.sh")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    key = hashlib.sha256(python.encode() + pins.read_bytes()).hexdigest()[:12]
    return root() / f"{pins.stem}-{key}"


def sizes_gb() -> dict[str, float]:
    """Return the disk space of each environment of a run on a CPU, in 10^9 bytes."""
    links = _installer_links()
    return {name: float(size[1] if links else size[2] or size[1]) for name, size in _declared(_SIZE).items()}


def of_studies(studies: list[str]) -> list[str]:
    """Return the environments that these studies require; `all` stands for every study."""
    wanted = set(studies)
    return [name for name, needed_by in _studies().items() if ALL in wanted or wanted & needed_by]


def missing_gb(studies: list[str]) -> dict[str, float]:
    """Return {environment that the studies require and that is not built yet: GB on disk}."""
    missing = [name for name in of_studies(studies) if not (folder(_pins(name)) / "ready").exists()]
    return {name: size for name, size in sizes_gb().items() if name in missing}


def _declared(line: re.Pattern[str]) -> dict[str, re.Match[str]]:
    """Return {environment: this line of its file envs/<name>.in}, if the file has the line."""
    files = sorted((REPOSITORY / "envs").glob("*.in"))
    return {path.stem: match for path in files if (match := line.search(path.read_text()))}


def _studies() -> dict[str, set[str]]:
    return {name: set(match[1].split(", ")) for name, match in _declared(_NEEDED_BY).items()}


def _pins(name: str) -> Path:
    return REPOSITORY / "envs" / f"{name}.txt"


def _installer_links() -> bool:
    """Return whether uv can link its cache into the environments: both on one file system."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Path(os.environ.get("UV_CACHE_DIR") or Path(caches, "uv"))
    devices = {
        next(path for path in (place, *place.parents) if path.exists()).stat().st_dev
        for place in (cache.absolute(), root().absolute())
    }
    return len(devices) == 1


def ensure(pins: Path) -> Path:
    """Build the environment if it is missing; return the path of its Python.

    Safe to call from several processes: one builds, the others wait. An interrupted build leaves
    nothing that looks finished.

    :raises Unavailable: if a package has no build for this Python.
    :raises BuildError: with the installer's last lines if it fails for another reason, and if this user may
        not use the environment.
    """
    home = folder(pins)
    python = home / "bin" / "python"
    ready = home / "ready"
    try:
        if not ready.exists():
            home.parent.mkdir(parents=True, exist_ok=True)
            with home.with_name(home.name + ".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not ready.exists():
                    _build(pins, home, python)
                    ready.write_text(f"{pins.name}\n")
        if python.exists() and not os.access(python, os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(python))
    except PermissionError as error:
        is_program = str(error.filename) == str(python)
        advised = [advice.advise_execution(python.resolve())] if is_program else advice.advise(str(error))
        raise BuildError(
            "\n".join([f"the environment of {pins.name} cannot be used: {error}", *advised])
        ) from None
    return python


def _build(pins: Path, home: Path, python: Path) -> None:
    start = time.monotonic()
    print(f"[environment] building {home.name} from {pins.name} ...", file=sys.stderr, flush=True)
    shutil.rmtree(home, ignore_errors=True)
    # Relocatable: it works after the checkout that contains it was moved or copied.
    _run_uv(pins, "venv", "--quiet", "--relocatable", "--python", sys.executable, home)
    sync = ["pip", "sync", "--quiet", "--require-hashes", "--python", python]
    try:
        _run_uv(pins, *sync, pins)
    except Unavailable as error:
        package = (_NO_WHEEL.search(str(error)) or [""] * 2)[1]
        if package not in BORROWED:
            raise
        rest, one = _split_pins(pins, package, home)
        _run_uv(pins, *sync, rest)
        site = next(home.glob("lib/python*/site-packages"))
        install = ["pip", "install", "--quiet", "--require-hashes", "--no-deps", "--target", site]
        _run_uv(pins, *install, "--python-version", BORROWED[package], "-r", one)
    seconds = time.monotonic() - start
    print(f"[environment] {home.name} ready after {seconds:.0f} s", file=sys.stderr, flush=True)


def _split_pins(pins: Path, package: str, home: Path) -> tuple[Path, Path]:
    """Write two pins files into `home`: all packages but one, and that one."""
    blocks = re.findall(r"^[\w.-]+==.*(?:\n    .*)*", pins.read_text(), flags=re.MULTILINE)
    rest, one = home / "rest.txt", home / f"{package}.txt"
    rest.write_text("\n".join(b for b in blocks if not b.startswith(f"{package}==")))
    one.write_text("\n".join(b for b in blocks if b.startswith(f"{package}==")))
    return rest, one


def _run_uv(pins: Path, *arguments: str | Path) -> None:
    """Run uv.

    :raises Unavailable: see `ensure`.
    :raises BuildError: see `ensure`.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    # Compiled ahead: otherwise the first cell of a framework would pay for it in its import time.
    environment.setdefault("UV_COMPILE_BYTECODE", "1")
    done = subprocess.run(
        [sys.executable, "-m", "uv", *map(str, arguments)],
        env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode == 0:
        return
    tail = "\n".join(done.stderr.strip().splitlines()[-15:])
    is_unavailable = _NO_WHEEL.search(tail) or _OTHER_PYTHON.search(" ".join(tail.split()))
    kind = Unavailable if is_unavailable else BuildError
    command = " ".join(["uv", *map(str, arguments[:2])])
    code = done.returncode
    got = signal.Signals(-code).name if code < 0 else f"status {code}"
    what = f"the environment of {pins.name} was not built: expected `{command}` to succeed, got {got}"
    raise kind("\n".join([what, tail or "fix: give the same command again", *advice.advise(tail)]))


def why_unavailable() -> str:
    """Return why this command does not run in its own environment, in one line; "" if it does.

    It then writes its outputs with that reason, and needs only the packages of the harness.
    """
    return " ".join(os.environ.get(_WHY_UNAVAILABLE, "").split())


def ensure_all(pins: Iterable[Path]) -> None:
    """Build the environments that are missing before anything is timed.

    An environment that this Python cannot have is left to the job that needs it, which reports the reason.

    :raises BuildError: if one fails for another reason, and if this user may not use one.
    """
    pins = list(pins)
    missing = [path for path in pins if not (folder(path) / "ready").exists()]
    for path in pins:
        with contextlib.suppress(Unavailable):
            ensure(path)
    if missing:
        os.sync()  # gigabytes that are still to be written would disturb the first cells


def build_studies(studies: list[str]) -> None:
    """Build the environments that these studies need, and print what is there and what to do next.

    It exits with a message if there is no such study, or if an environment is not built.
    """
    known = set().union(*_studies().values())
    if unknown := [name for name in studies if name not in {ALL, *known}]:
        sys.exit(f"set-up: expected studies of {', '.join(sorted(known))} or {ALL}, got {', '.join(unknown)}")
    names = of_studies(studies)
    try:
        ensure_all(map(_pins, names))
    except BuildError as error:
        sys.exit(str(error))
    built = f"; {root()} has {', '.join(names)}" if names else ""
    print(fold(f"the harness is in .venv{built}; next: make plan, or one of the commands of make help"))


def main() -> None:
    """`python -m stackwars.setup.environments PINS [-- COMMAND ...]`: build, then print or run.

    If this Python cannot have the environment, the command runs in this Python, to report the reason. With
    `--studies NAME ...` in place of PINS it builds what these studies need.
    """
    parser = argparse.ArgumentParser(description=main.__doc__)
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("pins", nargs="?", type=Path)
    choice.add_argument("--studies", nargs="*", metavar="NAME")
    parser.add_argument("command", nargs="*", help="arguments of that environment's Python")
    arguments = parser.parse_args()
    if arguments.studies is not None:
        return build_studies(arguments.studies)
    environ = clean_environ({})
    try:
        python = ensure(arguments.pins)
    except Unavailable as error:
        if not arguments.command:
            sys.exit(str(error))
        print(error, file=sys.stderr, flush=True)
        python, environ[_WHY_UNAVAILABLE] = Path(sys.executable), str(error)
    except BuildError as error:
        sys.exit(str(error))
    if not arguments.command:
        print(python)
        return
    os.execve(python, [str(python), *arguments.command], environ)


if __name__ == "__main__":
    main()
