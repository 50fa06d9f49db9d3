"""Compile one program for one absent device in a process of its own, and always write a row.

A compiler that crashes or hangs on a program gives a row with a status, not a failed run. The process may use 8 GiB
and dies with the workflow that started it.

The verdict is whether the program fits the device's memory, decided by the compiler or by the bytes:

1. The compiler refused the program because the device's main memory (HBM) is too small: `oom`, decided by `compiler`.
   A refusal because of on-chip memory, or of the host's, is an error and no verdict.
2. The compiler accepted, but arguments + outputs + temporaries - aliases + code exceed what a program may use: `oom`,
   decided by `bytes`. libtpu 0.0.21 accepts such programs: it does not add the outputs.
3. The compiler accepted, and the bytes agree: `fits`, decided by `compiler`; by `bytes` if the compiler never refuses.

The code is in the sum because it lives in HBM: libtpu's own refusals count it ("overlays").

Bytes and optimised HLO are read from the folder of `--xla_dump_to`: `hlo_modules()` of an executable fails on large
programs of libtpu 0.0.51, and a refused program has no executable. The sum of the buffers in the main memory is what
libtpu 0.0.51 itself compares with the memory available (32.26G in its refusal, 32.2613 GiB in the buffers); the
temporaries in an executable's memory statistics omit small buffers.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from stackwars.core import buffers as assignments
from stackwars.core import documents, launch, limits, machine, program_text
from stackwars.core.buffers import Buffers
from stackwars.core.documents import read_events
from stackwars.core.hlo import facts
from stackwars.core.launch import ExitReport, clean_environ, printable
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.setup.environments import Unavailable, ensure

FITS, OOM = "fits", "oom"
MESSAGE_CHARACTERS = 2000
_HBM = re.compile(r"Ran out of memory (on HBM|in memory space hbm)|exceeds? available HBM", re.IGNORECASE)
"""Words of a compiler that refuses a program because the device's main memory is too small."""
CHILD = "stackwars.measure.stablehlo.ahead"
GRACE_S = 3.0
"""Seconds from the assignment of buffers to the stop: a refusal follows the assignment at once."""
WRITTEN_S = 1.0
"""Seconds until the files of an assignment are written."""
CAP_BYTES = 8 * limits.GIB
SILENT = {
    "JAX_PLATFORMS": "cpu",  # JAX must not look for a device; the target is opened by name
    "TPU_SKIP_MDS_QUERY": "1",  # no metadata server
    "TPU_WORKER_HOSTNAMES": "localhost",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # two compilations at a time; a lock file forbids it otherwise
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "TPU_LOG_DIR": "disabled",
}
_ASSIGNMENT = f"after_optimizations-{assignments.FILE}"
"""Suffix of the file with a program's buffers."""
# module_0001.jit_f.cl_795515814.after_codegen.txt; a GPU's has .sm_9.0_gpu_after_optimizations.txt
_MODULE = re.compile(r"module_(\d+)\.(.+?)\.(?:cl_\d+\.|sm_|before_|after_|gpu_)")


@dataclass(frozen=True)
class CompileJob:
    """One compilation. sizes: the workload's in this variant; target_row, compiler: the configuration's;
    timeout_s: for the process.

    assumed_code_bytes: None to compile to the end. A number stops the compilation once the buffers are assigned,
    before code generation, which takes most of the time, and is the assumed size of the code.
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
    """The end of the child. events: its lines, oldest first; dumped: the folder that XLA wrote into; assumed_code: the
    assumed bytes of code if the parent stopped the child once its buffers were assigned."""

    report: ExitReport
    events: list[dict]
    dumped: Path
    assumed_code: int | None = None

    def event(self, name: str) -> dict | None:
        """Return the first event with this name."""
        return next((event for event in self.events if event["event"] == name), None)


def row(end: CompilationEnd, usable: int | None, refuses: bool = True) -> dict:
    """Return the part of ahead.json that the compilation decides.

    usable: bytes of the target's memory; refuses: whether this compiler refuses programs that exceed them.

    If the process died after the compiler had accepted the program, the compilation is ok. If it died before, there
    is no verdict, unless the buffers assigned by then exceed what is usable: code generation makes them no smaller.
    """
    raised, accepted = end.event("raised"), end.event("accepted")
    message = first_lines(raised["message"]) if raised else ""
    refused = bool(_HBM.search(message))
    status, message = _status(end, refused, message)
    result = buffers(end.dumped)
    hbm = result.hbm if result else None
    code = accepted["code_bytes"] if accepted else None
    if end.assumed_code is not None:
        code, refuses = end.assumed_code, False  # the compiler was stopped before it could refuse
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
    """Return the facts of the optimised HLO, or the reason why there are none."""
    text, moment = optimised_hlo(dumped)
    if text is None:
        return None, "the compiler left no optimised HLO"
    try:
        return {"moment": moment, **facts(text, estimated=moment == "codegen")}, ""
    except Exception as error:  # the verdict stands even if the compiler's text cannot be read
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
    log = end.report.log_tail.strip()[-MESSAGE_CHARACTERS:]
    return "error", f"the compiler's process ended with {end.report.exit_code}; log: {log}"


def first_lines(message: str) -> str:
    """Return a refusal without the wire format that libtpu appends."""
    return message.split("[type.googleapis.com")[0].strip()[:MESSAGE_CHARACTERS]


def decide(
    refused: bool, hbm: int | None, code: int, usable: int | None, refuses: bool = True
) -> tuple[str, str]:
    """Return (verdict, decided_by) by the rule above; both are empty if nothing is known.

    refused: whether the compiler refused because of HBM. hbm, code: bytes, None if unknown. usable: bytes of the
    target, None if unknown. refuses: whether this compiler ever refuses.
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


def optimised_hlo(folder: Path) -> tuple[str | None, str]:
    """Return the text of the program's module and its moment: `codegen`, which knows the estimated cycles, or
    `optimised` if the compiler did not get that far. (None, "") if there is none.
    """
    for ending, moment in (("after_codegen.txt", "codegen"), ("after_optimizations.txt", "optimised")):
        path = _first(folder, ending)
        if path is not None:
            return path.read_text(), moment
    return None, ""


def buffers(folder: Path) -> Buffers | None:
    """Return the program's buffers; None if the compiler assigned none."""
    path = _first(folder, _ASSIGNMENT)
    if path is None:
        return None
    return assignments.read(path.read_text()).buffers


def buffers_assigned(folder: Path) -> bool:
    """Return whether the compiler has assigned the program's buffers and begun to write them down."""
    return all(_first(folder, name) is not None for name in (_ASSIGNMENT, "after_optimizations.txt"))


def _first(folder: Path, ending: str) -> Path | None:
    """Return the program's own file of this kind.

    The program is the module with the lowest number in the folder. libtpu 0.0.51 also makes modules of its parts,
    with other names, and ends them first; 0.0.21 may give the program itself a higher number once it is optimised.
    """
    modules = [(int(match[1]), match[2], path) for path in folder.glob("module_*")
               if (match := _MODULE.match(path.name))]  # fmt: skip
    program = min(modules, default=(0, "", folder))[1]
    result = [(n, path) for n, name, path in modules if name == program and str(path).endswith(ending)]
    return min(result, default=(0, None))[1]


class _Stop:
    """Tells when to stop a compilation: grace_s after its buffers were assigned."""

    def __init__(self, dumped: Path, grace_s: float) -> None:
        self._dumped, self._grace_s = dumped, grace_s
        self._assigned_s: float | None = None

    def __call__(self) -> bool:
        if self._assigned_s is None and buffers_assigned(self._dumped):
            self._assigned_s = time.monotonic()
        return self._assigned_s is not None and time.monotonic() - self._assigned_s > self._grace_s


def compile_in_child(job: CompileJob, python: Path, program: Path, folder: Path) -> dict:
    """Compile `program` in a child and return the document of ahead.json, however the child ended.

    folder: emptied first; it then has the document and optimised.hlo.gz alone.
    """
    shutil.rmtree(folder, ignore_errors=True)
    scratch, started = folder / "scratch", datetime.now(UTC)
    end = _compile(job, python, program, scratch)
    result = _document(job, program, end, started, python.parents[1].name)
    text, _ = optimised_hlo(end.dumped)
    _write(result, text, folder)
    shutil.rmtree(scratch)
    return result


def assign_buffers(job: CompileJob, python: Path, text: str) -> dict[str, str]:
    """Return what `Worker.buffers` does for the job's target: the texts of the buffer assignment and of the HLO.

    :raises Failed: if the compiler assigned no buffers.
    """
    with tempfile.TemporaryDirectory(prefix="stackwars-") as name:
        folder = Path(name)
        program = folder / "program.mlir"
        program.write_text(program_text.readable(text))
        end = _compile(replace(job, assumed_code_bytes=0), python, program, folder / "scratch", WRITTEN_S)
        assigned, (optimised, _) = _first(end.dumped, _ASSIGNMENT), optimised_hlo(end.dumped)
        if assigned and optimised:
            return {"assignment": assigned.read_text(), "optimised": optimised}
    raised = end.event("raised")
    status, message = _status(end, False, first_lines(raised["message"]) if raised else "")
    raise Failed(Outcome(Status.ERROR if status == Status.OK else Status(status), message or "no buffers"))


def _compile(
    job: CompileJob, python: Path, program: Path, scratch: Path, grace_s: float = GRACE_S
) -> CompilationEnd:
    dumped = scratch / "dump"
    dumped.mkdir(parents=True)
    spec = {**asdict(job), "program": str(program.resolve())}
    documents.write(scratch / "spec.json", spec)
    early = {} if job.assumed_code_bytes is None else {"stop": _Stop(dumped, grace_s)}
    report = launch.run_child(
        python, ["-m", CHILD, str(scratch.resolve())], _environ(scratch, dumped), CAP_BYTES, job.timeout_s,
        log=scratch / "log.txt", cwd=scratch, **early,
    )  # fmt: skip
    assumed = job.assumed_code_bytes if report.stopped else None
    return CompilationEnd(report, read_events(scratch), dumped, assumed)


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
        **row(end, job.target_row.get("usable_hbm_bytes", {}).get(job.compiler), refuses),
        "wall_s": end.report.wall_s,
        "peak_rss_bytes": end.report.peak_rss_bytes,
        "memory_cap_bytes": CAP_BYTES,
        "started_utc": started.isoformat(timespec="seconds"),
        "machine": machine.record(),
        "source": machine.revision(),
        "environment": environment,
    }


def _write(document: dict, text: str | None, folder: Path) -> None:
    """Write ahead.json, and optimised.hlo.gz with the text or the reason why there is none."""
    if text is None:
        why = (document["message"] or document["hlo_problem"]).splitlines()[0]
        text = f"// no optimised HLO: {document['status']}: {why}\n"
    program_text.write(folder / "optimised.hlo.gz", text)
    documents.write(folder / "ahead.json", document)


def unsupported(job: CompileJob, program: Path, why: str, folder: Path) -> dict:
    """Write and return the document of a compilation without a program, or without a compiler for this Python."""
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
    # XLA splits its flags at blanks, which the path of a checkout may have: the name is relative to `folder`.
    flags = f"--xla_dump_to={dumped.relative_to(folder)} --xla_dump_hlo_as_text"
    environ = clean_environ({"XLA_FLAGS": flags, "TMPDIR": str(folder.resolve())})
    # Variables of a machine with a TPU would be taken for the target's.
    return {k: v for k, v in environ.items() if not k.startswith("TPU_")} | SILENT


def compile_into(job: CompileJob, pins: Path, program: Path, output: Path) -> dict:
    """Compile in the environment of the pins; write the folder `output` in one step."""
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


def main() -> None:
    """Run `python -m stackwars.measure.stablehlo.ahead_supervisor`: one program, one target, one compiler.

    --code-from: stop once the buffers are assigned, and take the size of the code from this ahead.json.
    """
    arguments = documents.parse_arguments(
        main.__doc__, "job", "pins", "program", "output", code_from={"type": Path}
    )
    job = documents.read_job(CompileJob, arguments.job)
    if arguments.code_from:
        code = documents.read(arguments.code_from)["code_bytes"] or 0
        job = replace(job, assumed_code_bytes=code)
    result = compile_into(job, arguments.pins, arguments.program, arguments.output)
    name = f"{job.framework} {job.workload} {job.variant} for {job.target} by {job.compiler}"
    outcome = result["verdict"] or result["status"]
    print(f"[stackwars] {name}: {outcome}, {result['wall_s']:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
