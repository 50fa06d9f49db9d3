"""Load a program file, which is executed: a child process tries it first, with a limit of time and memory."""

from __future__ import annotations

import faulthandler
import io
import os
import re
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

from stackwars import workloads
from stackwars.core import launch, limits
from stackwars.core.launch import ExitReport
from stackwars.explain.files import BadInput
from stackwars.workloads.base import ProgramFileError, Workload

TIMEOUT_S = 60.0
LOADED = "loaded"
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
"""A frame of a traceback by `faulthandler`, the innermost first."""


def load(
    program: str, seed: int, memory_cap_gib: float | str = "auto", timeout_s: float = TIMEOUT_S
) -> Workload:
    """Return the workload of a program file, once a child process has executed it and drawn its inputs.

    What the file prints here afterwards is dropped, and it has no standard input.

    :raises BadInput: with file, line and what happened, if the child did not get through.
    """
    path, cap = Path(program), limits.cap_bytes(memory_cap_gib)
    with tempfile.TemporaryDirectory() as folder:
        found, log = Path(folder, "found"), Path(folder, "log")

        def work() -> None:
            _without_stdin()
            faulthandler.enable(2)
            faulthandler.dump_traceback_later(0.8 * timeout_s, file=2)
            found.write_text(_tried(path, seed))

        report = launch.run_forked(work, cap, timeout_s, log)
        text = found.read_text() if found.exists() else _ending(path, report, log, timeout_s, cap)
    if text != LOADED:
        raise BadInput(" ".join(text.split()))
    _without_stdin()
    try:
        with redirect_stdout(io.StringIO()):
            workload = workloads.load(program)
    except (ValueError, ImportError) as error:
        raise BadInput(str(error)) from None
    # Its inputs() is called again for each search.
    workload.module.print = lambda *_, **__: None
    return workload


def _without_stdin() -> None:
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    sys.stdin = io.StringIO()


def _tried(path: Path, seed: int) -> str:
    """Return LOADED, or what happened as a file was executed and its inputs were drawn."""
    try:
        workload = workloads.load(str(path))
        workload.inputs(workload.DEFAULTS, seed)
    except ProgramFileError as error:
        return str(error)
    except BaseException as error:
        at = workloads.user_line(error) or f"{path.name}:1: "
        return f"{at}expected a file that loads and draws its inputs, got {_exception(error)}; fix: that line"
    return LOADED


def _exception(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _ending(path: Path, report: ExitReport, log: Path, timeout_s: float, cap: int) -> str:
    """Return how the child ended that did not get through."""
    frames = _FRAME.findall(log.read_text(errors="replace")) if log.exists() else []
    line = next((number for file, number in frames if Path(file) == path.resolve()), "1")
    if report.timed_out:
        what, got = f"within {timeout_s:.0f} s", "no end"
    elif report.over_cap or report.kernel_oom:
        what, got = f"within {cap / limits.GIB:.1f} GiB", "more memory"
    else:
        what, got = "and draws its inputs", f"a process that ended with status {report.exit_code}"
    return f"{path.name}:{line}: expected a file that loads {what}, got {got}; fix: that line"
