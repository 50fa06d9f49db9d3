"""What TorchInductor compiles its code with: a C++ compiler and Python's headers. Standard library only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path


def compiler() -> str:
    """The C++ compiler that TorchInductor takes: what CXX names, else g++."""
    return os.environ.get("CXX", "g++")


def version() -> str:
    """Its version as it tells it, e.g. ``12.2.0``."""
    asked = [compiler(), "-dumpfullversion", "-dumpversion"]
    return subprocess.run(asked, capture_output=True, text=True).stdout.strip()


def headers() -> Path:
    """The folder in which TorchInductor looks for Python.h.

    Of an environment, it is that of the Python it was made with.
    """
    return Path(sysconfig.get_path("include", scheme="posix_prefix"))


def missing() -> list[str]:
    """The compiler and the header, as far as they are not there."""
    found = [] if shutil.which(compiler()) else [f"the C++ compiler {compiler()}"]
    if not (headers() / "Python.h").is_file():
        found.append(f"{headers() / 'Python.h'}")
    return found


def packages() -> tuple[str, ...]:
    """Debian's packages that bring both, for its own Python of this version."""
    return "g++", f"libpython{sys.version_info.major}.{sys.version_info.minor}-dev"
