"""The machine and the revision of the source."""

import json
import os
import platform
import subprocess

import pytest

from stackwars.measure import machine


def test_machine_is_described():
    found = machine.record()
    expected = {"cpu_model", "cores", "memory_bytes", "kernel", "os", "python"}
    assert found.keys() - {"node"} == expected
    assert all(found.values())
    assert found["cores"] == len(os.sched_getaffinity(0))
    assert found["python"] == platform.python_version()
    assert found["memory_bytes"] > 2**28


def test_machine_is_told_from_another_and_not_from_its_updated_self():
    one = {"cpu_model": "A CPU", "cores": 2, "memory_bytes": 2**34, "kernel": "6.1"}
    assert machine.described(one) == machine.described(one | {"kernel": "6.2"})
    assert machine.described(one) == "A CPU, 2 cores, 16 GiB"
    for change in ({"cpu_model": "B"}, {"cores": 4}, {"memory_bytes": 2**35}):
        assert machine.described(one) != machine.described(one | change)


def test_no_host_is_named():
    names = json.dumps({k: v for k, v in machine.record().items() if k != "kernel"})
    assert platform.node() == "" or platform.node() not in names


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A function that runs git in a checkout, which the revision is then asked of."""
    monkeypatch.setattr(machine, "REPOSITORY", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    def git(*arguments: str) -> str:
        author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        return subprocess.run(
            ["git", "-C", tmp_path, *author, *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    return git


def revision() -> dict:
    return machine.revision.__wrapped__()


def test_revision_is_the_commit_or_unknown(checkout, tmp_path):
    assert revision() == {"git_revision": "unknown", "git_dirty": False}
    checkout("init")
    assert revision()["git_revision"] == "unknown", "before the first commit"
    (tmp_path / "file").write_text("1")
    for arguments in (["add", "."], ["commit", "-m", "one"]):
        checkout(*arguments)
    (tmp_path / "untracked").touch()
    head = checkout("rev-parse", "HEAD")
    assert revision() == {"git_revision": head[:12], "git_dirty": False}
    (tmp_path / "file").write_text("2")
    assert revision() == {"git_revision": head[:12], "git_dirty": True}


def test_revision_without_git_is_unknown(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert revision()["git_revision"] == "unknown"
