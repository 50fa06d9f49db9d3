"""List the environments that the studies, `make explain` and `make audits` need, and their size on disk.

The files envs/<name>.in name them, because set-up runs before anything is installed. Standard library only.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from stackwars.core.launch import REPOSITORY
from stackwars.core.lines import fold
from stackwars.setup import environments
from stackwars.setup.environments import BuildError

ALL = "all"
_SIZE = re.compile(
    r"^# Size on disk: ([0-9.]+) GB(?: \(([0-9.]+) GB where the installer cannot link .*\))?$", re.MULTILINE
)
_NEEDED_BY = re.compile(r"^# Needed by: ([a-z_, ]+)$", re.MULTILINE)


def sizes_gb() -> dict[str, float]:
    """Return the disk space of each environment of a run on a CPU, in 10^9 bytes."""
    sizes = {name: _SIZE.search(text) for name, text in _texts().items()}
    links = _installer_links()
    return {name: float(size[1] if links else size[2] or size[1]) for name, size in sizes.items() if size}


def of_studies(studies: list[str]) -> list[str]:
    """Return the environments that these studies require; `all` stands for every study."""
    needs = {name: _NEEDED_BY.search(text) for name, text in _texts().items()}
    wanted = {study for study in studies if study}
    return [
        name for name, match in needs.items() if match and (ALL in wanted or wanted & set(match[1].split(", ")))
    ]


def missing_gb(studies: list[str]) -> dict[str, float]:
    """Return {environment that the studies require and that is not built yet: GB on disk}."""
    missing = _not_built(of_studies(studies))
    return {name: size for name, size in sizes_gb().items() if name in missing}


def _texts() -> dict[str, str]:
    return {path.stem: path.read_text() for path in sorted((REPOSITORY / "envs").glob("*.in"))}


def _pins(name: str) -> Path:
    return REPOSITORY / "envs" / f"{name}.txt"


def _not_built(names: list[str]) -> list[str]:
    return [name for name in names if not (environments.folder(_pins(name)) / "ready").exists()]


def _installer_links() -> bool:
    """Return whether uv can link its cache into the environments: both on one file system."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Path(os.environ.get("UV_CACHE_DIR") or Path(caches, "uv"))
    devices = {
        next(p for p in (folder, *folder.parents) if p.exists()).stat().st_dev
        for folder in (cache.absolute(), environments.root().absolute())
    }
    return len(devices) == 1


def studies() -> set[str]:
    return {
        study for text in _texts().values() for match in _NEEDED_BY.findall(text) for study in match.split(", ")
    }


def main() -> None:
    """Run `python -m stackwars.setup.needed STUDY ...`: build the environments that these studies need, and say so."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("studies", nargs="*")
    selected = parser.parse_args().studies
    if unknown := [name for name in selected if name not in {ALL, *studies()}]:
        sys.exit(
            f"set-up: expected studies of {', '.join(sorted(studies()))} or {ALL}, got {', '.join(unknown)}"
        )
    names = of_studies(selected)
    try:
        environments.ensure_all(map(_pins, names))
    except BuildError as error:
        sys.exit(str(error))
    built = f"; {environments.root()} has {', '.join(names)}" if names else ""
    print(fold(f"the harness is in .venv{built}; next: make plan, or one of the commands of make help"))


if __name__ == "__main__":
    main()
