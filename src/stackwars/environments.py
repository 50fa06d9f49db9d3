"""Pinned Python environments: built once from a pins file, then used by every job.

An environment lives in `<repository>/.envs/<name>-<key>/`, where the key is a digest of the pins and
the Python version: a changed pin is a new folder, and a deleted folder is simply built again.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


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
    nothing that looks finished. Raises RuntimeError with the installer's last lines if it fails.
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


def _build(pins: Path, home: Path, python: Path) -> None:
    start = time.monotonic()
    print(f"[environment] building {home.name} from {pins.name} ...", file=sys.stderr, flush=True)
    shutil.rmtree(home, ignore_errors=True)
    _run(["venv", "--quiet", "--python", sys.executable, str(home)])
    # Compiled ahead: otherwise the first cell of a framework would pay for it in its import time.
    _run(["pip", "sync", "--quiet", "--require-hashes", "--compile-bytecode",
          "--python", str(python), str(pins)])  # fmt: skip
    seconds = time.monotonic() - start
    print(f"[environment] {home.name} ready after {seconds:.0f} s", file=sys.stderr, flush=True)


def _run(arguments: list[str]) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-m", "uv", *arguments],
        env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        tail = "\n".join(done.stderr.strip().splitlines()[-15:])
        raise RuntimeError(
            f"expected `uv {' '.join(arguments)}` to succeed, it ended with {done.returncode}:\n{tail}\n"
            "Check the network and the free disk space (torch_xla needs about 8 GB), then try again."
        )


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
    """`python -m stackwars.environments PINS [-- COMMAND ...]`: build, then print or run."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("pins", type=Path)
    parser.add_argument("command", nargs="*", help="arguments of that environment's Python")
    arguments = parser.parse_args()
    python = ensure(arguments.pins)
    if not arguments.command:
        print(python)
        return
    os.execve(python, [str(python), *arguments.command], clean_environ({}))


if __name__ == "__main__":
    main()
