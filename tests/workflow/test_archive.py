"""What is deposited: every committed file, nothing else, and the same bytes each time."""

import hashlib
import subprocess
import tarfile

import pytest

from stackwars.workflow import archive


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "clone"
    (folder / "results" / "reference").mkdir(parents=True)
    (folder / "results" / "reference" / "frame.csv").write_text("workload\n")
    (folder / "results" / "full").mkdir()
    (folder / "results" / "full" / "frame.csv").write_text("of this machine\n")
    (folder / ".gitignore").write_text("/results/*\n!/results/reference/\n")
    git = ("git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x@example.org")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "x")):
        subprocess.run([*git, *command], check=True)
    return folder


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
    with pytest.raises(
        archive.ArchiveError, match=r"changed since: +M results/reference/frame.csv"
    ):
        archive.write(repository, tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(archive.ArchiveError, match="expected a clone of the repository"):
        archive.write(tmp_path / "empty", tmp_path / "out")
    assert not (tmp_path / "out").exists()
