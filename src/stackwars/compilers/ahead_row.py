"""From how a compilation ended to its row: status, verdict, bytes and what the optimised HLO holds.

The verdict is whether the program fits the device's memory, and who says so: the compiler, or the bytes:

1. The compiler refused the program because the device's main memory (HBM) is too small: `oom`, decided
   by `compiler`. A refusal for want of on-chip memory, or of the host's, is an error and no verdict.
2. It accepted, but arguments + outputs + temporaries - aliases + code are over what a program may use:
   `oom`, decided by `bytes`. libtpu 0.0.21 accepts such programs: it does not add the outputs.
3. It accepted, and the bytes agree: `fits`, decided by `compiler`; decided by `bytes` where the
   compiler never refuses.

The code is in the sum because it lives in HBM: libtpu's own refusals count it ("overlays").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from stackwars.compilers import dump
from stackwars.compilers.hlo_facts import facts
from stackwars.measure.launch import ExitReport, printable

FITS, OOM = "fits", "oom"
MESSAGE_CHARACTERS = 2000
_HBM = re.compile(r"Ran out of memory (on HBM|in memory space hbm)|exceeds? available HBM", re.IGNORECASE)
"""How a compiler refuses a program because the device's main memory is too small."""


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
    message = first_lines(raised["message"]) if raised else ""
    refused = bool(_HBM.search(message))
    status, message = _status(outcome, refused, message)
    result = dump.buffers(outcome.dumped)
    hbm = result.hbm if result else None
    code = accepted["code_bytes"] if accepted else None
    if outcome.assumed_code is not None:
        code, refuses = outcome.assumed_code, False  # it was not asked to the end
    decision = decide(refused, hbm, code or 0, usable, refuses)
    if status != "ok" and decision[0] != OOM:
        decision = ("", "")  # a compiler that did not finish accepted nothing
    compiled = outcome.event("compile_end")
    opened = outcome.event("open")
    hlo, problem = _hlo(outcome.dumped)
    return {
        "status": status,
        "verdict": decision[0],
        "decided_by": decision[1],
        "message": printable(message),
        "argument_bytes": result.argument if result else None,
        "output_bytes": result.output if result else None,
        "temp_bytes": result.temp if result else None,
        "alias_bytes": result.alias if result else None,
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
    said = outcome.report.log_tail.strip()[-MESSAGE_CHARACTERS:]
    return "error", f"the compiler's process ended with {outcome.report.exit_code}; log: {said}"


def usable_bytes(row: dict, compiler: str) -> int | None:
    """Bytes of a target's main memory that a program may use, as this compiler has it; None if unknown.

    row: of the configuration; its `usable_hbm_bytes` maps compilers to bytes, for what a compiler keeps
    for itself differs by generation.
    """
    return row.get("usable_hbm_bytes", {}).get(compiler)


def first_lines(message: str) -> str:
    """Return a refusal without the wire format that libtpu appends."""
    return message.split("[type.googleapis.com")[0].strip()[:MESSAGE_CHARACTERS]


def decide(
    refused: bool, hbm: int | None, code: int, usable: int | None, refuses: bool = True
) -> tuple[str, str]:
    """(verdict, decided_by) by the rule above; both empty where nothing is known.

    refused: the compiler refused for HBM. hbm, code: bytes, None where it told none. usable: of the
    target, None where unknown. refuses: whether this compiler ever refuses.
    """
    if refused:
        return OOM, "compiler"
    if hbm is None:
        return "", ""
    if usable is not None and hbm + code > usable:
        return OOM, "bytes"
    if usable is None and not refuses:
        return "", ""
    return FITS, "compiler" if refuses else "bytes"
