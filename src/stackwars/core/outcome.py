"""Outcomes of programs, calls and processes, derived from an exception or from how a process died.

docs/glossary.md says what each status means.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from enum import StrEnum

from stackwars.core.launch import ExitReport, printable


class Status(StrEnum):
    OK = "ok"
    WRONG = "wrong"
    NOT_JUDGED = "not judged"
    UNSUPPORTED = "unsupported"
    CRASH = "crash"
    TIMEOUT = "timeout"
    OOM = "oom"
    INVALID = "invalid"
    ERROR = "error"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Outcome:
    """status: how it ended. detail: what happened, in words, with the compiler's message. signature: equal for
    failures with one cause; "" for an outcome that is not a failure.
    """

    status: Status
    detail: str = ""
    signature: str = ""


class Failed(Exception):
    """A command of a worker did not succeed; a crash or a timeout ended its process."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.detail)
        self.outcome = outcome


_RAISED = {
    "NotImplementedError": Status.UNSUPPORTED,
    "TimeoutError": Status.TIMEOUT,
    "CompilerCrash": Status.CRASH,
    "FloatingPointError": Status.INVALID,  # its numbers would mean nothing
}
"""Statuses of exceptions by their type's name: a child of another environment can send no more."""


def out_of_memory(text: str) -> bool:
    """Return whether an allocator or compiler says in this text that it had too little memory."""
    refusals = (
        r"RESOURCE_EXHAUSTED|[Oo]ut of memory|can't allocate memory|[Cc]annot allocate memory|std::bad_alloc"
        r"|MemoryError|Unable to allocate|Ran out of memory|would exceed memory|failed to allocate"
        # The loader of shared libraries, which finds no room for their data.
        r"|failed to map segment from shared object"
    )
    return bool(re.search(refusals, text))


def of_exception(kind: str, message: str, otherwise: Status = Status.ERROR) -> Outcome:
    """Return the outcome of work that raised.

    kind: the name of the exception's type. otherwise: the status of an exception that is not in _RAISED; UNSUPPORTED
    for a compiler's.
    """
    text = f"{kind}: {message}"
    if out_of_memory(text):
        return Outcome(Status.OOM, text, "out of memory")
    status = _RAISED.get(kind, otherwise)
    if kind == "CompilerCrash":
        return Outcome(status, brief(message), f"{message.partition(' ')[0]} in load")
    return Outcome(
        status, message if kind in _RAISED else text, "" if status is Status.TIMEOUT else reason(text)
    )


def of_death(code: int, command: str, printed: str) -> Outcome:
    """Return the outcome of a command that ended its process. code: as in `subprocess`. printed: the last line."""
    name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
    detail = f"{name} in {command}" + (f"; last line: {printed}" if printed else "")
    if out_of_memory(printed):
        return Outcome(Status.OOM, detail, "out of memory")
    return Outcome(Status.CRASH, detail, f"{name} in {command}")


def reason(message: str) -> str:
    """Return a compiler's message without parts that depend on the program: places, names, numbers, types.

    >>> reason("RuntimeError: in.mlir:3:8: error: failed to legalize 'chlo.scan' on %3 : tensor<2xf32>")
    "error: failed to legalize 'chlo.scan' on N : N"
    """
    line = brief(message)
    line = line[line.index("error:") :] if "error:" in line else line
    particulars = r"\S*\.mlir:\d+:\d+|tensor<[^>]*>|[%@#][\w.#]+|0x[0-9a-fA-F]+|\d+"
    return re.sub(r"\s+", " ", re.sub(particulars, "N", line)).strip()[:200]


def brief(message: str) -> str:
    """Return the first line that mentions an error; the first line if none does."""
    lines = [line for line in message.splitlines() if "error" in line.lower()] or message.splitlines() or [""]
    return lines[0].strip()[:400]


def status(report: ExitReport, events: list[dict], environment: str = "its environment") -> tuple[Status, str]:
    """Return (status, detail) of a process that ended; the detail is empty for ok, and printable.

    events: its event lines, oldest first. environment: the name of its folder.
    """
    result, detail = _status(report, events, environment)
    return result, printable(detail)


def _status(report: ExitReport, events: list[dict], environment: str) -> tuple[Status, str]:
    if report.not_started:
        return Status.ERROR, report.not_started
    names = [event["event"] for event in events]
    phase = next((name for name in reversed(names) if name != "raised"), "start")
    raised = next((event for event in events if event["event"] == "raised"), None)
    if report.timed_out:
        return Status.TIMEOUT, f"over the time limit; last phase begun or finished: {phase}"
    if report.over_cap:
        return Status.OOM, f"killed at the cap: last phase begun or finished: {phase}"
    if "end" in names and report.exit_code == 0:
        return Status.OK, ""
    text = f"{raised['type']}: {raised['message']}" if raised else report.log_tail
    if out_of_memory(text):
        line = next(line for line in text.splitlines() if out_of_memory(line))
        return Status.OOM, f"refused {_place(phase, raised, text)}: {line.strip()[:300]}"
    if raised and raised["type"] in _RAISED:
        return of_exception(raised["type"], raised["message"] or text).status, raised["message"] or text
    if report.exit_code == -signal.SIGKILL and report.kernel_oom:
        return Status.OOM, f"killed by the kernel, which had too little memory: last phase: {phase}"
    if absent := re.search(r"ModuleNotFoundError: No module named '(?!stackwars)([^']+)'", text):
        return Status.ERROR, (
            f"no package {absent[1]} in {environment}, which was built with it: delete that folder of "
            f"the environments, and this result, and both are made again\n{text.strip()}"
        )
    if raised:
        return Status.ERROR, f"{text.strip()} (phase: {phase})"
    kind = Status.CRASH if report.exit_code < 0 else Status.ERROR
    return kind, f"{_how(report)} (phase: {phase}); log: {report.log_tail.strip()}"


def _place(phase: str, raised: dict | None, text: str) -> str:
    if phase in ("start", "import"):
        return "at import"
    if phase in ("build", "read", "compiled"):
        return "at build"
    at_compile = re.search(r"Ran out of memory in memory space|would exceed memory|CompileTime\w*Oom", text)
    has_compiled = not (at_compile or (raised and raised.get("compiles") == 0))
    return "at run" if phase != "run" or has_compiled else "at compile"


def _how(report: ExitReport) -> str:
    if report.exit_code >= 0:
        return f"ended with exit code {report.exit_code} before its work was done"
    number = -report.exit_code
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    how = f"ended by {name}, which this harness did not send"
    if number == signal.SIGKILL and report.other_oom:
        return (
            f"{how}; meanwhile the kernel killed a process of this machine for memory, but nothing shows that it "
            "was this one"
        )
    return how
