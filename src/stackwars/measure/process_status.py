"""From how a child ended to a status: data, never a blank and never a failed pipeline."""

from __future__ import annotations

import re
import signal

from stackwars.measure.launch import ExitReport, printable

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
_RAISED = {
    "NotImplementedError": "unsupported",
    "TimeoutError": "timeout",
    "CompilerCrash": "crash",
    "FloatingPointError": "invalid",  # its numbers would mean nothing
}


def out_of_memory(text: str) -> bool:
    """Whether an allocator or compiler says in this text that it had too little memory."""
    return bool(_OUT_OF_MEMORY.search(text))


def status(report: ExitReport, events: list[dict], environment: str = "its environment") -> tuple[str, str]:
    """Return (status, status_detail) of a process; the detail is empty for ok, and printable.

    events: its event lines, oldest first. environment: the name of its folder.
    """
    result, detail = _status(report, events, environment)
    return result, printable(detail)


def _status(report: ExitReport, events: list[dict], environment: str) -> tuple[str, str]:
    if report.not_started:
        return "error", report.not_started
    names = [event["event"] for event in events]
    phase = next((name for name in reversed(names) if name != "raised"), "start")
    raised = next((event for event in events if event["event"] == "raised"), None)
    if report.timed_out:
        return "timeout", f"over the time limit; last phase begun or finished: {phase}"
    if report.over_cap:
        return "oom", f"killed at the cap: last phase begun or finished: {phase}"
    if "end" in names and report.exit_code == 0:
        return "ok", ""
    text = f"{raised['type']}: {raised['message']}" if raised else report.log_tail
    if out_of_memory(text):
        return "oom", f"refused {_place(phase, raised, text)}: {_line(text)}"
    if raised and raised["type"] in _RAISED:
        return _RAISED[raised["type"]], raised["message"] or text
    if report.exit_code == -signal.SIGKILL and report.kernel_oom:
        return "oom", f"killed by the kernel for want of memory: last phase: {phase}"
    if absent := _NO_PACKAGE.search(text):
        return "error", (
            f"no package {absent[1]} in {environment}, which was built with it: delete that folder of "
            f"the environments, and this result, and both are made again\n{text.strip()}"
        )
    if raised:
        return "error", f"{text.strip()} (phase: {phase})"
    kind = "crash" if report.exit_code < 0 else "error"
    return kind, f"{_how(report)} (phase: {phase}); log: {report.log_tail.strip()}"


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
