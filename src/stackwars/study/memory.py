"""Memory of both programs of a workload in one compiler, and why one needs more: memory.json. Nothing is timed.

A search closes the difference on the CPU. For a target, where nothing can be called, the buffers at the peaks are compared.
The values of a large program do not fit the memory, so that programs are matched at the preset's sizes.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stackwars.core import documents, machine
from stackwars.core.client import Worker
from stackwars.core.launch import REPOSITORY
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.core.program import Program
from stackwars.explain import memory
from stackwars.explain.answer import Buffer, Cause, Memory
from stackwars.explain.driver import search
from stackwars.explain.task import MEMORY, Settings, Task
from stackwars.measure.stablehlo import ahead_supervisor
from stackwars.measure.stablehlo.ahead_supervisor import CompileJob
from stackwars.measure.stablehlo.arguments import load_program
from stackwars.measure.workloads import sized
from stackwars.setup.device import CPU
from stackwars.setup.environments import Unavailable, ensure
from stackwars.study import cells, programs, replay_causes
from stackwars.study.comparisons import PROGRAMS, comparisons
from stackwars.study.keys import Config
from stackwars.study.results.verdicts import SAME, SAME_SIZE, amount
from stackwars.study.studies import workloads_of

SCHEMA = 1
SHOWN = 5
"""Buffers of a list in memory.json, the largest first."""


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

    compiler, evaluator, pins: see `replay_causes.CausesJob`. programs: {workload: {framework: paths}}, sizes: of each; the
    workload without its label is what is matched. target: "" for the CPU; target_row: of the configuration.
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


def asked(config: Config) -> list[Point]:
    """Return what this run explains of the study, in the order of the grid."""
    rows = config.memory
    places = [*rows.compilers, *rows.targets] if rows else []
    return [Point(place, workload) for workload in workloads_of(config, "memory") for place in places]


def job(config: Config, point: Point) -> MemoryJob:
    """Return the job of a point, with the subject of the main comparison first."""
    rows, settings, pair = config.memory, cells.settings(config), comparisons(config, PROGRAMS)[0]
    target = point.place if point.place in rows.targets else ""
    names = dict.fromkeys((point.workload, sized.base(point.workload)))
    sides = {name: [programs.Program(side, name) for side in reversed(pair.sides)] for name in names}
    return MemoryJob(
        point.workload,
        **replay_causes.compilers_of(config, rows.targets.get(target, point.place), target or None),
        programs={name: programs.files(config, every) for name, every in sides.items()},
        sizes={name: programs.sizes(config, name) for name in names},
        seed=settings.seed,
        settings={"budget_s": rows.budget_s, "memory_cap_gib": settings.memory_cap_gib},
        target=target,
        target_row=config.targets[target].document() if target else {},
    )


def explain(job: MemoryJob, output: Path) -> dict[str, Any]:
    """Return memory.json, and write the log of a search to the folder `output`."""
    started, start = datetime.now(UTC), time.monotonic()
    status, detail, uses, cause = Status.OK, "", {}, None
    try:
        uses = _for_target(job) if job.target else _on_cpu(job)
        a, b = sorted(uses, key=lambda name: -uses[name].total)
        if not job.target and amount(uses[a].total, uses[b].total) != SAME:
            cause = _search(job, a, b, output)
    except Unavailable as error:
        status, detail = Status.UNSUPPORTED, str(error)
    except Failed as error:
        status, detail = error.outcome.status, error.outcome.detail
    others = zip(uses.items(), [*uses.values()][::-1], strict=True)
    totals = [use.total for use in uses.values()]
    return {
        "schema": SCHEMA,
        **{"workload": job.workload, "sizes": job.sizes[job.workload], "pair": [*job.programs[job.workload]]},
        **{"compiler": job.compiler["name"], "device": job.target or CPU},
        **{"status": status, "status_detail": detail, "cause": cause and asdict(cause)},
        "ratio": totals[0] / totals[1] if totals else None,
        "programs": {
            name: asdict(replace(use, peak=use.peak[:SHOWN]))
            | {"total": use.total, "alone": [*map(asdict, alone(use, other)[:SHOWN])]}
            for (name, use), other in others
        },
        "started_utc": started.isoformat(timespec="seconds"),
        "wall_s": time.monotonic() - start,
        "machine": machine.record(),
        "source": machine.revision(),
    }


def alone(found: Memory, other: Memory) -> list[Buffer]:
    """Return the buffers at a program's peak beyond those of the same kind and bytes at the peak of the other."""
    left = Counter((buffer.kind, buffer.bytes) for buffer in other.peak)
    result = []
    for buffer in found.peak:
        left[buffer.kind, buffer.bytes] -= 1
        result += [buffer] if left[buffer.kind, buffer.bytes] < 0 else []
    return result


def _on_cpu(job: MemoryJob) -> dict[str, Memory]:
    compiler, _ = replay_causes.specs(job.compiler, job.evaluator, job.pins)
    with Worker(compiler, **Settings(**job.settings).limits) as worker:
        return {name: memory.use(worker, program) for name, program in job.loaded(job.workload).items()}


def _search(job: MemoryJob, a: str, b: str, output: Path) -> Cause:
    compiler, evaluator = replay_causes.specs(job.compiler, job.evaluator, job.pins)
    large, small = job.loaded(job.workload), job.loaded(sized.base(job.workload))
    name, settings = f"{job.workload} in {compiler.name}", Settings(**job.settings, bound=SAME_SIZE, ask=MEMORY)
    sides = (large[a], compiler, evaluator, large[b])
    return search("cause", Task(name, *sides, settings=settings, smaller=(small[a], small[b])), output)


def _for_target(job: MemoryJob) -> dict[str, Memory]:
    """Return the memory on the target; without buffers at the peak if they cannot be read from the compiler's texts.

    :raises Failed: if the compiler assigns no buffers.
    """
    python, result = ensure(REPOSITORY / job.pins["compiler"]), {}
    for name, program in job.loaded(job.workload).items():
        names = (job.workload, name, programs.BASE, job.sizes[job.workload], job.target, job.target_row)
        limits = (job.compiler["name"], job.settings["budget_s"], 0)
        path = Path(job.programs[job.workload][name]["program"])
        with tempfile.TemporaryDirectory(prefix="stackwars-") as folder:
            end = ahead_supervisor.compile_in(Path(folder), CompileJob(*names, *limits), python, path)
            row, text = ahead_supervisor.row(end, None), ahead_supervisor.assignment(end.dumped)
            optimised, _ = ahead_supervisor.optimised_hlo(end.dumped)
        if text is None or row["status"] != Status.OK:
            ended = Status.ERROR if row["status"] == Status.OK else Status(row["status"])
            raise Failed(Outcome(ended, row["message"] or "no buffer was assigned"))
        try:
            result[name] = memory.of_texts(text, optimised or "", program)
        except (KeyError, ValueError):  # sums stand even if the program cannot be read
            sums = (row[f"{kind}_bytes"] for kind in ("argument", "output", "temp", "alias"))
            argument, output, temporary, alias = sums
            result[name] = Memory(argument, output, 0, temporary, alias)
    return result


def main() -> None:
    """`python -m stackwars.study.memory`: compare the memory of a workload's programs in one compiler."""
    options = documents.parse_arguments(main.__doc__, "job", "output", "answers")
    options.answers.mkdir(parents=True, exist_ok=True)
    documents.write(options.output, explain(documents.read_job(MemoryJob, options.job), options.answers))


if __name__ == "__main__":
    main()
