"""The launcher: limits of a child, the report of its end, and its log."""

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from report_fixture import HOSTILE
from running import python
from stackwars.core import launch, limits
from stackwars.core.launch import REPOSITORY

MIB = 2**20
PYTHON = Path("/somewhere/else/jax-0123/bin/python")


def launched(tmp_path: Path, code: str, timeout_s: float = 30, **more):
    """Return (the report of a child that runs this code, its output)."""
    command, log = (Path(sys.executable), ["-c", code], dict(os.environ)), tmp_path / "log.txt"
    report = launch.run_child(*command, 256 * MIB, timeout_s, log=log, **more)
    return report, log.read_text()


def forked(tmp_path: Path, code: str, timeout_s: float = 30):
    """Return (the report of a fork that runs this code, its output)."""
    log = tmp_path / "log.txt"
    return launch.run_forked(lambda: exec(code, {}), 4096 * MIB, timeout_s, log), log.read_text()


@pytest.fixture(params=[launched, forked])
def ended(request, tmp_path, capfd):
    """Return a function that returns (the report of a process that runs some code, its output)."""

    def run(code: str, **more):
        # pytest's own capture would take what Python prints.
        with capfd.disabled():
            return request.param(tmp_path, code, **more)

    return run


@pytest.mark.parametrize(("machine_gib", "cap_gib"), [(16, 12), (256, 32)])
def test_auto_cap(monkeypatch, machine_gib, cap_gib):
    monkeypatch.setattr(limits, "machine_memory_bytes", lambda: machine_gib * limits.GIB)
    assert limits.cap_bytes(0.5) == 512 * MIB
    assert limits.cap_bytes("auto") == cap_gib * limits.GIB


def test_memory_over_the_cap_is_refused_where_it_is_asked_for_and_a_reservation_is_not(tmp_path):
    code = "try: bytearray(2**30)\nexcept MemoryError: print('refused')"
    # Frameworks reserve far more than they use; PROT_NONE (0) is such a reservation.
    code += "\nimport mmap; mmap.mmap(-1, 2**34, flags=mmap.MAP_PRIVATE, prot=0); print('given')"
    assert launched(tmp_path, code)[1] == "refused\ngiven\n"


def test_child_is_first_to_be_killed_has_its_cores_leads_its_group_and_leaves_no_dump(tmp_path):
    code = (
        "import os, resource; print(open('/proc/self/oom_score_adj').read().strip(), os.sched_getaffinity(0),"
        " os.getpgid(0) == os.getsid(0) == os.getpid(), resource.getrlimit(resource.RLIMIT_CORE))"
    )
    one = max(os.sched_getaffinity(0))
    assert launched(tmp_path, code, cpus={one})[1] == f"1000 {{{one}}} True (0, 0)\n"


def test_child_of_a_dead_parent_does_not_start():
    done = python("-c", "print('started')", check=False, preexec_fn=lambda: limits.enter_child(256 * MIB, 1))
    assert (done.returncode, done.stdout) == (1, "")


def test_end_of_a_process_is_reported_with_what_it_printed(ended):
    report, printed = ended("import os; print('a', os.getpid(), flush=True); os.write(2, b'b\\n')")
    assert (report.exit_code, f"{report.log_tail}\n") == (0, printed)
    assert re.fullmatch(r"a \d+\nb\n", printed) and str(os.getpid()) not in printed
    assert not (report.timed_out or report.over_cap or report.stopped or report.kernel_oom)
    assert 0 < report.wall_s < 30 and report.peak_rss_bytes > MIB
    report, _ = ended("import os; os.kill(os.getpid(), 9)")
    assert report.exit_code == -signal.SIGKILL and not report.timed_out


def test_a_process_over_its_time_or_its_memory_is_ended(ended):
    report, _ = ended("import time; time.sleep(60)", timeout_s=0.5)
    assert report.timed_out and report.exit_code == -signal.SIGKILL and report.wall_s < 10
    report, printed = ended("print(len(bytearray(2**27)), flush=True); bytearray(2**33)")
    assert report.exit_code == 1
    assert printed.startswith(f"{2**27}\n") and printed.rstrip().endswith("MemoryError")


def test_child_is_stopped_on_demand(tmp_path):
    marker = tmp_path / "marker"
    code = f"import time; open({str(marker)!r}, 'w'); time.sleep(60)"
    report, _ = launched(tmp_path, code, stop=marker.exists)
    assert report.stopped and report.exit_code == -9 and not report.timed_out


def test_the_group_of_a_child_ends_with_it(tmp_path):
    code = "import subprocess; print(subprocess.Popen(['sleep', '60']).pid, flush=True); raise SystemExit(3)"
    report, printed = launched(tmp_path, code)
    assert report.exit_code == 3
    end = time.monotonic() + 10
    while limits.alive(int(printed)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not limits.alive(int(printed))


@pytest.mark.parametrize("command", ["no such interpreter", "no such core"])
def test_child_that_cannot_be_started_is_a_report(tmp_path, command):
    python = Path("/nowhere/python") if command == "no such interpreter" else Path(sys.executable)
    cpus = {10**4} if command == "no such core" else None
    report = launch.run_child(python, [], {}, 256 * MIB, 30, log=tmp_path / "log.txt", cpus=cpus)
    assert report.exit_code is None
    assert str(python) in report.not_started


@pytest.mark.parametrize(
    ("groups", "counter"),
    [
        ("0::/step\n", "sys/fs/cgroup/step/memory.events.local"),
        ("4:memory:/step\n1:cpu:/\n0::/\n", "sys/fs/cgroup/memory/step/memory.oom_control"),
    ],
)
def test_kill_in_the_own_control_group_is_evidence_and_elsewhere_on_the_machine_is_not(
    tmp_path, groups, counter
):
    def write(path: str, text: str) -> None:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    write("proc/self/cgroup", groups)
    kills = limits.OomKills(tmp_path)
    write("proc/vmstat", "nr_free_pages 7\noom_kill 2\n")
    assert kills.on_machine() and not kills.in_group()
    write(counter, "under_oom 0\noom_kill 1\n")
    assert kills.in_group()


def test_the_end_of_a_log_is_text_without_the_folders_of_the_machine(tmp_path):
    log = tmp_path / "log.txt"
    lines = [
        f"{REPOSITORY}/src/stackwars/measure/child.py:1: {HOSTILE} \N{PILE OF POO} \x1b[31m",
        f"{PYTHON.parents[1]}/lib/numpy.py",
        f"{Path.home()}/.cache",
    ]
    log.write_text("\n".join(["first", *lines]), encoding="utf-8")
    found = launch.portable_log(log, PYTHON, ok=False)
    assert found.splitlines() == [
        "first",
        f"./src/stackwars/measure/child.py:1: {HOSTILE} \N{PILE OF POO} ?[31m",
        ".envs/jax-0123/lib/numpy.py",
        "~/.cache",
    ]


def test_of_a_long_log_the_end_is_kept_and_less_where_all_went_well(tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("".join(f"{number} {'x' * 1000}\n" for number in range(100)))
    for ok, most in ((False, 4000), (True, 500)):
        found = launch.portable_log(log, PYTHON, ok)
        assert len(found) == most
        assert log.read_text().strip().endswith(found)
    lines = "\n".join(map(str, range(100))).encode()
    for data, end in (
        (lines, lines.decode()[-59:]),
        (b"\xff\xfe\n", "\N{REPLACEMENT CHARACTER}" * 2),
        (b"", ""),
    ):
        log.write_bytes(data)
        assert launch.portable_log(log, PYTHON, ok=True) == end


def test_work_that_raises_leaves_its_trace_and_never_returns_to_the_caller_s_code(tmp_path, capfd):
    parent, returned = os.getpid(), tmp_path / "returned"
    for code in ("raise ValueError('no such thing')", "raise SystemExit(0)"):
        with capfd.disabled():
            report, printed = forked(tmp_path, code)
        if os.getpid() != parent:
            returned.touch()
            os._exit(0)
        assert report.exit_code == 1 and code[6:16] in printed
    assert report.log_tail and not returned.exists()
