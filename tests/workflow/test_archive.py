"""What is deposited: every committed file, nothing else, and the same bytes each time; enough for the paper."""

import hashlib
import subprocess
import sys
import tarfile

import pytest

import study
from checkout import copy_checkout
from stackwars.workflow import archive


def committed(folder):
    git = ("git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x@example.org")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "x")):
        subprocess.run([*git, *command], check=True)
    return folder


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "clone"
    (folder / "results" / "reference").mkdir(parents=True)
    (folder / "results" / "reference" / "frame.csv").write_text("workload\n")
    (folder / "results" / "full").mkdir()
    (folder / "results" / "full" / "frame.csv").write_text("of this machine\n")
    (folder / ".gitignore").write_text("/results/*\n!/results/reference/\n")
    return committed(folder)


def test_archive_has_what_was_committed_and_its_digest(repository, tmp_path):
    path = archive.write(repository, tmp_path / "out")
    with tarfile.open(path) as packed:
        files = {one.name.partition("/")[2] for one in packed.getmembers() if one.isfile()}
    assert files == {".gitignore", "results/reference/frame.csv"}
    [beside] = path.parent.glob("*.sha256")
    assert subprocess.run(["sha256sum", "-c", beside.name], cwd=path.parent).returncode == 0
    first = hashlib.sha256(path.read_bytes()).hexdigest()
    again = archive.write(repository, tmp_path / "again")
    assert hashlib.sha256(again.read_bytes()).hexdigest() == first


def test_changed_file_and_no_clone_are_refused(repository, tmp_path):
    (repository / "results" / "reference" / "frame.csv").write_text("changed\n")
    with pytest.raises(archive.ArchiveError, match=r"changed since: +M results/reference/frame.csv"):
        archive.write(repository, tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(archive.ArchiveError, match="expected a clone of the repository"):
        archive.write(tmp_path / "empty", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_paper_of_the_reference_is_planned_from_what_is_unpacked(tmp_path):
    path = archive.write(committed(copy_checkout(tmp_path / "clone")), tmp_path / "out")
    with tarfile.open(path) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    [folder] = (tmp_path / "unpacked").iterdir()
    assert not (folder / ".git").exists()
    targets = ("paper.pdf", "report.html", "--config", "source=reference")
    done = study.Study(folder).shell(
        [sys.executable, "-m", "snakemake", "-n", "--cores", "1", *targets, "--quiet", "host"],
        PYTHONPATH="",
    )
    assert done.returncode == 0, done.stdout[-3000:]
    jobs = study.planned(done.stdout)
    assert {"reference_tables", "claims", "typeset", "report"} <= jobs.keys()
    assert not {"process", "lower", "ahead", "replay"} & jobs.keys()
