"""Write envs/releases/<name>.txt for every release that the key `releases` of config/config.yaml lists.

Usage: .venv/bin/python envs/lock_releases.py [name ...]

There are many releases, so each file has few packages, with the hashes of the wheels for x86-64 Linux alone, for each
Python that has them.
"""

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import yaml

ENVS = Path(__file__).resolve().parent
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORM = "x86_64-manylinux_2_31"


def requirements(name: str) -> list[str]:
    """Return the packages of a release, e.g. of jaxlib-0.4.30 or iree-3.13.0."""
    project, version = name.split("-")
    if project == "iree":
        return [f"iree-base-compiler=={version}", f"iree-base-runtime=={version}", "numpy"]
    # The releases of 0.4 precede the stable ABI of NumPy 2.
    return [f"jax=={version}", f"jaxlib=={version}", "numpy<2" if version.startswith("0.4.") else "numpy"]


def lock(name: str) -> str:
    """Return the pins of a release: one resolution, with the hashes of the wheels for each Python."""
    versions: dict[str, str] = {}
    hashes: dict[str, set[str]] = {}
    for python in PYTHONS:
        pinned = [f"{package}=={version}" for package, version in versions.items()]
        for package in resolve([*requirements(name), *pinned], python):
            versions.setdefault(package["name"], package["version"])
            wheels = {wheel["hashes"]["sha256"] for wheel in package["wheels"]}
            hashes.setdefault(package["name"], set()).update(wheels)
    if not versions:
        sys.exit(
            f"expected wheels of {name} for one of Python {', '.join(PYTHONS)}, got none; fix: another version"
        )
    lines = ["# Written by envs/lock_releases.py"]
    for package, version in sorted(versions.items()):
        marks = [f"    --hash=sha256:{digest}" for digest in sorted(hashes[package])]
        lines.append(" \\\n".join([f"{package}=={version}", *marks]))
    return "\n".join(lines) + "\n"


def resolve(wanted: list[str], python: str) -> list[dict]:
    """Return the locked packages for a Python; none if it cannot have them."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "wanted.in"), Path(folder, "pylock.toml")
        source.write_text("\n".join(wanted) + "\n")
        command = [
            sys.executable,
            "-m",
            "uv",
            "pip",
            "compile",
            "--quiet",
            "--no-python-downloads",
            "--only-binary=:all:",
        ]
        command += ["--generate-hashes", "--python-version", python, "--python-platform", PLATFORM]
        done = subprocess.run([*command, "-o", target, source], capture_output=True, text=True)
        return tomllib.loads(target.read_text())["packages"] if done.returncode == 0 else []


def main() -> None:
    """Write the pins of the named releases, or of all."""
    listed = yaml.safe_load((ENVS.parent / "config" / "config.yaml").read_text())["releases"]["versions"]
    names = [f"{project}-{version}" for project, versions in listed.items() for version in versions]
    for name in sys.argv[1:] or names:
        path = ENVS / "releases" / f"{name}.txt"
        path.write_text(lock(name))
        print(f"{path.name}: {path.read_text().count('==')} pins")


if __name__ == "__main__":
    main()
