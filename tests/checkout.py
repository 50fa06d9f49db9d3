"""Checkouts of this repository for a test to work in."""

import shutil
import tempfile
from pathlib import Path

import yaml

from running import run
from stackwars.core.launch import REPOSITORY

OVERLAY = "config/toy.yaml"


def copy_checkout(target: Path) -> Path:
    """Copy the files of this checkout that git knows or would add to `target`, as a fresh clone has them."""
    for name in _listed():
        source = REPOSITORY / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)
    return target


def _listed() -> list[str]:
    """Return the files that git lists; in a tree without history (git archive), with an empty one of its own."""
    if (REPOSITORY / ".git").exists():
        return _list_files()
    with tempfile.TemporaryDirectory() as folder:
        history = [f"--git-dir={folder}", f"--work-tree={REPOSITORY}"]
        run("git", *history, "init", "--quiet", env=None)
        return _list_files(*history)


def _list_files(*options: str) -> list[str]:
    listing = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listed = run("git", *options, *listing, cwd=REPOSITORY, env=None).stdout
    return [name for name in listed.split("\0") if name]


def overlay(checkout: Path, config: dict) -> None:
    """Override the configuration of a checkout in every command, as with --configfile.

    The reference keeps the configuration of its own file.
    """
    (checkout / OVERLAY).write_text(yaml.safe_dump(config, sort_keys=False))
    profile = checkout / "profiles" / "default" / "config.yaml"
    profile.write_text(f"{profile.read_text()}configfile: [{OVERLAY}]\n")
