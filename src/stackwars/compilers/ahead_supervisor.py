"""Compiles one program for one absent device in a process of its own, and always leaves a row.

A compiler that crashes or hangs on a program is a row with a status, not a failed run. The process may
use 8 GiB, dies with the workflow that started it, and takes no part in the order of timed cells.

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

import hashlib
import re
import shutil
import sys
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from stackwars.compilers import ahead_reference, dump
from stackwars.core import documents, launch, limits, machine, program_text
from stackwars.core.documents import read_events
from stackwars.core.hlo import facts
from stackwars.core.launch import ExitReport, clean_environ, printable
from stackwars.setup.environments import Unavailable, ensure

FITS, OOM = "fits", "oom"
MESSAGE_CHARACTERS = 2000
_HBM = re.compile(r"Ran out of memory (on HBM|in memory space hbm)|exceeds? available HBM", re.IGNORECASE)
"""How a compiler refuses a program because the device's main memory is too small."""
CHILD = "stackwars.compilers.ahead"
GRACE_S = 3.0
CAP_BYTES = 8 * limits.GIB
SILENT = {
    "JAX_PLATFORMS": "cpu",  # the target is asked for by name; JAX itself must look for nothing
    "TPU_SKIP_MDS_QUERY": "1",  # no metadata server
    "TPU_WORKER_HOSTNAMES": "localhost",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # two compilations at a time; a lock file forbids it otherwise
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "TPU_LOG_DIR": "disabled",
}

_WHERE_TEXT = """// not compiled here: this is the compilation of the accepted run {run}, which keeps no optimised HLO.
// To have it, delete this folder and compile again:
// .venv/bin/snakemake --cores 1 {folder}/ahead.json --config recompile=true
"""


@dataclass(frozen=True)
class CompileJob:
    """One compilation. sizes: of the workload in this variant; target_row, compiler: of the
    configuration; timeout_s: of the whole process, in seconds.

    assumed_code_bytes: None to compile to the end. A number to stop once the buffers are assigned,
    before code generation, which takes most of the time, and to take the code for so large.
    """

    workload: str
    framework: str
    variant: str
    sizes: dict[str, int]
    target: str
    target_row: dict
    compiler: str
    timeout_s: float
    assumed_code_bytes: int | None = None


@dataclass(frozen=True)
class CompilationEnd:
    """How the child ended. events: its lines, oldest first; dumped: the folder that XLA wrote into;
    assumed_code: its parent stopped it once its buffers were assigned, and takes its code for so many bytes."""

    report: ExitReport
    events: list[dict]
    dumped: Path
    assumed_code: int | None = None

    def event(self, name: str) -> dict | None:
        return next((event for event in self.events if event["event"] == name), None)


def row(end: CompilationEnd, usable: int | None, refuses: bool = True) -> dict:
    """The part of ahead.json that the compilation decides.

    usable: bytes of the target's memory; refuses: whether this compiler refuses what is over them.

    A compilation that ended with the process dying is ok if the compiler had already accepted the
    program. One that did not come that far has no verdict, unless the buffers that it had assigned by
    then are over what is usable: code generation, which takes most of the time, would not have made
    them smaller.
    """
    raised, accepted = end.event("raised"), end.event("accepted")
    message = first_lines(raised["message"]) if raised else ""
    refused = bool(_HBM.search(message))
    status, message = _status(end, refused, message)
    result = dump.buffers(end.dumped)
    hbm = result.hbm if result else None
    code = accepted["code_bytes"] if accepted else None
    if end.assumed_code is not None:
        code, refuses = end.assumed_code, False  # it was not asked to the end
    decision = decide(refused, hbm, code or 0, usable, refuses)
    if status != "ok" and decision[0] != OOM:
        decision = ("", "")  # a compiler that did not finish accepted nothing
    compiled = end.event("compile_end")
    opened = end.event("open")
    hlo, problem = _hlo(end.dumped)
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


def _status(end: CompilationEnd, refused: bool, message: str) -> tuple[str, str]:
    if end.report.not_started:
        return "error", end.report.not_started
    if end.report.timed_out:
        last = end.events[-1]["event"] if end.events else "start"
        return "timeout", f"over the time limit; last phase begun or finished: {last}"
    if end.report.over_cap:
        return "error", "the compiler's process was killed at its memory cap"
    if end.assumed_code is not None:
        return "ok", "stopped once its buffers were assigned; the size of its code is assumed"
    if refused or end.event("accepted"):
        return "ok", message
    if message:
        return "error", message
    said = end.report.log_tail.strip()[-MESSAGE_CHARACTERS:]
    return "error", f"the compiler's process ended with {end.report.exit_code}; log: {said}"


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


class _Stop:
    """Whether to stop a compilation whose buffers are assigned: GRACE_S later, for a refusal follows at once."""

    def __init__(self, dumped: Path) -> None:
        self._dumped = dumped
        self._assigned_s: float | None = None

    def __call__(self) -> bool:
        if self._assigned_s is None and dump.buffers_assigned(self._dumped):
            self._assigned_s = time.monotonic()
        return self._assigned_s is not None and time.monotonic() - self._assigned_s > GRACE_S


def compile_in_child(job: CompileJob, python: Path, program: Path, folder: Path) -> dict:
    """Compile `program` in a child and return the document of ahead.json; never raises for its fate.

    folder: made afresh; left with the document and optimised.hlo.gz, and with nothing else.
    """
    shutil.rmtree(folder, ignore_errors=True)
    scratch = folder / "scratch"
    dumped = scratch / "dump"
    dumped.mkdir(parents=True)
    spec = {**asdict(job), "program": str(program.resolve())}
    documents.write(scratch / "spec.json", spec)
    started = datetime.now(UTC)
    early = {} if job.assumed_code_bytes is None else {"stop": _Stop(dumped)}
    report = launch.run_child(
        python, ["-m", CHILD, str(scratch.resolve())], _environ(scratch, dumped), CAP_BYTES, job.timeout_s,
        log=scratch / "log.txt", cwd=scratch, **early,
    )  # fmt: skip
    assumed = job.assumed_code_bytes if report.stopped else None
    end = CompilationEnd(report, read_events(scratch), dumped, assumed)
    result = _document(job, program, end, started, python.parents[1].name)
    text, _ = dump.optimised_hlo(dumped)
    _write(result, text, folder)
    shutil.rmtree(scratch)
    return result


def _document(
    job: CompileJob, program: Path, end: CompilationEnd, started: datetime, environment: str = ""
) -> dict:
    """Return the content of ahead.json."""
    # XLA for GPUs does not refuse programs that are too large.
    refuses = job.target_row["platform"] != "cuda"
    return {
        "schema": 1,
        **{key: value for key, value in asdict(job).items() if key != "target_row"},
        "program_sha256": hashlib.sha256(program_text.read(program).encode()).hexdigest(),
        **row(end, ahead_reference.usable_bytes(job.target_row, job.compiler), refuses),
        "wall_s": end.report.wall_s,
        "peak_rss_bytes": end.report.peak_rss_bytes,
        "memory_cap_bytes": CAP_BYTES,
        "started_utc": started.isoformat(timespec="seconds"),
        "machine": machine.record(),
        "source": machine.revision(),
        "environment": environment,
    }


def _write(found: dict, text: str | None, folder: Path) -> None:
    """ahead.json, and optimised.hlo.gz with the text or why there is none."""
    if text is None:
        why = (found["message"] or found["hlo_problem"]).splitlines()[0]
        text = f"// no optimised HLO: {found['status']}: {why}\n"
    program_text.write(folder / "optimised.hlo.gz", text)
    documents.write(folder / "ahead.json", found)


def unsupported(job: CompileJob, program: Path, why: str, folder: Path) -> dict:
    """The document of a compilation that cannot be, written to `folder`.

    Its compiler cannot be had with this Python, or there is no program.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    result = {
        **_document(job, program, CompilationEnd(ExitReport(None), [], dumped=folder), datetime.now(UTC)),
        "status": "unsupported",
        "message": why,
    }
    _write(result, None, folder)
    return result


def _environ(folder: Path, dumped: Path) -> dict[str, str]:
    # XLA divides its flags at blanks, which the path of a checkout may have: a name relative to `folder`.
    flags = dump.flags(dumped.relative_to(folder))
    environ = clean_environ({"XLA_FLAGS": flags, "TMPDIR": str(folder.resolve())})
    # What a machine with a TPU says of its own would be taken for the target's.
    return {k: v for k, v in environ.items() if not k.startswith("TPU_")} | SILENT


def compile_into(job: CompileJob, pins: Path, program: Path, output: Path) -> dict:
    """Compile in the environment of the pins; write the folder `output` whole or not at all."""
    output.parent.mkdir(parents=True, exist_ok=True)
    part = output.with_name(output.name + ".part")
    why = program_text.missing_reason(program_text.read(program))
    try:
        python = ensure(pins)
    except Unavailable as error:
        why = why or str(error)
    result = unsupported(job, program, why, part) if why else compile_in_child(job, python, program, part)
    shutil.rmtree(output, ignore_errors=True)
    part.rename(output)
    return result


def compile_or_take(
    job: CompileJob, pins: Path, program: Path, output: Path, source: ahead_reference.Source
) -> dict:
    """Write the folder `output` from the reference if it has the same compilation, else as `compile_into`."""
    digest = hashlib.sha256(program_text.read(program).encode()).hexdigest()
    key = ahead_reference.key(source.versions["ahead"], asdict(job), digest, pins)
    result = source.result(output / "ahead.json", key, lambda: compile_into(job, pins, program, output))
    if result.get("origin") == ahead_reference.TAKEN:
        shutil.rmtree(output, ignore_errors=True)
        output.mkdir(parents=True)
        _write(result, _WHERE_TEXT.format(run=result.get("run", ""), folder=output), output)
    else:
        documents.write(output / "ahead.json", result)
    return result


def main() -> None:
    """`python -m stackwars.compilers.ahead_supervisor`: one program, one target, one compiler.

    --code-from: stop once the buffers are assigned, and take the size of the code from this ahead.json.
    """
    arguments = documents.parse_arguments(
        main.__doc__, "job", "pins", "program", "output", "source", code_from={"type": Path}
    )
    job = CompileJob(**documents.read(arguments.job))
    if arguments.code_from:
        code = documents.read(arguments.code_from)["code_bytes"] or 0
        job = replace(job, assumed_code_bytes=code)
    source = ahead_reference.Source(**documents.read(arguments.source))
    result = compile_or_take(job, arguments.pins, arguments.program, arguments.output, source)
    name = f"{job.framework} {job.workload} {job.variant} for {job.target} by {job.compiler}"
    said = result["verdict"] or result["status"]
    how = "from the reference" if result.get("origin") else f"{result['wall_s']:.0f} s"
    print(f"[stackwars] {name}: {said}, {how}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
