"""Checkouts of this repository for a test to work in."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import yaml

from stackwars.setup.environments import REPOSITORY

OVERLAY = "config/toy.yaml"


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


def overlay(checkout: Path, config: dict) -> None:
    """Put values over the configuration of a checkout, in every command, as if they were given with --configfile.

    The reference keeps the configuration of its own file.
    """
    (checkout / OVERLAY).write_text(yaml.safe_dump(config, sort_keys=False))
    profile = checkout / "profiles" / "default" / "config.yaml"
    profile.write_text(f"{profile.read_text()}configfile: [{OVERLAY}]\n")
