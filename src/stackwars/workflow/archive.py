"""`python -m stackwars.workflow.archive`: what is deposited with an archive, in one file with its digest."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
from pathlib import Path

from stackwars.setup.environments import REPOSITORY

NAME = "stack-wars"


class ArchiveError(RuntimeError):
    """A checkout that cannot be deposited: what was expected, what came, what to do."""


def write(repository: Path, output: Path) -> Path:
    """Write <output>/stack-wars-<revision>.tar.gz and its .sha256 beside it; return the first.

    It has every committed file, the reference runs included, and nothing else: no environment, no result of
    this machine. The same revision gives the same bytes. Raises ArchiveError where git has no such checkout, or
    where a committed file was changed since.
    """
    changed = _git(repository, "status", "--porcelain", "--untracked-files=no").decode()
    if changed:
        raise ArchiveError(
            f"expected a checkout as it was committed; changed since: {changed.splitlines()[0]}: commit, or "
            "restore it, then: make archive"
        )
    revision = _git(repository, "rev-parse", "--short=12", "HEAD").decode().strip()
    stem = f"{NAME}-{revision}"
    packed = _git(repository, "archive", "--format=tar", f"--prefix={stem}/", "HEAD")
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{stem}.tar.gz"
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packer:
        packer.write(packed)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    # As sha256sum writes it, and checks it with -c.
    path.with_name(f"{path.name}.sha256").write_text(f"{digest}  {path.name}\n")
    return path


def _git(repository: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise ArchiveError(f"expected a clone of the repository in {repository}; git said: {said}")
    return done.stdout


def main() -> None:
    try:
        path = write(REPOSITORY, REPOSITORY / "results" / "archive")
    except ArchiveError as error:
        sys.exit(str(error))
    digest = path.with_name(f"{path.name}.sha256").read_text().split()[0]
    size = path.stat().st_size / 1e6
    print(f"{path.relative_to(REPOSITORY)}: {size:.1f} MB, SHA-256 {digest}")


if __name__ == "__main__":
    main()
