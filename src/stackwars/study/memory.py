"""Memory of both programs of a workload in one compiler, and why one needs more: memory.json. Nothing is timed.

Values of a large batch do not fit this machine's memory: programs are matched at the preset's sizes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from stackwars.core import documents, machine
from stackwars.core.client import Worker
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.core.program import Program
from stackwars.core.ratio import SAME_SIZE
from stackwars.explain import memory
from stackwars.explain.answer import Cause, Memory
from stackwars.explain.driver import search
from stackwars.explain.task import MEMORY, Assign, Settings, Task
from stackwars.measure.stablehlo.ahead_supervisor import CompileJob, assign_buffers
from stackwars.measure.stablehlo.arguments import load_program
from stackwars.measure.workloads import sized
from stackwars.setup.device import CPU
from stackwars.setup.environments import Unavailable
from stackwars.study import cells, programs, replay_causes
from stackwars.study.keys import Config
from stackwars.study.studies import PROGRAMS, comparisons, workloads_of

SCHEMA = 1
SHOWN = 5
"""Buffers of each peak in memory.json, the largest first."""


@dataclass(frozen=True, order=True)
class Point:
    """Both programs of a workload. place: a compiler, for the CPU, or a target."""

    place: str
    workload: str

    @property
    def path(self) -> Path:
        return Path("memory", self.place, self.workload, "memory.json")


@dataclass(frozen=True)
class MemoryJob:
    """Both programs of a workload in one compiler.

    compiler, evaluator, pins: see `replay_causes.CausesJob`. sizes: of the workload, and of the one without a label,
    which is matched. programs: {workload: {framework: paths}}. target: "" for the CPU; target_row: the configuration's.
    """

    workload: str
    compiler: dict[str, Any]
    evaluator: dict[str, Any]
    pins: dict[str, str]
    programs: dict[str, dict[str, dict[str, str]]]
    sizes: dict[str, dict[str, int]]
    seed: int
    settings: dict[str, Any]
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
    """Return what this run compares, in the order of the grid."""
    rows = config.memory
    places = [*rows.compilers, *rows.targets] if rows else []
    return [Point(place, workload) for workload in workloads_of(config, "memory") for place in places]


def problems(config: Config) -> Iterator[tuple[str, str, object]]:
    """Yield a workload with a label without the one at whose sizes its values are matched: key, expected, got."""
    for name in dict.fromkeys(point.workload for point in asked(config)):
        if (base := sized.base(name)) not in config.workloads:
            yield "workloads", f"{base} too, at whose sizes the values of {name} are matched", config.workloads


def job(config: Config, point: Point) -> MemoryJob:
    """Return the job of a point, with the subject of the main comparison first."""
    rows, settings, pair = config.memory, cells.settings(config), comparisons(config, PROGRAMS)[0]
    target = point.place if point.place in rows.targets else ""
    names = (point.workload, sized.base(point.workload))
    frameworks = (pair.subject, pair.baseline)
    return MemoryJob(
        point.workload,
        **replay_causes.compilers_of(config, rows.targets.get(target, point.place), target or None),
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


def explain(job: MemoryJob, output: Path) -> dict[str, Any]:
    """Return memory.json, and write the log of a search to the folder `output`."""
    started, start = datetime.now(UTC), time.monotonic()
    status, detail, uses, cause = Status.OK, "", {}, None
    try:
        uses, cause = compared(job, output)
    except Unavailable as error:
        status, detail = Status.UNSUPPORTED, str(error)
    except Failed as error:
        status, detail = error.outcome.status, error.outcome.detail
    return {
        "schema": SCHEMA,
        **{"workload": job.workload, "sizes": job.sizes[job.workload], "pair": [*job.programs[job.workload]]},
        **{"compiler": job.compiler["name"], "device": job.target or CPU},
        **{"status": status, "status_detail": detail, "cause": cause and asdict(cause)},
        "programs": {
            name: asdict(replace(use, peak=use.peak[:SHOWN])) | {"total": use.total}
            for name, use in uses.items()
        },
        "started_utc": started.isoformat(timespec="seconds"),
        "wall_s": time.monotonic() - start,
        "machine": machine.record(),
        "source": machine.revision(),
    }


def compared(job: MemoryJob, output: Path) -> tuple[dict[str, Memory], Cause | None]:
    """Return the memory of both programs, and the cause of a difference; None if they need about the same.

    :raises Failed: if a program is missing or is not compiled.
    :raises Unavailable: if this Python cannot have a compiler's environment.
    """
    compiler, evaluator = replay_causes.specs(job.compiler, job.evaluator, job.pins)
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
    """`python -m stackwars.study.memory`: compare the memory of a workload's programs in one compiler."""
    options = documents.parse_arguments(main.__doc__, "job", "output", "answers")
    options.answers.mkdir(parents=True, exist_ok=True)
    documents.write(options.output, explain(documents.read_job(MemoryJob, options.job), options.answers))


if __name__ == "__main__":
    main()
