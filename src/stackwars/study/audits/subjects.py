"""The audits of a subject: of the process of a framework's cell, or of a compiler's replay of its programs.

mutants      every mutant of the subject, and the honest process, on a matrix product that takes milliseconds: do the
             checks notice that one thing is broken on purpose?
independent  our times against those of harnesses that others wrote, pyperf (JAX) and torch.utils.benchmark
             (torch_xla); calls of ours and of the other alternate.

`python -m stackwars.study.audits.subjects` measures and judges one of them. Processes are supervised like those of the
study, alone on the machine, and stay in the audit's folder as they finish: an audit that was killed resumes after them.
A change of the sources, the pins or the job runs a process again.
"""

from __future__ import annotations

import json
import random
import shutil
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stackwars.core import documents, judge
from stackwars.core.documents import event
from stackwars.core.launch import REPOSITORY, clean_environ
from stackwars.measure import frameworks, workloads
from stackwars.measure.checks import problems
from stackwars.measure.peak import floor_ms
from stackwars.measure.rounds import Rounds
from stackwars.measure.stablehlo.lower import LowerJob
from stackwars.measure.stablehlo.replay import ReplayJob
from stackwars.measure.supervisor import ProcessJob, exclusive, supervise
from stackwars.setup.environments import ensure
from stackwars.study.audits import mutant
from stackwars.study.audits.mutant import HONEST

BROKEN = mutant.__name__
SIZES = {"m": 1024, "k": 1024, "n": 1024}
BLOCKS = {"block_calls": 1, "steady_seconds": 0.0, "steady_min_blocks": 40, "steady_max_blocks": 40}
"""Settings of a mutant's and of an honest process."""
HONEST_PROCESSES = 3
AGREE = 0.05
"""The medians of two harnesses may differ by this share."""
THIRD_PARTY = "stackwars.study.audits.third_party"


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


def audit_mutants(subject: CellSubject, peak: dict) -> dict[str, Any]:
    """Run and judge all processes of a subject; return what the report reads.

    peak: of the device, as `stackwars.measure.peak` writes it. The subject's settings hold seed and parity_rel_l2.
    """
    gemm, settings, rows = workloads.load("gemm"), subject.job.settings, []
    floor, expected = floor_ms(gemm.flops(SIZES), gemm.minimum_bytes(SIZES), peak), subject.folder / "expected"
    outputs, _ = gemm.expected(SIZES, settings["seed"])
    values = {f"output{number}": output for number, output in enumerate(outputs)}
    limits = dict.fromkeys(values, settings["parity_rel_l2"])
    judge.write(expected, values, {"judge": "NumPy in float64", "reason": "", "limits": limits})
    for number, name in enumerate([*[HONEST] * HONEST_PROCESSES, *subject.mutants()]):
        fields = {"repetition": number, "settings": BLOCKS, "mutant": name, "expected": str(expected)}
        process, verdict = subject.run_broken(f"{number}-{name}", "gemm", SIZES, **fields)
        wrong = judge.problem(verdict)
        result = [*problems(process, floor), *([f"output: {wrong}"] if wrong else [])]
        checks = sorted({problem.partition(":")[0] for problem in result})
        rows.append({"mutant": name, "rejected_by": checks, "problems": result})
    ok = all(bool(row["problems"]) != (row["mutant"] == HONEST) for row in rows)
    return {**subject.labels, "floor_ms": floor, "processes": rows, "ok": ok}


def audit_independent(subject: CellSubject, sizes: dict[str, dict], processes: int) -> dict[str, Any]:
    """Measure and judge; return what the report reads. sizes: of each workload.

    A workload has the harness, "ours_ms" and "third_party_ms" (a median for each process). Ours is not gated, because
    the other cannot be.
    """
    rows = []
    for workload, size in sizes.items():
        row: dict[str, Any] = {"workload": workload, "ours_ms": [], "third_party_ms": []}
        for number in range(processes):
            fields = {"workload": workload, "repetition": number, "sizes": size}
            result = subject.run(f"{workload}/{number}", THIRD_PARTY, **fields)
            for who in ("ours", "third_party"):
                row[f"{who}_ms"].append(statistics.median(event(result, who)["ns"]) / 1e6)
            row["harness"] = event(result, "third_party")["harness"]
        rows.append(judged(row))
    return {**subject.labels, "workloads": rows}


def judged(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with `ratio`, the median over processes of ours over the other's, and whether they agree."""
    medians = zip(row["ours_ms"], row["third_party_ms"], strict=True)
    ratio = statistics.median(ours / other for ours, other in medians)
    return {**row, "ratio": ratio, "ok": abs(ratio - 1) <= AGREE}


def main() -> None:
    """Run an audit: measure, write --output, and delete the finished processes."""
    a = documents.parse_arguments(
        __doc__, *("job", "pins", "folder", "output"),
        audit={"choices": ["mutants", "independent"], "required": True},
        peak={"type": documents.read, "help": "file of the device's peak, for the mutants"},
        sizes={"type": documents.read, "help": "file of {workload: sizes}, for the independent harnesses"},
        processes={"type": int, "default": 3},
    )  # fmt: skip
    kind = ReplaySubjectJob if "compiler" in documents.read(a.job) else SubjectJob
    audited = subject(documents.read_job(kind, a.job), a.pins, a.folder)
    is_mutants = a.audit == "mutants"
    result = audit_mutants(audited, a.peak) if is_mutants else audit_independent(audited, a.sizes, a.processes)
    documents.write(a.output, result)
    shutil.rmtree(a.folder)


if __name__ == "__main__":
    main()
