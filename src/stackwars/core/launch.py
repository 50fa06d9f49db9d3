"""The launcher of child processes: one memory cap, one time limit, one report of how a child ended.

A child never outlives its parent, nor the workflow that started it, and it always leaves a report.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

from stackwars.core import limits

REPOSITORY = Path(__file__).resolve().parents[3]
PASSED = frozenset(
    [
        # Where programs and this user's files are, and how text is shown.
        *("PATH", "HOME", "USER", "LOGNAME", "TERM", "COLUMNS", "NO_COLOR", "LANG", "LANGUAGE", "TZ"),
        *("TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
        # Without it the Python of a module system does not start, and no driver outside the usual places is found.
        "LD_LIBRARY_PATH",
        # The compiler of TorchInductor, whose version is recorded.
        "CXX",
        # How a child that builds an environment reaches the package index.
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "NETRC"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
        *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
        # Which accelerators a scheduler gave to this job, and the place of a TPU in its host.
        *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"),
        *("TPU_ACCELERATOR_TYPE", "TPU_CHIPS_PER_HOST_BOUNDS", "TPU_HOST_BOUNDS", "TPU_LIBRARY_PATH"),
        *("TPU_SKIP_MDS_QUERY", "TPU_TOPOLOGY", "TPU_VISIBLE_CHIPS", "TPU_WORKER_HOSTNAMES", "TPU_WORKER_ID"),
        # The node of a cluster, which a result names.
        "SLURMD_NODENAME",
    ]
)
"""Variables that a child process inherits. A list of all variables that change a measurement would never end: every
library reads its own (DNNL_*, ATEN_*, NPY_*, GLIBC_TUNABLES, GOTO_NUM_THREADS, NVIDIA_TF32_OVERRIDE)."""
PASSED_PREFIXES = ("LC_", "STACKWARS_", "UV_")
"""Prefixes of further inherited variables. uv builds environments, and nothing that is measured reads its variables."""
POLL_S = 0.1
RUNNER = "STACKWARS_RUNNER_PID"
"""Environment variable with the process number of the workflow; the child must not outlive it."""


@dataclass(frozen=True)
class ExitReport:
    """The end of a child process.

    exit_code: negative for a signal, as in `subprocess`; None if it was not started, and `not_started` says
    why. log_tail: the last lines of its output. timed_out, over_cap, stopped: its parent killed it for its time, for
    its memory or on request. kernel_oom: the kernel killed it for memory; other_oom:
    the kernel killed some process meanwhile, and nothing shows that it was this one. memory: its resident
    bytes over time, {"seconds", "bytes"}.
    """

    exit_code: int | None
    log_tail: str = ""
    timed_out: bool = False
    over_cap: bool = False
    stopped: bool = False
    kernel_oom: bool = False
    other_oom: bool = False
    not_started: str = ""
    wall_s: float = 0.0
    peak_rss_bytes: int = 0
    memory: dict[str, list] = field(default_factory=lambda: {"seconds": [], "bytes": []})


def clean_environ(extra: dict[str, str]) -> dict[str, str]:
    """Return the environment of a child process: inherited variables, those that every child has, and `extra`."""
    passed = {k: v for k, v in os.environ.items() if k in PASSED or k.startswith(PASSED_PREFIXES)}
    return {
        **passed,
        "PYTHONPATH": str(REPOSITORY / "src"),
        "PYTHONHASHSEED": "0",
        # NumPy alone would request 2 MiB pages, and every user of its arrays would have them.
        "NUMPY_MADVISE_HUGEPAGE": "0",
        **extra,
    }


def start_child(
    python: Path,
    arguments: Sequence[str],
    environ: dict[str, str],
    cap: int,
    *,
    log: Path,
    cwd: Path = REPOSITORY,
    cpus: set[int] | None = None,
    deadline: float = math.inf,
    stop: Callable[[], bool] = lambda: False,
    **streams: Any,
) -> Child:
    """Start `python` with these arguments under a cap in bytes, tied to the life of this process.

    log: file for its output. cpus: the cores that it may use, None for all. streams: stdin and the like, as in Popen.
    deadline, stop: see `Child`.
    """
    parent = os.getpid()

    def enter() -> None:
        if cpus is not None:
            os.sched_setaffinity(0, cpus)
        limits.enter_child(cap, parent)

    def start() -> subprocess.Popen:
        command = [str(python), *arguments]
        with log.open("wb") as file:
            try:
                return subprocess.Popen(
                    command, cwd=cwd, env=environ, preexec_fn=enter, stdout=file, stderr=file, **streams
                )
            except (OSError, subprocess.SubprocessError) as error:
                why = f"expected {python} to start, got {type(error).__name__}: {error}"
                raise OSError(why) from None

    return Child(start, cap, log, deadline, stop)


class Child:
    """A process under limits. Every wait for one child applies the limits of all (`look`).

    No thread applies them: a child is a fork of this process, and a fork of a process with threads can hang before it
    starts. process: has `pid` and `returncode`, as a Popen has; None if it could not be started. deadline: when it is
    killed, on the clock of time.monotonic; it may be moved at any time.
    """

    def __init__(
        self, start: Callable[[], Any], cap: int, log: Path, deadline: float, stop: Callable[[], bool]
    ) -> None:
        """start: returns the process. cap: limits its resident bytes. stop: it is killed once this returns true."""
        self.deadline = deadline
        self._cap, self._log, self._stop = cap, log, stop
        self._samples: list[tuple[float, int]] = []  # seconds since the start, and resident bytes then
        self._report: ExitReport | None = None
        self._kills, self._start = limits.OomKills(), time.monotonic()
        self.process = None
        try:
            self.process = start()
        except OSError as error:
            self._report = ExitReport(None, not_started=str(error))
        else:
            _running.append(self)

    def has_ended(self) -> bool:
        """Return whether it had ended at the last look."""
        return self._report is not None

    def report(self) -> ExitReport:
        """Wait for the end of the process and return how it ended."""
        while self._report is None:
            look()
            if self._report is None:
                time.sleep(POLL_S)
        return self._report

    def kill(self, **why: bool) -> None:
        """End the process. why: fields of its report."""
        if self._report is None:
            os.kill(self.process.pid, signal.SIGKILL)
            self._reap(**why)

    def look(self) -> None:
        """Reap the process if it has ended; kill it for its memory, its time or `stop`."""
        if os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            self._reap()
            return
        now, resident = time.monotonic(), limits.resident_bytes(self.process.pid)
        if resident:
            self._samples.append((now - self._start, resident))
        why = {"timed_out": now > self.deadline, "over_cap": resident > self._cap, "stopped": self._stop()}
        if any(why.values()):
            self.kill(**why)

    def _reap(self, **why: bool) -> None:
        pid = self.process.pid
        # Until it is reaped, no other group has its number.
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # a compiler may be a process of its own
        _, wait_status, usage = os.wait4(pid, 0)
        _running.remove(self)
        self.process.returncode = os.waitstatus_to_exitcode(wait_status)
        samples, kernel_oom = thinned(self._samples, 200), self._kills.in_group()
        self._report = ExitReport(
            self.process.returncode,
            tail(self._log) if self._log.exists() else "",
            kernel_oom=kernel_oom,
            other_oom=self._kills.on_machine() and not kernel_oom,
            wall_s=round(time.monotonic() - self._start, 3),
            peak_rss_bytes=usage.ru_maxrss * 1024,
            memory={"seconds": [round(s, 2) for s, _ in samples], "bytes": [b for _, b in samples]},
            **why,
        )


_running: list[Child] = []
_next_look = 0.0


def look() -> None:
    """Apply the limits of all children of this process, at most every POLL_S.

    :raises SystemExit: if the workflow that this process belongs to is gone; its children are ended first.
    """
    global _next_look
    if time.monotonic() < _next_look:
        return
    _next_look = time.monotonic() + POLL_S
    runner = os.environ.get(RUNNER)
    if runner and not limits.alive(int(runner)):
        for child in list(_running):
            child.kill()
        sys.exit("the workflow that asked for this cell is gone: the cell was stopped")
    for child in list(_running):
        child.look()


def run_child(
    python: Path, arguments: Sequence[str], environ: dict[str, str], cap: int, timeout_s: float, **more: Any
) -> ExitReport:
    """Run a child to its end and report how it ended; never raises for its fate. more: see `start_child`."""
    limited = {"stdin": subprocess.DEVNULL, "deadline": time.monotonic() + timeout_s}
    return start_child(python, arguments, environ, cap, **limited, **more).report()


def run_forked(work: Callable[[], None], cap: int, timeout_s: float, log: Path) -> ExitReport:
    """Run a function in a fork of this process to its end and report how it ended; never raises for its fate.

    For many short runs that need the same slow imports. This process must have no threads yet.
    """
    parent = os.getpid()

    def start() -> SimpleNamespace:
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if not pid:
            _work(work, cap, parent, log)
        return SimpleNamespace(pid=pid, returncode=None)

    return Child(start, cap, log, time.monotonic() + timeout_s, lambda: False).report()


def _work(work: Callable[[], None], cap: int, parent: int, log: Path) -> NoReturn:
    """Do the work of a fork, which ends here: the frameworks' teardown can crash after the work is done."""
    status = 1
    try:
        _running.clear()  # the children of the parent
        limits.enter_child(cap, parent)
        with log.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        work()
        status = 0
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)  # the log, even if the parent replaced sys.stderr
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.__stderr__.flush()
        os._exit(status)


def thinned(samples: Sequence[tuple[float, int]], most: int) -> list[tuple[float, int]]:
    """Return the largest of each series of equally many samples, so that the peak is among them; at most `most`.

    >>> thinned([(0.0, 1), (0.1, 5), (0.2, 3), (0.3, 2)], 2)
    [(0.1, 5), (0.2, 3)]
    """
    size = max(1, math.ceil(len(samples) / most))
    return [max(samples[at : at + size], key=lambda sample: sample[1]) for at in range(0, len(samples), size)]


def tail(path: Path, lines: int = 30) -> str:
    """Return the last lines of a text file."""
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


def printable(text: str) -> str:
    """Return the text with a question mark for each character that a table or a terminal does not take.

    Messages of a framework may hold bytes that are no text, and sequences that control a terminal.
    """
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text.replace("\r\n", "\n"))


def portable_log(path: Path, python: Path, ok: bool) -> str:
    """Return the last lines of a log as a result holds them. python: the child's Python.

    Results are committed and published, so folders of this machine are named relative to the repository.
    """
    text = printable(tail(path, 20))
    folders = {python.parents[2]: ".envs", REPOSITORY: ".", Path.home(): "~"}
    for folder in sorted(folders, key=lambda folder: -len(str(folder))):
        if folder != Path(folder.anchor):
            text = text.replace(str(folder), folders[folder])
    # Most processes end well, and their logs matter less.
    return text[-(500 if ok else 4000) :]
