"""The subject of an audit: the process of a framework's cell, or of a compiler's replay of its programs.

Processes are supervised like those of the study, alone on the machine, and stay in the audit's folder as they
finish: an audit that was killed resumes after them. A change of the sources, the pins or the job runs a process
again.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stackwars.core import documents
from stackwars.core.documents import event
from stackwars.core.launch import REPOSITORY, clean_environ
from stackwars.measure import frameworks
from stackwars.measure.rounds import Rounds
from stackwars.measure.stablehlo.lower import LowerJob
from stackwars.measure.stablehlo.replay import ReplayJob
from stackwars.measure.supervisor import ProcessJob, exclusive, supervise
from stackwars.setup.environments import ensure
from stackwars.study.audits import mutant
from stackwars.study.audits.mutant import HONEST

BROKEN = mutant.__name__


@dataclass(frozen=True)
class CellAuditJob(ProcessJob):
    """A cell's process, and what is broken in it."""

    mutant: str = HONEST


@dataclass(frozen=True)
class ReplayAuditJob(ReplayJob):
    """A replay's process, and what is broken in it. framework, dialect: of its programs."""

    framework: str
    dialect: str
    mutant: str = HONEST


@dataclass(frozen=True)
class SubjectJob:
    """A framework on a device: what the processes of an audit have in common, as in a ProcessJob."""

    framework: str
    dialect: str
    device: str
    preset: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class ReplaySubjectJob(SubjectJob):
    """A compiler that replays a framework's programs. compiler, module, options: as in a ReplayJob. lower_pins: of the
    framework's environment.
    """

    compiler: str
    module: str
    options: dict[str, str]
    lower_pins: str


class CellSubject:
    """A framework on a device.

    pins: of its environment. folder: keeps the finished processes. Every method raises RuntimeError if a process fails.
    """

    LABELS = ("framework", "device")

    def __init__(self, job: SubjectJob, pins: Path, folder: Path) -> None:
        self.job, self.pins, self.folder = job, pins, folder

    @property
    def labels(self) -> dict[str, str]:
        return {key: getattr(self.job, key) for key in self.LABELS}

    def mutants(self) -> list[str]:
        return mutant.mutants(frameworks.load(self.job.framework).Session)

    def run(self, place: str, module: str, **fields: Any) -> dict:
        """Return the result of a process of `module`, in the folder `place`.

        fields: the others of the CellAuditJob; its settings are added to the job's.
        """
        fields["settings"] = {**self.job.settings, **fields.get("settings", {})}
        wanted = CellAuditJob(**{**asdict(self.job), **fields})
        return run_once(wanted, self.pins, self.folder / place, module)

    def run_broken(self, place: str, workload: str, sizes: dict, **fields: Any) -> tuple[dict, dict]:
        """Return the result of a process, broken or not, and the verdict on its outputs.

        fields: see `run`.
        """
        result = self.run(place, BROKEN, workload=workload, sizes=sizes, **fields)
        return result, result["values"]


class ReplaySubject(CellSubject):
    """A compiler that replays a framework's programs, which take turns in one process.

    Every method raises RuntimeError also if the compiler refuses a program.
    """

    LABELS = ("framework", "compiler", "device")
    job: ReplaySubjectJob

    def mutants(self) -> list[str]:
        return mutant.mutants(None)

    def run_broken(self, place: str, workload: str, sizes: dict, **fields: Any) -> tuple[dict, dict]:
        job = {key: value for key, value in asdict(self.job).items() if key != "lower_pins"}
        job |= {"workload": workload, "sizes": sizes, "check": "", "baseline": job["framework"]}
        fields["settings"] = {**job["settings"], **fields["settings"]}
        programs = {job["framework"]: self.lowered(workload, sizes)}
        wanted = ReplayAuditJob(**{**job, **fields}, programs=programs)
        result = run_once(wanted, self.pins, self.folder / place, BROKEN)
        for one in result["events"]:
            if one["event"] == "refused" and one["status"] != "wrong":
                raise RuntimeError(
                    f"expected {self.job.compiler} to replay {one['program']}, got {one['status']}: "
                    f"{one['detail']}; fix: that replay"
                )
        return result, event(result, "values")["verdict"]

    def lowered(self, workload: str, sizes: dict) -> dict[str, str]:
        """Return the paths of the framework's program and of its arguments, lowered once.

        Raises subprocess.CalledProcessError if the framework makes no program.
        """
        output = (self.folder / "programs").resolve()
        files = {"program": output / "program.mlir.gz", "arguments": output / "arguments.json"}
        how = {key: self.job.settings[key] for key in ("seed", "matmul_precision")}
        wanted = LowerJob(self.job.framework, self.job.dialect, workload, "base", sizes, **how)
        request = json.dumps(asdict(wanted))
        if not files["program"].exists() or (output / "job.json").read_text() != request:
            output.mkdir(parents=True, exist_ok=True)
            (output / "job.json").write_text(request)
            python, module = ensure(Path(self.job.lower_pins)), "stackwars.measure.stablehlo.lower"
            subprocess.run(
                [python, "-m", module, "--job", output / "job.json", "--output", output],
                env=clean_environ({}), cwd=REPOSITORY, stdin=subprocess.DEVNULL, check=True,
            )  # fmt: skip
        return {key: str(path) for key, path in files.items()}


def subject(job: SubjectJob, pins: Path, folder: Path) -> CellSubject | ReplaySubject:
    return (ReplaySubject if isinstance(job, ReplaySubjectJob) else CellSubject)(job, pins, folder)


def run_once(job: ProcessJob | ReplayJob, pins: Path, folder: Path, module: str) -> dict:
    """Return the result of the job's process, from `folder` if it had finished. Raises RuntimeError unless it is ok."""
    programs = [Path(paths["program"]) for paths in job.programs.values()] if isinstance(job, ReplayJob) else []
    rounds = Rounds(folder / module.rpartition(".")[2], job, [pins, *programs])

    def measure(part: Path, _: random.Random) -> dict:
        python = ensure(pins)
        with exclusive(job.settings):
            result = supervise(job, python, part / "process", module)
        shutil.rmtree(part / "process" / "cache", ignore_errors=True)
        print(f"[audit] {folder.parent.name} {folder.name}: {result['status']} {result['status_detail']}"
              f" [{result['wall_s']:.1f} s]", file=sys.stderr, flush=True)  # fmt: skip
        return require_ok(result)

    return rounds.run(0, measure)


def require_ok(result: dict) -> dict:
    """Return the result if its process is ok; raise RuntimeError with how it ended otherwise."""
    if result["status"] != "ok":
        raise RuntimeError(
            f"expected the {result['workload']} of {result['framework']} on {result['device']} to "
            f"run, got {result['status']}: {result['status_detail']}; fix: that cell"
        )
    return result


def command(audit: Callable[..., dict], doc: str | None, **options: dict[str, Any]) -> None:
    """Run an audit from the command line: measure, write --output, and delete the finished processes.

    options: arguments of the audit after the subject, each with its keywords of `add_argument`.
    """
    a = documents.parse_arguments(doc, "job", "pins", "folder", "output", **options)
    kind = ReplaySubjectJob if "compiler" in documents.read(a.job) else SubjectJob
    audited = subject(documents.read_job(kind, a.job), a.pins, a.folder)
    documents.write(a.output, audit(audited, **{name: getattr(a, name) for name in options}))
    shutil.rmtree(a.folder)
