"""Pinned Python environments: built once from a pins file, then used by every job.

An environment lives in `<repository>/.envs/<name>-<key>/`, where the key is a digest of the pins and
the Python version: a changed pin is a new folder, and a deleted folder is simply built again.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from stackwars.setup import advice

REPOSITORY = Path(__file__).resolve().parents[3]
BORROWED = {"libtpu": "3.12"}
"""Packages that may be installed as for an earlier Python, and which. libtpu is a library with a C interface
and a few lines of Python: its release 0.0.21 names CPython 3.10 to 3.12 and works with 3.13."""
_SIZE = re.compile(r"^# Size on disk: ([0-9.]+) GB$", re.MULTILINE)
_NO_WHEEL = re.compile(r"(\S+?)==\S+ has no wheels with a matching Python")


_WHY_UNAVAILABLE = "STACKWARS_UNAVAILABLE"
"""Environment variable with the reason for which a command runs without its environment."""


class BuildError(RuntimeError):
    """An environment that was not built: what the installer said, and what to do."""


class Unavailable(BuildError):
    """An environment that this Python cannot have: a pinned package has no build for it."""


def root() -> Path:
    """Folder of all environments; `STACKWARS_ENVS` moves it, e.g. to share it between clones."""
    return Path(os.environ.get("STACKWARS_ENVS", REPOSITORY / ".envs"))


def folder(pins: Path) -> Path:
    """Where the environment of this pins file lives, whether or not it exists.

    Raises FileNotFoundError where the pins file does not exist.
    """
    if not pins.is_file():
        raise FileNotFoundError(f"expected a pins file at {pins}; make it with envs/lock.sh")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    key = hashlib.sha256(python.encode() + pins.read_bytes()).hexdigest()[:12]
    return root() / f"{pins.stem}-{key}"


def ensure(pins: Path) -> Path:
    """Build the environment if it is missing; return the path of its Python.

    Safe to call from several processes: one builds, the others wait. An interrupted build leaves
    nothing that looks finished. Raises Unavailable where a package has no build for this Python, and
    BuildError with the installer's last lines where it fails for another reason.
    """
    home = folder(pins)
    python = home / "bin" / "python"
    ready = home / "ready"
    if ready.exists():
        return python
    home.parent.mkdir(parents=True, exist_ok=True)
    with home.with_name(home.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            _build(pins, home, python)
            ready.write_text(f"{pins.name}\n")
    return python


def sizes_gb() -> dict[str, float]:
    """Disk that each environment of a run on a CPU takes, in 10^9 bytes, as envs/<name>.in says."""
    files = sorted((REPOSITORY / "envs").glob("*.in"))
    found = {path.stem: _SIZE.search(path.read_text()) for path in files}
    return {name: float(match[1]) for name, match in found.items() if match}


def absent() -> dict[str, float]:
    """The environments of a run on a CPU that are not built yet: {name: GB on disk}."""
    sizes = sizes_gb()
    pins = {name: REPOSITORY / "envs" / f"{name}.txt" for name in sizes}
    return {name: sizes[name] for name in pins if not (folder(pins[name]) / "ready").exists()}


def _build(pins: Path, home: Path, python: Path) -> None:
    start = time.monotonic()
    print(f"[environment] building {home.name} from {pins.name} ...", file=sys.stderr, flush=True)
    shutil.rmtree(home, ignore_errors=True)
    _run(pins, "venv", "--quiet", "--python", sys.executable, home)
    sync = ["pip", "sync", "--quiet", "--require-hashes", "--python", python]
    try:
        _run(pins, *sync, pins)
    except Unavailable as error:
        package = _NO_WHEEL.search(str(error))[1]
        if package not in BORROWED:
            raise
        rest, one = _without(pins, package, home)
        _run(pins, *sync, rest)
        site = next(home.glob("lib/python*/site-packages"))
        install = ["pip", "install", "--quiet", "--require-hashes", "--no-deps", "--target", site]
        _run(pins, *install, "--python-version", BORROWED[package], "-r", one)
    seconds = time.monotonic() - start
    print(f"[environment] {home.name} ready after {seconds:.0f} s", file=sys.stderr, flush=True)


def _without(pins: Path, package: str, home: Path) -> tuple[Path, Path]:
    """Two pins files in `home`: all packages but one, and that one."""
    blocks = re.findall(r"^[\w.-]+==.*(?:\n    .*)*", pins.read_text(), flags=re.MULTILINE)
    rest, one = home / "rest.txt", home / f"{package}.txt"
    rest.write_text("\n".join(b for b in blocks if not b.startswith(f"{package}==")))
    one.write_text("\n".join(b for b in blocks if b.startswith(f"{package}==")))
    return rest, one


def _run(pins: Path, *arguments: str | Path) -> None:
    """Run uv. Raises Unavailable or BuildError with what it said."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    # Compiled ahead: otherwise the first cell of a framework would pay for it in its import time.
    environment.setdefault("UV_COMPILE_BYTECODE", "1")
    done = subprocess.run(
        [sys.executable, "-m", "uv", *map(str, arguments)],
        env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode == 0:
        return
    said = "\n".join(done.stderr.strip().splitlines()[-15:])
    kind = Unavailable if _NO_WHEEL.search(said) else BuildError
    command = " ".join(["uv", *map(str, arguments[:2])])
    what = f"the environment of {pins.name} was not built: `{command}` ended with {done.returncode}"
    raise kind("\n".join([f"{what} and said", said, *advice.advise(said)]))


def why_unavailable() -> str:
    """Return why this command does not run in its own environment, in one line; empty if it does.

    It then writes its outputs with that reason, and needs nothing but the packages of the harness.
    """
    return " ".join(os.environ.get(_WHY_UNAVAILABLE, "").split())


def clean_environ(extra: dict[str, str]) -> dict[str, str]:
    """The parent's environment variables without those that would change how Python or XLA run."""
    dropped = (
        *("PYTHON", "VIRTUAL_ENV", "LD_PRELOAD", "MALLOC_"),
        *("XLA_", "JAX_", "PJRT_", "PT_XLA_", "TORCH", "LIBTPU_", "TF_", "HF_", "TRANSFORMERS_"),
        *("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_"),
    )
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    return {**kept, "PYTHONPATH": str(REPOSITORY / "src"), "PYTHONHASHSEED": "0", **extra}


def main() -> None:
    """`python -m stackwars.setup.environments PINS [-- COMMAND ...]`: build, then print or run.

    If this Python cannot have the environment, the command runs in this Python, to report the reason.
    """
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("pins", type=Path)
    parser.add_argument("command", nargs="*", help="arguments of that environment's Python")
    arguments = parser.parse_args()
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
