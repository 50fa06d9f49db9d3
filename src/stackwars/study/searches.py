"""Why two programs of a workload differ in one compiler: in the time of a replay (causes.json), or in memory
(memory.json).

A replay says which programs differ by more than the bound; a search that fails does not affect the others. For memory
nothing is timed. Values of a large batch do not fit this machine's memory: such programs are matched at the preset's
sizes.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from stackwars.core import documents, machine
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.launch import REPOSITORY
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.core.program import Program
from stackwars.core.ratio import SAME_SIZE, Estimate, LogRatio, is_gap
from stackwars.explain import answer, memory
from stackwars.explain.answer import Cause, Memory
from stackwars.explain.driver import search
from stackwars.explain.task import MEMORY, Assign, Settings, Task
from stackwars.measure import loops
from stackwars.measure.stablehlo.ahead_supervisor import CompileJob, assign_buffers
from stackwars.measure.stablehlo.arguments import load_program
from stackwars.measure.workloads import sized
from stackwars.setup.device import CPU
from stackwars.setup.environments import Unavailable, ensure
from stackwars.study import cells, programs
from stackwars.study.keys import Config
from stackwars.study.programs import ReplayCell
from stackwars.study.studies import PROGRAMS, comparisons, workloads_of

SCHEMA = 1
SHOWN = 5
"""Buffers of each peak in memory.json, the largest first."""


@dataclass(frozen=True)
class SearchJob:
    """Programs of a workload in one compiler.

    compiler, evaluator: name, module and options of each `CompilerSpec`; pins: the files of their environments.
    settings: of each search, see `task.Settings`.
    """

    workload: str
    compiler: dict[str, Any]
    evaluator: dict[str, Any]
    pins: dict[str, str]
    seed: int
    settings: dict[str, Any]

    def specs(self) -> tuple[CompilerSpec, CompilerSpec]:
        """Return the compiler and the evaluator.

        :raises Unavailable: if this Python cannot have the environment of one of them.
        """
        compiler, evaluator = (
            CompilerSpec(**row, python=str(ensure(REPOSITORY / self.pins[role])))
            for role, row in (("compiler", self.compiler), ("evaluator", self.evaluator))
        )
        return compiler, evaluator

    def document(self, started: datetime, outcome: Outcome, **found: Any) -> dict[str, Any]:
        """Return causes.json or memory.json."""
        return {
            "schema": SCHEMA,
            **{"workload": self.workload, "compiler": self.compiler["name"]},
            **{"status": outcome.status, "status_detail": outcome.detail},
            **found,
            "started_utc": started.isoformat(timespec="seconds"),
            "wall_s": (datetime.now(UTC) - started).total_seconds(),
            "machine": machine.record(),
            "source": machine.revision(),
        }


def compilers_of(config: Config, compiler: str, target: str | None = None) -> dict[str, Any]:
    """Return the fields compiler, evaluator and pins of a job. target: compiled for; None for the CPU."""
    names = {"compiler": compiler, "evaluator": programs.evaluator(config)}
    options = {"compiler": config.compilers[compiler].options, "evaluator": {}}
    rows = {
        role: {"name": name, "module": config.compilers[name].module, "options": options[role]}
        for role, name in names.items()
    }
    pins = {role: programs.compiler_pins(config, name) for role, name in names.items()}
    return rows | {"pins": pins | {"compiler": programs.compiler_pins(config, compiler, target)}}


# The gaps of a replay


@dataclass(frozen=True)
class CausesJob(SearchJob):
    """The programs of one replay.

    programs: {framework: {"program", "arguments": paths}}. pair: the subject and the baseline that are searched if they
    differ, in addition to the slowest and the fastest program. bound: the relative difference from which two programs
    have a gap.
    """

    device: str
    programs: dict[str, dict[str, str]]
    pair: list[str]
    sizes: dict[str, int]
    bound: float

    def loaded(self, framework: str) -> Program:
        paths = self.programs[framework]
        files = (Path(paths["program"]), Path(paths["arguments"]))
        return load_program(framework, *files, self.workload, self.sizes, self.seed)


def causes_job(config: Config, replay: ReplayCell) -> CausesJob:
    """Return the search for the causes of a replay's gaps."""
    settings = cells.settings(config)
    pair = next(iter(comparisons(config, PROGRAMS)))
    return CausesJob(
        workload=replay.workload,
        device=replay.device,
        **compilers_of(config, replay.compiler),
        programs=programs.files(config, programs.replayed(config, replay.workload, replay.compiler)),
        pair=[pair.subject, pair.baseline],
        sizes=programs.sizes(config, replay.workload),
        seed=settings.seed,
        bound=settings.cause_bound,
        settings={
            "seconds": settings.cause_seconds,
            "budget_s": settings.cause_budget_s,
            "memory_cap_gib": settings.memory_cap_gib,
            "timeout_s": settings.timeout_s,
        },
    )


def ratio(replay: dict, one: str, other: str) -> Estimate | None:
    """Return the ratio of two programs of a replay with its interval; None unless both are ok.

    A round's ratio is the median over the pairs of neighbouring loops.
    """
    sides = [replay["programs"].get(name) for name in (one, other)]
    if any(side is None or side["status"] != Status.OK for side in sides):
        return None
    rounds = [
        loops.round_ratio(loops.pairs(*pair)) for pair in zip(*(side["loops"] for side in sides), strict=True)
    ]
    return LogRatio.of_rounds(rounds).estimate()


def gaps(replay: dict, names: Iterable[str], pair: list[str], bound: float) -> list[dict[str, Any]]:
    """Return the pairs that are examined, the slower program as the subject, and whether each has a gap.

    They are the main pair, and the slowest and the fastest of the right programs. names: of the programs.
    """
    times = {
        name: statistics.median(map(loops.side_ms, program["loops"]))
        for name, program in replay["programs"].items()
        if name in names and program["status"] == Status.OK
    }
    pairs = [tuple(pair)]
    if len(times) > 1:
        pairs.append((max(times, key=times.get), min(times, key=times.get)))
    result = {}
    for one, other in pairs:
        estimate = ratio(replay, one, other)
        if estimate is not None and estimate.value < 1:
            one, other, estimate = other, one, ratio(replay, other, one)
        result[one, other] = {
            "subject": one,
            "baseline": other,
            "ratio": estimate and estimate._asdict(),
            "is_gap": is_gap(estimate, bound),
        }
    return list(result.values())


def explain_gaps(job: CausesJob, replay: dict, output: Path) -> dict[str, Any]:
    """Return causes.json, and write the answers to a folder of each gap under `output`."""
    started, outcome, specs = datetime.now(UTC), Outcome(Status.OK), None
    rows = gaps(replay, job.programs, job.pair, job.bound)
    try:
        specs = job.specs()
    except Unavailable as error:
        outcome = error.outcome
    for gap in rows:
        gap["cause"] = None
        if gap["is_gap"] and specs:
            compiler, evaluator = specs
            a, b = (job.loaded(gap[role]) for role in ("subject", "baseline"))
            name = f"{job.workload} in {compiler.name}: {a.label} against {b.label}"
            settings = Settings(**job.settings, bound=job.bound)
            folder = output / f"{a.label}-{b.label}"
            cause = search("cause", Task(name, a, compiler, evaluator, b, settings=settings), folder)
            answer.write(folder / "cause.json", cause)
            gap["cause"] = asdict(cause)
    return job.document(started, outcome, device=job.device, bound=job.bound, gaps=rows)


# Memory


@dataclass(frozen=True, order=True)
class Point:
    """Both programs of a workload, whose memory is compared. place: a compiler, for the CPU, or a target."""

    place: str
    workload: str

    @property
    def path(self) -> Path:
        return Path("memory", self.place, self.workload, "memory.json")


@dataclass(frozen=True)
class MemoryJob(SearchJob):
    """Both programs of a workload.

    sizes: of the workload, and of the one without a label, which is matched. programs: {workload: {framework: paths}}.
    target: "" for the CPU; target_row: the configuration's.
    """

    programs: dict[str, dict[str, dict[str, str]]]
    sizes: dict[str, dict[str, int]]
    target: str
    target_row: dict[str, Any]

    def loaded(self, workload: str) -> dict[str, Program]:
        """Return the programs of a workload by framework.

        :raises Failed: if there is no program.
        """
        result = {
            name: load_program(name, *map(Path, paths.values()), workload, self.sizes[workload], self.seed)
            for name, paths in self.programs[workload].items()
        }
        if missing := next((one.missing for one in result.values() if one.missing), ""):
            raise Failed(Outcome(Status.UNSUPPORTED, missing))
        return result

    def for_target(self, python: str) -> Assign:
        """Return a function that compiles a program for the target."""
        names = (self.workload, "", programs.BASE, self.sizes[self.workload], self.target, self.target_row)
        job = CompileJob(*names, self.compiler["name"], self.settings["timeout_s"])
        return partial(assign_buffers, job, Path(python))


def asked(config: Config) -> list[Point]:
    """Return the points whose memory this run compares, in the order of the grid."""
    rows = config.memory
    places = [*rows.compilers, *rows.targets] if rows else []
    return [Point(place, workload) for workload in workloads_of(config, "memory") for place in places]


def problems(config: Config) -> Iterator[tuple[str, str, object]]:
    """Yield a workload with a label without the one at whose sizes its values are matched: key, expected, got."""
    for name in dict.fromkeys(point.workload for point in asked(config)):
        if (base := sized.base(name)) not in config.workloads:
            yield "workloads", f"{base} too, at whose sizes the values of {name} are matched", config.workloads


def memory_job(config: Config, point: Point) -> MemoryJob:
    """Return the job of a point, with the subject of the main comparison first."""
    rows, settings, pair = config.memory, cells.settings(config), comparisons(config, PROGRAMS)[0]
    target = point.place if point.place in rows.targets else ""
    names = (point.workload, sized.base(point.workload))
    frameworks = (pair.subject, pair.baseline)
    return MemoryJob(
        point.workload,
        **compilers_of(config, rows.targets.get(target, point.place), target or None),
        programs={
            name: programs.files(config, [programs.Program(one, name) for one in frameworks]) for name in names
        },
        sizes={name: programs.sizes(config, name) for name in names},
        seed=settings.seed,
        settings={
            "budget_s": rows.budget_s,
            "memory_cap_gib": settings.memory_cap_gib,
            "timeout_s": settings.timeout_s,
        },
        target=target,
        target_row=config.targets[target].document() if target else {},
    )


def explain_memory(job: MemoryJob, output: Path) -> dict[str, Any]:
    """Return memory.json, and write the log of a search to the folder `output`."""
    started, outcome, uses, cause = datetime.now(UTC), Outcome(Status.OK), {}, None
    try:
        uses, cause = compared(job, output)
    except (Unavailable, Failed) as error:
        outcome = error.outcome
    return job.document(
        started,
        outcome,
        sizes=job.sizes[job.workload],
        pair=[*job.programs[job.workload]],
        device=job.target or CPU,
        cause=cause and asdict(cause),
        programs={
            name: asdict(replace(use, peak=use.peak[:SHOWN])) | {"total": use.total}
            for name, use in uses.items()
        },
    )


def compared(job: MemoryJob, output: Path) -> tuple[dict[str, Memory], Cause | None]:
    """Return the memory of both programs, and the cause of a difference; None if they need about the same.

    :raises Failed: if a program is missing or is not compiled.
    :raises Unavailable: if this Python cannot have a compiler's environment.
    """
    compiler, evaluator = job.specs()
    settings, (large, small) = Settings(**job.settings, ask=MEMORY), map(job.loaded, job.sizes)
    assign = job.for_target(compiler.python) if job.target else None
    with Worker(compiler, **settings.limits) as worker:
        uses = {name: memory.use(assign or worker.buffers, program) for name, program in large.items()}
    a, b = sorted(uses, key=lambda name: -uses[name].total)
    if uses[a].total <= (1 + SAME_SIZE) * uses[b].total:
        return uses, None
    sides = (large[a], compiler, evaluator, large[b])
    task = Task(job.workload, *sides, settings=settings, smaller=(small[a], small[b]), assign=assign)
    return uses, search("cause", task, output)


def main() -> None:
    """Search the causes of the gaps of a replay, or compare memory if there is none."""
    options = documents.parse_arguments(main.__doc__, "job", "output", "answers", replay={"type": Path})
    options.answers.mkdir(parents=True, exist_ok=True)
    if options.replay:
        job = documents.read_job(CausesJob, options.job)
        result = explain_gaps(job, documents.read(options.replay), options.answers)
    else:
        result = explain_memory(documents.read_job(MemoryJob, options.job), options.answers)
    documents.write(options.output, result)


if __name__ == "__main__":
    main()
