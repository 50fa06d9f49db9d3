"""From how a compilation ended to its row: status, verdict, bytes and what the optimised HLO holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stackwars.compilers import dump, memory_verdict
from stackwars.compilers.hlo_facts import facts
from stackwars.measure.launch import ExitReport, printable


@dataclass(frozen=True)
class Outcome:
    """How the child ended. events: its lines, oldest first; dumped: the folder that XLA wrote into;
    assumed_code: its parent stopped it once its buffers were assigned, and takes its code for so many bytes."""

    report: ExitReport
    events: list[dict]
    dumped: Path
    assumed_code: int | None = None

    def event(self, name: str) -> dict | None:
        return next((event for event in self.events if event["event"] == name), None)


def row(outcome: Outcome, usable: int | None, refuses: bool = True) -> dict:
    """The part of ahead.json that the compilation decides.

    usable: bytes of the target's memory; refuses: whether this compiler refuses what is over them.

    A compilation that ended with the process dying is ok if the compiler had already accepted the
    program. One that did not come that far has no verdict, unless the buffers that it had assigned by
    then are over what is usable: code generation, which takes most of the time, would not have made
    them smaller.
    """
    raised, accepted = outcome.event("raised"), outcome.event("accepted")
    message = memory_verdict.first_lines(raised["message"]) if raised else ""
    refused = memory_verdict.refused_for_memory(message)
    status, message = _status(outcome, refused, message)
    found = dump.buffers(outcome.dumped)
    hbm = found.hbm if found else _told(message, "needed")
    code = accepted["code_bytes"] if accepted else None
    if outcome.assumed_code is not None:
        code, refuses = outcome.assumed_code, False  # it was not asked to the end
    decision = memory_verdict.decide(refused, hbm, code or 0, usable, refuses)
    if status != "ok" and decision[0] != memory_verdict.OOM:
        decision = ("", "")  # a compiler that did not finish accepted nothing
    compiled = outcome.event("compile_end")
    opened = outcome.event("open")
    hlo, problem = _hlo(outcome.dumped)
    return {
        "status": status,
        "verdict": decision[0],
        "decided_by": decision[1],
        "message": printable(message),
        "argument_bytes": found.argument if found else _told(message, "argument"),
        "output_bytes": found.output if found else _told(message, "output"),
        "temp_bytes": found.temp if found else None,
        "alias_bytes": found.alias if found else _told(message, "alias"),
        "hbm_bytes": hbm,
        "usable_bytes": usable,
        "code_bytes": code,
        "compile_s": round(compiled["seconds"], 3) if compiled else None,
        "versions": opened["versions"] if opened else {},
        "device_kind": opened["device_kind"] if opened else "",
        "hlo": hlo,
        "hlo_problem": problem,
    }


def _hlo(dumped: Path) -> tuple[dict | None, str]:
    """The facts of the optimised HLO, or why there are none."""
    text, moment = dump.optimised_hlo(dumped)
    if text is None:
        return None, "the compiler left no optimised HLO"
    try:
        return {"moment": moment, **facts(text, estimated=moment == "codegen")}, ""
    except Exception as error:  # the verdict stands, whatever form a compiler's text may take
        return None, f"the optimised HLO was not understood: {type(error).__name__}: {error}"


def _status(outcome: Outcome, refused: bool, message: str) -> tuple[str, str]:
    if outcome.report.not_started:
        return "error", outcome.report.not_started
    if outcome.report.timed_out:
        last = outcome.events[-1]["event"] if outcome.events else "start"
        return "timeout", f"over the time limit; last phase begun or finished: {last}"
    if outcome.report.over_cap:
        return "error", "the compiler's process was killed at its memory cap"
    if outcome.assumed_code is not None:
        return "ok", "stopped once its buffers were assigned; the size of its code is assumed"
    if refused or outcome.event("accepted"):
        return "ok", message
    if message:
        return "error", message
    said = outcome.report.log_tail.strip()[-memory_verdict.MESSAGE_CHARACTERS :]
    return "error", f"the compiler's process ended with {outcome.report.exit_code}; log: {said}"


def _told(message: str, name: str) -> int | None:
    return memory_verdict.figures(message).get(name)
