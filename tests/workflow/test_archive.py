"""What is deposited: every committed file, nothing else, and the same bytes each time; enough for the paper."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import study
from checkout import copy_checkout
from stackwars.core.launch import REPOSITORY


def committed(folder):
    git = ("git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x@example.org")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "x")):
        subprocess.run([*git, *command], check=True)
    return folder


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "clone"
    (folder / "results" / "reference").mkdir(parents=True)
    (folder / "results" / "reference" / "cells.csv").write_text("workload\n")
    (folder / "results" / "full").mkdir()
    (folder / "results" / "full" / "cells.csv").write_text("of this machine\n")
    (folder / ".gitignore").write_text("/results/*\n!/results/reference/\n")
    return committed(folder)


def packed(repository: Path) -> Path:
    """Return the file that `make archive` writes."""
    command = ["make", "-f", REPOSITORY / "Makefile", "archive"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [path] = (repository / "results" / "archive").glob("*.tar.gz")
    return path


def test_archive_has_what_was_committed_and_its_digest(repository):
    path = packed(repository)
    with tarfile.open(path) as opened:
        files = {one.name.partition("/")[2] for one in opened.getmembers() if one.isfile()}
    assert files == {".gitignore", "results/reference/cells.csv"}
    [beside] = path.parent.glob("*.sha256")
    assert subprocess.run(["sha256sum", "-c", beside.name], cwd=path.parent).returncode == 0
    first = path.read_bytes()
    path.unlink()
    assert packed(repository).read_bytes() == first


def test_a_changed_file_is_refused(repository):
    (repository / "results" / "reference" / "cells.csv").write_text("changed\n")
    with pytest.raises(AssertionError, match="expected a checkout as it was committed"):
        packed(repository)
    assert not (repository / "results" / "archive").exists()


def test_paper_of_the_reference_is_planned_from_what_is_unpacked(tmp_path):
    with tarfile.open(packed(committed(copy_checkout(tmp_path / "clone")))) as opened:
        opened.extractall(tmp_path / "unpacked", filter="data")
    [folder] = (tmp_path / "unpacked").iterdir()
    assert not (folder / ".git").exists()
    targets = ("paper.pdf", "report.html", "--config", "source=reference")
    done = study.Study(folder).shell(
        [sys.executable, "-m", "snakemake", "-n", "--cores", "1", *targets, "--quiet", "host"], PYTHONPATH=""
    )
    assert done.returncode == 0, done.stdout[-3000:]
    jobs = study.planned(done.stdout)
    assert {"reference_tables", "claims", "typeset", "report"} <= jobs.keys()
    assert not {"process", "lower", "ahead", "replay"} & jobs.keys()
