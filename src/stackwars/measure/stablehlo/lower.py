"""A framework's StableHLO of one workload, made in the framework's environment without weights.

Such a framework has a module lower_<framework> here, with PACKAGES, those whose versions are recorded, a function
`lower(source)`, and `load` if it needs more than importing them before the first program; it opens no device. The
program is the text that the framework's cell compiles; LLaMA 8B's takes seconds and 0.8 GiB.

`Lowering` is the parent's side: a process that imports the framework once and lowers at sizes as they are needed.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import math
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass, replace
from importlib import import_module, metadata
from pathlib import Path
from unittest import mock

from stackwars.core import documents, limits, program_text, worker
from stackwars.core.client import Process
from stackwars.core.outcome import Failed, Outcome, Status, of_death, of_exception
from stackwars.core.program_text import dump_sources, no_program_line, sources_of_plain
from stackwars.measure import workloads
from stackwars.measure.stablehlo import arguments
from stackwars.measure.stablehlo.arguments import Lowered, ProgramSource
from stackwars.measure.workloads import parallel, values
from stackwars.setup.environments import ensure, why_unavailable

CRASHES = {signal.SIGABRT, signal.SIGSEGV, signal.SIGFPE, signal.SIGILL, signal.SIGBUS}
"""Signals that mean the framework crashed. SIGKILL is excluded: it means out of memory."""
STAGES = {
    "/jax/core/compile/jaxpr_trace_duration": "tracing",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lowering",
}
"""Stages of a frontend by JAX's events."""
IMPORT_S = 300
"""Additional seconds for the first program of a `Lowering`, which includes the framework's imports."""


@dataclass(frozen=True)
class LowerJob:
    """A framework's program of a workload at these sizes.

    variant: `base`, what distinguishes the sizes from the preset's, or how the program is divided among devices
    (`workloads.parallel`); matmul_precision: as in cells.
    """

    framework: str
    dialect: str
    workload: str
    variant: str
    sizes: dict[str, int]
    seed: int
    matmul_precision: str


def lower(job: LowerJob, *, has_values: bool = False) -> tuple[str, dict]:
    """Return (the program's text, the document for arguments.json). has_values: as in a `ProgramSource`.

    If the workload has no form in the dialect, or this Python cannot have the framework, the text is the line
    that says why, without arguments.
    """
    start = time.perf_counter()
    stages = _stages()
    lowered, versions = _lowered(job, has_values)
    seconds = time.perf_counter() - start
    # A frontend that does not separate them has its tracing in the lowering.
    stages = lowered.stages or stages or {"lowering": seconds}
    document = {"stages": {name: round(one, 4) for name, one in stages.items()}}
    return lowered.text, _document(job, lowered, versions, seconds) | document


def _stages() -> dict[str, float]:
    """Return a dictionary that gets the seconds of JAX's tracing and lowering from now on; empty without JAX."""
    result: dict[str, float] = {}

    def listen(event: str, seconds: float, **_: object) -> None:
        if stage := STAGES.get(event):
            # The program's own trace takes longest: it includes those of the functions inside it.
            result[stage] = max(seconds, result.get(stage, 0.0))

    if "jax" in sys.modules:
        sys.modules["jax"].monitoring.register_event_duration_secs_listener(listen)
    return result


def _document(job: LowerJob, lowered: Lowered, versions: dict[str, str], seconds: float) -> dict:
    # The source line of each line of the program, if the frontend records them.
    sources = sources_of_plain(lowered.text, lowered.located)
    return {
        "schema": 1,
        **{key: value for key, value in asdict(job).items() if key != "dialect"},
        "program_sha256": hashlib.sha256(lowered.text.encode()).hexdigest(),
        "versions": versions,
        "lower_s": round(seconds, 3),
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "arguments": arguments.dump(lowered.arguments),
        "results": [asdict(result) for result in lowered.results],
        **({"sources": dump_sources(sources)} if sources else {}),
    }


def _lowered(job: LowerJob, has_values: bool) -> tuple[Lowered, dict[str, str]]:
    """Return the program, and the versions of the packages that lowered it."""
    if why := why_unavailable():
        return Lowered(no_program_line(why), [], ()), {}
    framework = import_module(f"stackwars.measure.stablehlo.lower_{job.framework}")
    workload = workloads.load(job.workload)
    build = workloads.build(job.workload, job.dialect)
    stand_ins = {name: getattr(arguments, name) for name in ("leaf", "activations", "images")}
    if has_values:
        stand_ins = {"leaf": arguments.filled_leaf}
    with mock.patch.multiple(values, **stand_ins):
        inputs = workload.inputs(job.sizes, job.seed)
        try:
            division = parallel.of_variant(workload, job.variant)
            lowered = framework.lower(
                ProgramSource(build, job.sizes, job.seed, inputs, job.matmul_precision, division, has_values)
            )
        except NotImplementedError as error:
            lowered = Lowered(no_program_line(str(error)), [], ())
        except (ImportError, MemoryError):  # by the environment or the machine, not by the program
            raise
        except (Exception, SystemExit) as error:
            traceback.print_exc()
            why = f"{job.framework} does not lower it: {workloads.description(error)}"
            lowered = Lowered(no_program_line(why), [], ())
    return lowered, {name: _version(name) for name in framework.PACKAGES}


def _version(package: str) -> str:
    """Return the version that a package gives itself, or else its wheel's."""
    return getattr(import_module(package), "__version__", None) or metadata.version(package)


def write_in_child(job: LowerJob, output: Path, timeout_s: float = 0) -> int:
    """Lower, and write program.mlir.gz and arguments.json into a folder, in a forked process; return its exit status.

    A framework that aborts on a program leaves the line that says so, and the status is 0. If it has placeholders, it
    lowers the program again with values: reading a placeholder aborts too. timeout_s: of each time, 0 for no limit.
    """
    start = time.perf_counter()
    status = _fork(job, output, timeout_s)
    framework = import_module(f"stackwars.measure.stablehlo.lower_{job.framework}")
    if -status == signal.SIGALRM:
        why = f"{job.framework} did not lower it within {timeout_s:.0f} s"
    elif -status not in CRASHES:
        return status
    elif getattr(framework, "PLACEHOLDERS", False) and _fork(job, output, timeout_s, has_values=True) == 0:
        return 0
    else:
        why = f"{job.framework} ended by {signal.Signals(-status).name} while it lowered it; see the log"
    lowered = Lowered(no_program_line(why), [], ())
    _write(lowered.text, _document(job, lowered, {}, time.perf_counter() - start), output)
    return 0


def _fork(job: LowerJob, output: Path, timeout_s: float, *, has_values: bool = False) -> int:
    """Lower and write in a forked process; return its exit status."""
    # AutoGraph leaves a temporary file for each function that it converts: the process exits without its clean-up.
    with tempfile.TemporaryDirectory(prefix="stackwars-") as scratch:
        child = os.fork()
        if not child:
            tempfile.tempdir = scratch
            faulthandler.enable()  # the log then has the line of Python that the framework aborted in
            signal.alarm(math.ceil(timeout_s))
            try:
                _write(*lower(job, has_values=has_values), output)
            except BaseException:
                traceback.print_exc()
                worker.leave(1)
            worker.leave(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _write(text: str, document: dict, output: Path) -> None:
    documents.write(output / "arguments.json", document)
    program_text.write(output / "program.mlir.gz", text)


class Commands:
    """The commands of a process that lowers one workload by one framework, which it imports first.

    Each program has a process of its own, forked from this one: the imports take longer than the rest.
    """

    def __init__(self, framework: str, dialect: str, workload: str) -> None:
        module = import_module(f"stackwars.measure.stablehlo.lower_{framework}")
        getattr(module, "load", lambda: None)()  # first, because it sets what an import reads
        for package in module.PACKAGES:
            import_module(package)
        workloads.build(workload, dialect)

    def lower(self, job: dict, output: str, timeout_s: float) -> int:
        """Write the program of a LowerJob into a folder; return the exit status of the process that lowered it."""
        return write_in_child(LowerJob(**job), Path(output), timeout_s)


class Lowering(Process):
    """A process that lowers one workload by one framework, which it imports once."""

    def __init__(self, pins: Path, job: LowerJob, timeout_s: float, cap: int) -> None:
        """pins: of the framework's environment. job: its sizes are replaced. timeout_s: of one program. cap: of the
        process's memory, in bytes.
        """
        super().__init__(
            "",
            ["-m", "stackwars.measure.stablehlo.lower", "--serve", job.framework, job.dialect, job.workload],
            cap_gib=cap / limits.GIB,
            timeout_s=timeout_s + IMPORT_S,
            environ={"TF_CPP_MIN_LOG_LEVEL": "2"},
        )
        self._pins, self._job, self._program_s = pins, job, timeout_s

    def __call__(self, sizes: dict[str, int], folder: Path) -> Path:
        """Write the program with these sizes and its arguments.json into a folder; return the program's file.

        :raises Failed: with the outcome of a process that ended without a program.
        """
        job = asdict(replace(self._job, sizes=sizes))
        try:
            status = self.ask("lower", job=job, output=str(folder.resolve()), timeout_s=self._program_s)
        except Failed as failed:
            raise Failed(self._by_exception(failed.outcome)) from None
        if status:
            raise Failed(self._by_exception(of_death(status, "lower", self.last_words())))
        return folder / "program.mlir.gz"

    def _by_exception(self, outcome: Outcome) -> Outcome:
        """Return the outcome of a process with the status of the exception that ended it, if one did."""
        # The last words name the exception; those before it have a whole program's tensors in them.
        kind, _, message = self.last_words().partition(": ")
        if not outcome.detail.startswith("exit status"):
            return outcome
        return replace(outcome, status=of_exception(kind, message).status)

    def _start(self) -> None:
        self._python = ensure(self._pins)
        super()._start()


def main() -> None:
    """Run `python -m stackwars.measure.stablehlo.lower --job FILE --output DIR`, or with `--serve`."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--job", help="file of the LowerJob, as JSON")
    parser.add_argument("--output", type=Path, help="folder to write into")
    names = ("FRAMEWORK", "DIALECT", "WORKLOAD")
    parser.add_argument("--serve", nargs=3, metavar=names, help="answer commands for its programs")
    a = parser.parse_args()
    if a.serve:
        worker.serve(Commands(*a.serve), Status.ERROR)
    elif not (a.job and a.output):
        parser.error("expected --job and --output, or --serve")
    else:
        sys.exit(write_in_child(documents.read_job(LowerJob, a.job), a.output))


if __name__ == "__main__":
    main()
