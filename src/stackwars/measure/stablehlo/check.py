"""Check every program of a workload in one compiler: its outcome, and whether its values are the expected ones.

A crash, a hang or a refusal is the outcome of that program in that compiler alone.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stackwars.core import check, documents, judge, limits, machine
from stackwars.core.check import Checked
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.judge import Expected
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.measure.stablehlo import arguments
from stackwars.setup.environments import Unavailable, ensure

SCHEMA = 1
EXECUTABLES = "executables"
"""The folder of the compiled programs."""
VERDICT = ("wrong", "total", "l2", "largest", "where", "limit", "flaky")
"""Keys of an outcome that come from the verdict on its values."""
_FIRST = "func.func @main() { return }"
"""A program that is compiled first, because a compiler's first compilation in a process takes longer."""


@dataclass(frozen=True)
class CheckJob:
    """All programs of a workload at some sizes in one compiler.

    module, options, programs: as in a `replay.ReplayJob`. settings: seed, memory_cap_gib and check_timeout_s, the
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


def check_programs(job: CheckJob, python: Path, executables: Path) -> dict[str, dict[str, Any]]:
    """Return the outcome of each program; save the compiled program of each that ran in `executables`.

    python: of the compiler's environment.
    """
    expected = judge.read(Path(job.expected))
    spec = CompilerSpec(job.compiler, job.module, job.options, str(python), device=job.device)
    result = {}
    with Worker(spec, cap_gib=job.settings["memory_cap_gib"]) as worker:
        for name in job.programs:
            start = time.monotonic()
            checked = _check(worker, name, job, expected)
            if checked.ran:
                # XLA cannot serialise every program, such as one that sorts; a replay compiles those again.
                with contextlib.suppress(Failed):
                    worker.save(name, executables / name)
            result[name] = outcome(checked, time.monotonic() - start)
            print(f"{name}: {checked.outcome.status} {checked.outcome.detail}", flush=True)
            with contextlib.suppress(Failed):
                worker.clear()
    return result


def _check(worker: Worker, name: str, job: CheckJob, expected: Expected) -> Checked:
    """Check one program within its time."""
    files = [Path(job.programs[name][key]) for key in ("program", "arguments")]
    program = arguments.load_program(name, *files, job.workload, job.sizes, job.settings["seed"])
    worker.allow(job.settings["check_timeout_s"])
    try:
        arguments.check_memory(
            name, arguments.load(files[1])[1], limits.cap_bytes(job.settings["memory_cap_gib"])
        )
        if not worker.is_running:
            worker.load("first", _FIRST)
    except MemoryError as error:
        return Checked(Outcome(Status.OOM, str(error)))
    except Failed as failed:
        return check.refused(failed)
    return check.check(worker, program, expected)


def outcome(checked: Checked, wall_s: float = 0.0) -> dict[str, Any]:
    """Return a program's outcome as check.json has it; missing numbers are None.

    A program that ran is ok even without expected values, whose reason is in `judge_reason`.
    """
    return {
        "status": Status.OK if checked.ran else checked.outcome.status,
        "status_detail": "" if checked.ran else checked.outcome.detail,
        **{key: checked.verdict and checked.verdict[key] for key in VERDICT},
        **{key: getattr(checked, key) for key in ("compile_s", "first_ns", "repeat_ns")},
        "wall_s": round(wall_s, 3),
    }


def main() -> None:
    """Run `python -m stackwars.measure.stablehlo.check --job FILE --pins PINS --output DIR`.

    It writes check.json and the executables.

    pins: of the compiler's environment.
    """
    options = documents.parse_arguments(main.__doc__, "job", "pins", "output")
    job = documents.read_job(CheckJob, options.job)
    executables = options.output / EXECUTABLES
    shutil.rmtree(executables, ignore_errors=True)
    executables.mkdir(parents=True)
    started, start = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    try:
        programs = check_programs(job, ensure(options.pins), executables)
    except Unavailable as error:
        programs = dict.fromkeys(job.programs, outcome(Checked(Outcome(Status.UNSUPPORTED, error.reason))))
    expected = judge.read(Path(job.expected))
    document = {
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
    documents.write(options.output / "check.json", document)


if __name__ == "__main__":
    main()
