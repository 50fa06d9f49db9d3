"""Check every program of a workload in one compiler, each in a process of its own.

A process compiles its program, calls it with both sets of inputs and with the first again, and compares all elements
with the expected values. Whatever ends it, a crash, a hang, a refusal, is the outcome of that program in that
compiler and of no other. Runs in the compiler's environment; the processes are forks, which share its imports.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stackwars import compilers
from stackwars.compilers import arguments, placement
from stackwars.ir import program_text
from stackwars.measure import documents, judge, launch, limits, machine, process_status
from stackwars.measure.documents import EVENTS, Events, read_events
from stackwars.setup.environments import why_unavailable
from stackwars.workloads.base import INPUT_SETS

SCHEMA = 1
EXECUTABLES, EXECUTABLE = "executables", "executable"
"""The folder of the compiled programs, and such a program in the folder of its process."""
CALLS = ("first", "second", "repeat")
"""The calls of a check: with the first set of inputs, with the second, and with the first again."""
PHASES = {
    "start": "before it was read",
    "compile": "while it was compiled",
    "place": "while its arguments were placed",
}
"""What a process was doing, by its last event."""
VERDICT = ("wrong", "total", "l2", "largest", "where", "limit", "flaky")
"""What an outcome has of the verdict on its values."""
_SAID = 2000
"""Characters of what a compiler says against a program."""
_TAIL = 200
"""Characters of the last line that a crashed process printed."""


@dataclass(frozen=True)
class CheckJob:
    """All programs of a workload at some sizes in one compiler.

    module, options, programs: as of a `replay.ReplayJob`. settings: seed, memory_cap_gib and check_timeout_s, the
    seconds that one program may take. expected: folder of the expected values, relative to the repository.
    """

    workload: str
    variant: str
    device: str
    preset: str
    compiler: str
    module: str
    options: dict[str, str]
    sizes: dict[str, int]
    settings: dict
    programs: dict[str, dict[str, str]]
    expected: str


def check(job: CheckJob, executables: Path) -> dict[str, Any]:
    """Return the document of check.json; keep the compiled program of each that is right in `executables`."""
    started, start = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    programs, why = {}, why_unavailable()
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(job.programs):
            place = Path(folder) / str(number)
            programs[name] = outcome("unsupported", why) if why else check_program(name, job, place)
            if programs[name]["status"] == "ok" and (place / EXECUTABLE).exists():
                shutil.move(place / EXECUTABLE, executables / name)
    expected = judge.read(Path(job.expected))
    return {
        "schema": SCHEMA,
        **{key: value for key, value in asdict(job).items() if key not in ("programs", "expected", "settings")},
        "judge": expected.judge,
        "judge_reason": expected.reason,
        "programs": programs,
        "started_utc": started,
        "wall_s": round(time.monotonic() - start, 3),
        "machine": machine.record(),
        "source": machine.revision(),
    }


def check_program(name: str, job: CheckJob, folder: Path) -> dict[str, Any]:
    """Run one program in a process of its own and return its outcome; creates `folder`."""
    folder.mkdir()
    cap, log = limits.cap_bytes(job.settings["memory_cap_gib"]), folder / "log.txt"
    timeout_s = job.settings["check_timeout_s"]
    report = launch.run_forked(partial(run_program, name, job, folder), cap, timeout_s, log)
    events = read_events(folder)
    named = {event["event"]: event for event in events}
    verdict = named.get("judged", {}).get("verdict")
    status, detail = process_status.status(report, events)
    last = next((name for name in reversed(named) if name in (*PHASES, *CALLS)), "start")
    doing = PHASES.get(last, f"in the {last} call")
    if status == "crash" and report.exit_code < 0:
        said = last_line(report.log_tail)
        detail = f"{signal.Signals(-report.exit_code).name} {doing}" + (f"; last line: {said}" if said else "")
    elif status == "timeout" and report.timed_out:
        detail = f"no end after {timeout_s:g} s, {doing}"
    elif status == "ok" and judge.problem(verdict):
        status, detail = "wrong", judge.problem(verdict)
    elif status == "ok" and (expected := judge.read(Path(job.expected))).disputed:
        status, detail = "invalid", expected.reason
    numbers = {
        **{key: verdict and verdict[key] for key in VERDICT},
        "compile_s": named.get("compiled", {}).get("seconds"),
        **{f"{call}_ns": named.get(f"{call} done", {}).get("ns") for call in ("first", "repeat")},
    }
    return outcome(status, detail, **numbers, wall_s=report.wall_s)


def outcome(status: str, detail: str, **numbers: Any) -> dict[str, Any]:
    """Return a program's outcome; None for numbers that it did not come to."""
    missing = dict.fromkeys((*VERDICT, "compile_s", "first_ns", "repeat_ns"))
    return {"status": status, "status_detail": detail, **missing, "wall_s": 0.0, **numbers}


def last_line(log: str) -> str:
    """Return what a process that crashed printed last, before a library's stack trace; "" if nothing."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    trace = ("@", "***", "Fatal Python", "Extension modules", "File")
    said = [line for line in lines if not line.startswith(trace)]
    return said[-1][:_TAIL] if said else ""


def run_program(name: str, job: CheckJob, folder: Path) -> None:
    """Compile a program, call it and judge it; write each step's event into the folder as it begins."""
    with recorded(folder) as events:
        paths = job.programs[name]
        text = program_text.read(Path(paths["program"]))
        if why := program_text.missing_reason(text):
            raise NotImplementedError(why)
        document, entries = arguments.load(Path(paths["arguments"]))
        placement.check_memory(name, entries)
        compiler = compilers.load(job.module).Compiler(job.device, job.options)
        events.write("compile")
        start = time.perf_counter()
        program = compile_program(compiler, text)
        events.write("compiled", seconds=time.perf_counter() - start)
        events.write("place")
        placement.place({name: program}, {name: entries}, asdict(job), compiler.put)
        outputs: dict[str, np.ndarray] = {}
        for number, call in enumerate(CALLS):
            which = number % INPUT_SETS
            events.write(call)
            begin = time.perf_counter_ns()
            results = program.call(which)
            program.fence(results)
            ns = time.perf_counter_ns() - begin
            outputs |= keyed(call, which, arguments.named(document, program.fetch(results)))
            events.write(f"{call} done", ns=ns)
        # XLA cannot serialise every program, such as one that sorts; a replay compiles those again.
        with contextlib.suppress(Exception):
            (folder / EXECUTABLE).write_bytes(program.serialize())
        events.write("judged", verdict=judge.judge(outputs, judge.read(Path(job.expected))))


@contextlib.contextmanager
def recorded(folder: Path) -> Iterator[Events]:
    """Give a process the file of its events in a folder, which ends with `end` or with what it raised."""
    events = Events(folder / EVENTS)
    try:
        yield events
    except BaseException as error:
        events.write("raised", type=type(error).__name__, message=str(error)[-4000:], compiles=None)
        raise
    events.write("end")


def compile_program(compiler: Any, text: str) -> Any:
    """Compile a program's text. Raises NotImplementedError with what the compiler says against it, TimeoutError if
    it takes too long, CompilerCrash if its process crashes, and MemoryError if it lacks memory.
    """
    try:
        return compiler.compile(program_text.readable(program_text.not_donated(text)))
    except (TimeoutError, compilers.CompilerCrash):
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        if process_status.out_of_memory(said):
            raise MemoryError(said[:_SAID]) from error
        raise NotImplementedError(f"the compiler refuses it: {said[:_SAID]}") from error


def keyed(call: str, which: int, results: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return a call's results by the keys of the expected values, which have the state after a first step alone."""
    keys = {name: judge.value_key(name, which) for name in results}
    return {f"{call}/{keys[name]}": value for name, value in results.items() if keys[name]}


def main() -> None:
    """`python -m stackwars.compilers.check --job FILE --output DIR`: write check.json and compiled programs."""
    options = documents.parse_arguments(main.__doc__, "job", "output")
    job = CheckJob(**documents.read(options.job))
    if not why_unavailable():
        compilers.load(job.module).preload(job.device)
    executables = options.output / EXECUTABLES
    shutil.rmtree(executables, ignore_errors=True)
    executables.mkdir(parents=True)
    document = check(job, executables)
    documents.write(options.output / "check.json", document)


if __name__ == "__main__":
    main()
