"""From how a child ended to a status: data, never a blank and never a failed pipeline."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

# The texts by which the allocators and compilers of these frameworks refuse memory.
_OUT_OF_MEMORY = re.compile(
    r"RESOURCE_EXHAUSTED|[Oo]ut of memory|can't allocate memory|[Cc]annot allocate memory|std::bad_alloc"
    r"|MemoryError|Unable to allocate|Ran out of memory|would exceed memory|failed to allocate"
    # The loader of shared libraries, which finds no room for their data.
    r"|failed to map segment from shared object",
)
_AT_COMPILE = re.compile(r"Ran out of memory in memory space|would exceed memory|CompileTime\w*Oom")
_PLACES = {
    **dict.fromkeys(("start", "import"), "at import"),
    **dict.fromkeys(("build", "read", "compiled"), "at build"),
}
_NO_PACKAGE = re.compile(r"ModuleNotFoundError: No module named '(?!stackwars)([^']+)'")
# What a child raises where its numbers would mean nothing.
_INVALID = ("FloatingPointError", "ReplayRefused")


def out_of_memory(text: str) -> bool:
    """Whether an allocator or compiler says in this text that it had too little memory."""
    return bool(_OUT_OF_MEMORY.search(text))


@dataclass(frozen=True)
class Ending:
    """How a child ended.

    events: its event lines, oldest first. exit_code: negative for a signal, as in `subprocess`.
    log_tail: last lines of its standard error. timed_out, over_cap: the parent killed it for that.
    kernel_oom: the kernel killed some process for want of memory meanwhile. environment: the name of its
    folder.
    """

    events: list[dict]
    exit_code: int
    log_tail: str
    timed_out: bool = False
    over_cap: bool = False
    kernel_oom: bool = False
    environment: str = "its environment"


def status(ending: Ending) -> tuple[str, str]:
    """(status, status_detail) of a process; the detail is empty for ok, and printable."""
    found, detail = _status(ending)
    return found, printable(detail)


def printable(text: str) -> str:
    """The text with a question mark for each character that a table or a terminal does not take.

    Messages of a framework may hold bytes that are no text, and sequences that control a terminal.
    """
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text.replace("\r\n", "\n"))


def _status(ending: Ending) -> tuple[str, str]:
    names = [event["event"] for event in ending.events]
    phase = next((name for name in reversed(names) if name != "raised"), "start")
    raised = next((event for event in ending.events if event["event"] == "raised"), None)
    if ending.timed_out:
        return "timeout", f"over the time limit; last phase begun or finished: {phase}"
    if ending.over_cap:
        return "oom", f"killed at the cap: last phase begun or finished: {phase}"
    if "end" in names and ending.exit_code == 0:
        return "ok", ""
    text = f"{raised['type']}: {raised['message']}" if raised else ending.log_tail
    if out_of_memory(text):
        return "oom", f"refused {_place(phase, raised, text)}: {_line(text)}"
    if raised and raised["type"] == "NotImplementedError":
        return "unsupported", raised["message"] or text
    if raised and raised["type"] == "TimeoutError":
        return "timeout", raised["message"] or text
    if raised and raised["type"] in _INVALID:
        return "invalid", raised["message"] or text
    if ending.exit_code == -signal.SIGKILL and ending.kernel_oom:
        return "oom", f"killed by the kernel for want of memory: last phase: {phase}"
    if absent := _NO_PACKAGE.search(text):
        return "error", (
            f"no package {absent[1]} in {ending.environment}, which was built with it: delete that folder of "
            f"the environments, and this result, and both are made again\n{text.strip()}"
        )
    if raised:
        return "error", f"{text.strip()} (phase: {phase})"
    return "error", f"{_how(ending.exit_code)} (phase: {phase}); log: {ending.log_tail.strip()}"


def _place(phase: str, raised: dict | None, text: str) -> str:
    if phase in _PLACES:
        return _PLACES[phase]
    if phase != "run":
        return "at run"
    if _AT_COMPILE.search(text) or (raised and raised.get("compiles") == 0):
        return "at compile"
    return "at run"


def _line(text: str) -> str:
    matching = [line for line in text.splitlines() if _OUT_OF_MEMORY.search(line)]
    return matching[0].strip()[:300] if matching else text[:300]


def _how(exit_code: int) -> str:
    if exit_code < 0:
        number = -exit_code
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        return f"ended by {name}, which this harness did not send"
    return f"ended with exit code {exit_code} before its work was done"
