"""Compiles one program for one absent device in a process of its own, and always leaves a row.

A compiler that crashes or hangs on a program is a row with a status, not a failed run. The process may
use 8 GiB, dies with the workflow that started it, and takes no part in the order of timed cells.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from stackwars.compilers import ahead_reference, dump
from stackwars.compilers.ahead_row import Outcome, row, usable_bytes
from stackwars.ir import program_text
from stackwars.measure import documents, launch, limits, machine
from stackwars.measure.documents import read_events
from stackwars.measure.launch import ExitReport
from stackwars.setup.environments import Unavailable, clean_environ, ensure

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
    outcome = Outcome(report, read_events(scratch), dumped, assumed)
    result = _document(job, program, outcome, started, python.parents[1].name)
    text, _ = dump.optimised_hlo(dumped)
    _write(result, text, folder)
    shutil.rmtree(scratch)
    return result


def _document(
    job: CompileJob, program: Path, outcome: Outcome, started: datetime, environment: str = ""
) -> dict:
    """Return the content of ahead.json."""
    # XLA for GPUs does not refuse programs that are too large.
    refuses = job.target_row["platform"] != "cuda"
    return {
        "schema": 1,
        **{key: value for key, value in asdict(job).items() if key != "target_row"},
        "program_sha256": hashlib.sha256(program_text.read(program).encode()).hexdigest(),
        **row(outcome, usable_bytes(job.target_row, job.compiler), refuses),
        "wall_s": outcome.report.wall_s,
        "peak_rss_bytes": outcome.report.peak_rss_bytes,
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
        **_document(job, program, Outcome(ExitReport(None), [], dumped=folder), datetime.now(UTC)),
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
