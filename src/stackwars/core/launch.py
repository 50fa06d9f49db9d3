"""The launcher of child processes: one memory cap, one time limit, one report of how a child ended.

A child never outlives its parent, nor the workflow that started it, and it always leaves a report. `Child` is watched
in a thread while its parent goes on; `run_child` waits for its end.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
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
"""Variables that a child process inherits. A list of those that change what is measured would never end: every
library reads its own (DNNL_*, ATEN_*, NPY_*, GLIBC_TUNABLES, GOTO_NUM_THREADS, NVIDIA_TF32_OVERRIDE)."""
PASSED_PREFIXES = ("LC_", "STACKWARS_", "UV_")
"""The same, by their beginning. uv builds environments, and nothing that is measured reads its variables."""
POLL_S = 0.1
RUNNER = "STACKWARS_RUNNER_PID"
"""Environment variable with the process number of the workflow; the child must not outlive it."""
MAX_SAMPLES = 200
"""Samples of a child's memory in its report."""
_KEPT_LINES, _TAIL_LINES = 20, 30
_CHARACTERS, _CHARACTERS_OF_OK = 4000, 500
"""Length of the log in a result; there are many that ended well, and their logs matter less."""

Sample = tuple[float, int]
"""Seconds since the start of the process, and resident bytes then."""


@dataclass(frozen=True)
class ExitReport:
    """The end of a child process.

    exit_code: negative for a signal, as in `subprocess`; None if it was not started, and `not_started` says
    why. log_tail: the last lines of its output. timed_out, over_cap, stopped: its parent killed it, for its
    time, for its memory or because it was asked to. kernel_oom: the kernel killed it for memory; other_oom:
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
    """Return the environment of a child process: PASSED of this process's variables, what is set for every child,
    and `extra`.
    """
    passed = {k: v for k, v in os.environ.items() if k in PASSED or k.startswith(PASSED_PREFIXES)}
    return {
        **passed,
        "PYTHONPATH": str(REPOSITORY / "src"),
        "PYTHONHASHSEED": "0",
        # NumPy alone would ask for 2 MiB pages, and whatever uses its arrays would have them.
        "NUMPY_MADVISE_HUGEPAGE": "0",
        **extra,
    }


def start_child(
    python: Path,
    arguments: Sequence[str],
    environ: dict[str, str],
    cap: int,
    *,
    cwd: Path = REPOSITORY,
    cpus: set[int] | None = None,
    **streams: Any,
) -> subprocess.Popen:
    """Start `python` with these arguments under a cap in bytes, tied to the life of this process.

    cpus: the cores that it may use, None for all. streams: stdin, stdout and the like, as of Popen. Raises
    OSError or SubprocessError if it cannot be started.
    """
    parent = os.getpid()

    def enter() -> None:
        if cpus is not None:
            os.sched_setaffinity(0, cpus)
        limits.enter_child(cap, parent)

    command = [str(python), *arguments]
    return subprocess.Popen(command, cwd=cwd, env=environ, preexec_fn=enter, **streams)


class Child:
    """A process that a thread watches until it ends, whatever its fate.

    deadline: on the clock of time.monotonic, when it is killed; it may be moved at any time.
    """

    def __init__(
        self,
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
    ) -> None:
        """log: file for its output. stop: it is killed once this is true, asked every POLL_S. See `start_child`."""
        self.deadline = deadline
        self._cap, self._log, self._stop = cap, log, stop
        self._kills, self._start = limits.OomKills(), time.monotonic()
        self._report: Future[ExitReport] = Future()
        self.process: subprocess.Popen | None = None
        with log.open("wb") as file:
            try:
                self.process = start_child(
                    python, arguments, environ, cap, cwd=cwd, cpus=cpus, stdout=file, stderr=file, **streams
                )
            except (OSError, subprocess.SubprocessError) as error:
                why = f"expected {python} to start, got {type(error).__name__}: {error}"
                self._report.set_result(ExitReport(None, not_started=why))
                return
        threading.Thread(target=self._watch, daemon=True).start()

    def has_ended(self) -> bool:
        return self._report.done()

    def report(self) -> ExitReport:
        """Wait for the end of the process and return how it ended.

        :raises SystemExit: if the workflow that it belonged to is gone.
        """
        return self._report.result()

    def kill(self) -> None:
        """End the process with its group: a compiler may be a process of its own."""
        if self.process and not self.has_ended():
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def _watch(self) -> None:
        samples: list[Sample] = []

        def record(resident: int) -> None:
            if resident:
                samples.append((time.monotonic() - self._start, resident))

        try:
            pid = self.process.pid
            killed = watch(pid, self._cap, lambda: self.deadline, record, self._stop)
            report = _reap(pid, killed, self._kills, self._start, self._log)
            self.process.returncode = report.exit_code
            thin = thinned(samples, MAX_SAMPLES)
            memory = {"seconds": [round(s, 2) for s, _ in thin], "bytes": [b for _, b in thin]}
            self._report.set_result(replace(report, memory=memory))
        except BaseException as error:
            self._report.set_exception(error)


def run_child(
    python: Path,
    arguments: Sequence[str],
    environ: dict[str, str],
    cap: int,
    timeout_s: float,
    **more: Any,
) -> ExitReport:
    """Run a child to its end and report how it ended; never raises for its fate. more: see `Child`."""
    deadline = time.monotonic() + timeout_s
    child = Child(python, arguments, environ, cap, deadline=deadline, stdin=subprocess.DEVNULL, **more)
    try:
        return child.report()
    finally:
        child.kill()


def run_forked(work: Callable[[], None], cap: int, timeout_s: float, log: Path) -> ExitReport:
    """Run a function in a fork of this process to its end and report how it ended; never raises for its fate.

    For many short runs that need the same slow imports. This process must have no threads yet, except those that watch
    a `Child`.
    """
    kills, parent, start = limits.OomKills(), os.getpid(), time.monotonic()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if not pid:
        _work(work, cap, parent, log)
    return _reap(pid, watch(pid, cap, lambda: start + timeout_s), kills, start, log)


def _reap(
    pid: int, killed: tuple[bool, bool, bool], kills: limits.OomKills, start: float, log: Path
) -> ExitReport:
    """Reap a child that has ended and report how. killed: as of `watch`; start: when it was started."""
    _, wait_status, usage = os.wait4(pid, 0)
    wall_s, kernel_oom = time.monotonic() - start, kills.in_group()
    return ExitReport(
        os.waitstatus_to_exitcode(wait_status),
        tail(log) if log.exists() else "",
        *killed,
        kernel_oom=kernel_oom,
        other_oom=kills.on_machine() and not kernel_oom,
        wall_s=round(wall_s, 3),
        peak_rss_bytes=usage.ru_maxrss * 1024,
    )


def _work(work: Callable[[], None], cap: int, parent: int, log: Path) -> NoReturn:
    """Do the work of a fork, which ends here: the frameworks' teardown can crash after the work is done."""
    status = 1
    try:
        limits.enter_child(cap, parent)
        with log.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        work()
        status = 0
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)  # the log, whatever the parent made of sys.stderr
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.__stderr__.flush()
        os._exit(status)


def watch(
    pid: int,
    cap: int,
    deadline: Callable[[], float],
    record: Callable[[int], None] = lambda resident: None,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[bool, bool, bool]:
    """Wait until the child can be reaped; kill it for its memory, its time, a dead workflow, or `stop`.

    cap: bytes. deadline: returns a time on the clock of time.monotonic. record: gets the resident bytes every POLL_S.
    Returns whether it was killed for its time, for its memory, and because of `stop`.
    """
    runner = int(os.environ.get(RUNNER, os.getpid()))
    timed_out = over_cap = stopped = False
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        resident = limits.resident_bytes(pid)
        record(resident)
        over_cap = resident > cap
        timed_out = time.monotonic() > deadline()
        if not limits.alive(runner):
            os.killpg(pid, signal.SIGKILL)
            sys.exit("the workflow that asked for this cell is gone: the cell was stopped")
        stopped = stop()
        if over_cap or timed_out or stopped:
            os.killpg(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            break
        time.sleep(POLL_S)
    return timed_out, over_cap, stopped


def thinned(samples: Sequence[Sample], most: int) -> list[Sample]:
    """Return the largest of each series of equally many samples, so that the peak is among them; at most `most`.

    >>> thinned([(0.0, 1), (0.1, 5), (0.2, 3), (0.3, 2)], 2)
    [(0.1, 5), (0.2, 3)]
    """
    size = max(1, math.ceil(len(samples) / most))
    return [max(samples[at : at + size], key=lambda sample: sample[1]) for at in range(0, len(samples), size)]


def tail(path: Path, lines: int = _TAIL_LINES) -> str:
    """Return the last lines of a text file."""
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


def printable(text: str) -> str:
    """Return the text with a question mark for each character that a table or a terminal does not take.

    Messages of a framework may hold bytes that are no text, and sequences that control a terminal.
    """
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text.replace("\r\n", "\n"))


def portable_log(path: Path, python: Path, ok: bool) -> str:
    """Return the last lines of a log as a result holds them; python: that of the child.

    Results are committed and published, so folders of this machine are named relative to the repository.
    """
    text = printable(tail(path, _KEPT_LINES))
    folders = {python.parents[2]: ".envs", REPOSITORY: ".", Path.home(): "~"}
    for folder in sorted(folders, key=lambda folder: -len(str(folder))):
        if folder != Path(folder.anchor):
            text = text.replace(str(folder), folders[folder])
    return text[-(_CHARACTERS_OF_OK if ok else _CHARACTERS) :]
