"""The machine and the revision of the source."""

import json
import os
import platform

import pytest

from running import run
from stackwars.measure import machine


def test_machine_is_described():
    found = machine.record()
    everywhere = {"cpu_model", "cores", "memory_bytes", "kernel", "os", "python"}
    assert everywhere <= found.keys()
    assert all(value not in ("", None) for value in found.values())
    assert found["cores"] == len(os.sched_getaffinity(0))
    assert found["python"] == platform.python_version()
    assert found["memory_bytes"] > 2**28


def test_processor_is_the_one_that_lscpu_reports():
    output = run("lscpu", "--bytes", env={"LC_ALL": "C"}, check=False)
    lines = dict(line.split(":", 1) for line in output.stdout.splitlines() if ":" in line)
    found = machine.record()
    names = {"CPU family": "cpu_family", "Model": "cpu_model_number", "Stepping": "cpu_stepping"}
    told = {
        name: int(lines[title]) for title, name in names.items() if lines.get(title, "").strip().isdecimal()
    }
    assert told, "lscpu names some of them"
    assert told == {name: found[name] for name in told}


CPUINFO = "model name\t: A CPU\ncpu family\t: 25\nmodel\t\t: 1\nstepping\t: 0\nflags\t\t: {}\n"


def recorded(monkeypatch, tmp_path, flags: str) -> dict:
    (tmp_path / "cpuinfo").write_text(CPUINFO.format(flags))
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    return machine.record.__wrapped__()


def test_numbers_of_the_processor_are_read(monkeypatch, tmp_path):
    found = recorded(monkeypatch, tmp_path, "avx2 fma")
    assert (found["cpu_model"], found["cpu_family"], found["cpu_model_number"]) == ("A CPU", 25, 1)
    assert found["cpu_stepping"] == 0, "a stepping of 0 is one"


def test_digest_of_the_flags_depends_on_what_they_are_and_not_on_their_order(monkeypatch, tmp_path):
    one, same, other = (
        recorded(monkeypatch, tmp_path, flags)["cpu_flags_digest"]
        for flags in ("avx2 fma", "fma avx2", "avx2 fma avx512f")
    )
    assert one == same != other


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
        return run("git", "-C", tmp_path, *author, *arguments, env=None).stdout.strip()

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
