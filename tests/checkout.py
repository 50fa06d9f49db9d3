"""Checkouts of this repository for a test to work in."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from stackwars.setup.environments import REPOSITORY


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
