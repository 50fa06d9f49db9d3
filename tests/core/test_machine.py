"""The machine and the revision of the source."""

import json
import os
import platform

import pytest

from running import run
from stackwars.core import machine


def test_machine_is_recorded(tmp_path):
    found = machine.record()
    assert {"cpu_model", "kernel", "os", "numa_nodes"} <= found.keys()
    assert all(value not in ("", None, {}) for value in found.values())
    assert (found["cores"], found["python"]) == (len(os.sched_getaffinity(0)), platform.python_version())
    assert found["memory_bytes"] > 2**28
    (tmp_path / "enabled").write_text("always [madvise] never\n")
    assert [machine.huge_pages(tmp_path / name) for name in ("enabled", "missing")] == ["madvise", ""]
    # No host is named.
    names = json.dumps({key: value for key, value in found.items() if key != "kernel"})
    assert platform.node() == "" or platform.node() not in names


CPUINFO = "model name\t: A CPU\ncpu family\t: 25\nmodel\t\t: 1\nstepping\t: 0\nflags\t\t: {}\n"


def recorded(monkeypatch, tmp_path, flags: str) -> dict:
    """Return the record of a machine of two sockets with two cores of two threads each."""
    texts = {"cpuinfo": CPUINFO.format(flags), "node/node0/x": "", "node/node1/x": ""}
    for thread in range(8):
        texts[f"cpu/cpu{thread}/topology/physical_package_id"] = f"{thread // 4}\n"
        texts[f"cpu/cpu{thread}/topology/core_id"] = f"{thread // 2 % 2}\n"
    for index, values in enumerate(("Data 1 32K", "Instruction 1 64K", "Unified 2 512K", "Unified 3 16384K")):
        for name, value in zip(("type", "level", "size"), values.split(), strict=True):
            texts[f"cpu/cpu0/cache/index{index}/{name}"] = f"{value}\n"
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(machine, "SYSTEM", tmp_path)
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    return machine.record.__wrapped__()


def test_numbers_of_the_processor_its_caches_and_the_topology_are_read(monkeypatch, tmp_path):
    found = recorded(monkeypatch, tmp_path, "avx2 fma")
    assert (found["cpu_model"], found["cpu_family"], found["cpu_model_number"]) == ("A CPU", 25, 1)
    assert found["cpu_stepping"] == 0, "a stepping of 0 is one"
    assert found["cache_bytes"] == {"l1d": 2**15, "l2": 2**19, "l3": 2**24}
    assert (found["sockets"], found["physical_cores"], found["threads_per_core"]) == (2, 4, 2)
    assert found["numa_nodes"] == 2
    # The digest of the flags depends on what they are and not on their order.
    same, other = (recorded(monkeypatch, tmp_path, flags) for flags in ("fma avx2", "avx2 fma avx512f"))
    assert found["cpu_flags_digest"] == same["cpu_flags_digest"] != other["cpu_flags_digest"]


def test_machine_is_told_from_another_and_not_from_its_updated_self():
    one = {"cpu_model": "A CPU", "cores": 2, "memory_bytes": 2**34, "kernel": "6.1"}
    assert machine.described(one) == machine.described(one | {"kernel": "6.2"})
    assert machine.described(one) == "A CPU, 2 cores, 16 GiB"
    for change in ({"cpu_model": "B"}, {"cores": 4}, {"memory_bytes": 2**35}):
        assert machine.described(one) != machine.described(one | change)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return a function that runs git in a checkout, whose revision `machine` then records."""
    monkeypatch.setattr(machine, "REPOSITORY", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    def git(*arguments: str) -> str:
        author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        return run("git", "-C", tmp_path, *author, *arguments, env=None).stdout.strip()

    return git


def test_revision_is_the_commit_or_unknown(checkout, tmp_path, monkeypatch):
    revision = machine.revision.__wrapped__
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
    monkeypatch.setenv("PATH", str(tmp_path))
    assert revision()["git_revision"] == "unknown", "without git"
