"""The page docs/licences.md: the licence of every pinned package, from the metadata of the installed environments.

`python -m stackwars.setup.licences` writes it. A package that no environment on this machine has keeps its row.
"""

from __future__ import annotations

import re
import site
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path

from stackwars.core.launch import REPOSITORY
from stackwars.setup import environments

PAGE = REPOSITORY / "docs" / "licences.md"
BEGINNING = """# Licences of what is installed

Set-up and runs install these packages from the package index; the repository contains none of them. The table has the
licence that a package states in its metadata, and the pins (`envs/*.txt`; *releases*: `envs/releases/*.txt`) with it.
`.venv/bin/python -m stackwars.setup.licences` writes this page.

| package | licence by its metadata | pins |
| --- | --- | --- |
"""
UNKNOWN = "not installed where this page was written"
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==", re.MULTILINE)
_ROW = re.compile(r"^\| (\S+) \| (.+) \| [^|]+ \|$", re.MULTILINE)


def normalised(name: str) -> str:
    """Return the name of a package as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(envs: Path) -> dict[str, list[str]]:
    """Return the pins files of each pinned package; all files of releases have one name."""
    files_of: dict[str, list[str]] = {}
    files = [(path.stem, path) for path in sorted(envs.glob("*.txt"))]
    for name, path in [*files, *(("releases", path) for path in sorted(envs.glob("releases/*.txt")))]:
        for package in map(normalised, _PIN.findall(path.read_text(encoding="utf-8"))):
            files_of.setdefault(package, []).append(name)
    return {package: list(dict.fromkeys(files_of[package])) for package in sorted(files_of)}


def licence(package: Distribution) -> str:
    """Return the licence that a package states: an expression, a short text, or classifiers."""
    metadata = package.metadata
    text = (metadata.get("License-Expression") or metadata.get("License") or "").strip()
    if text and len(text) <= 70 and "\n" not in text and re.match(r"(?!Copyright|License agreement)\w", text):
        return text
    classifiers = (one.split(" :: ") for one in metadata.get_all("Classifier") or ())
    named = ", ".join(parts[-1] for parts in classifiers if parts[0] == "License")
    has_file = any("licen" in one.name.lower() for one in package.files or ())
    return named or ("see its licence file" if has_file else "not stated")


def installed(folders: Iterable[Path]) -> dict[str, str]:
    """Return the licence of each package that one of these folders has."""
    packages = distributions(path=[str(path) for path in folders])
    return {normalised(one.metadata["Name"]): licence(one) for one in packages}


def page(pins: dict[str, list[str]], licences: dict[str, str]) -> str:
    rows = (
        f"| {package} | {licences.get(package, UNKNOWN)} | {', '.join(names)} |\n"
        for package, names in pins.items()
    )
    return BEGINNING + "".join(rows)


def main() -> None:
    places = [
        *map(Path, site.getsitepackages()),
        *sorted(environments.root().glob("*/lib/python*/site-packages")),
    ]
    known = dict(_ROW.findall(PAGE.read_text(encoding="utf-8"))) if PAGE.exists() else {}
    PAGE.write_text(page(pinned(REPOSITORY / "envs"), known | installed(places)), encoding="utf-8")


if __name__ == "__main__":
    main()
