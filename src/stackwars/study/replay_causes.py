"""The causes of the gaps between the programs of one replay: causes.json.

The replay says which programs differ by more than the bound. A search that fails does not affect the others.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stackwars.core import documents, machine
from stackwars.core.client import CompilerSpec
from stackwars.core.launch import REPOSITORY
from stackwars.core.outcome import Status
from stackwars.core.ratio import Estimate, LogRatio, is_gap
from stackwars.explain import answer
from stackwars.explain.driver import search
from stackwars.explain.task import Settings, Task
from stackwars.measure import loops
from stackwars.measure.stablehlo.arguments import load_program
from stackwars.setup.environments import Unavailable, ensure
from stackwars.study import cells, programs
from stackwars.study.keys import Config
from stackwars.study.programs import ReplayCell
from stackwars.study.studies import PROGRAMS, comparisons

SCHEMA = 1


@dataclass(frozen=True)
class CausesJob:
    """One replay.

    compiler, evaluator: name, module and options of each `CompilerSpec`; pins: the files of their environments.
    programs: {framework: {"program", "arguments": paths}}. pair: the subject and the baseline that are searched if they
    differ, in addition to the slowest and the fastest program. bound: the relative difference from which two programs
    have a gap. settings: of each search, see `task.Settings`.
    """

    workload: str
    device: str
    compiler: dict[str, Any]
    evaluator: dict[str, Any]
    pins: dict[str, str]
    programs: dict[str, dict[str, str]]
    pair: list[str]
    sizes: dict[str, int]
    seed: int
    bound: float
    settings: dict[str, Any]


def job(config: Config, replay: ReplayCell) -> CausesJob:
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


def specs(compiler: dict, evaluator: dict, pins: dict[str, str]) -> list[CompilerSpec]:
    """Return the compiler and the evaluator of a job, by its fields.

    :raises Unavailable: if this Python cannot have the environment of one of them.
    """
    return [
        CompilerSpec(**row, python=str(ensure(REPOSITORY / pins[role])))
        for role, row in (("compiler", compiler), ("evaluator", evaluator))
    ]


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


def task(job: CausesJob, gap: dict[str, Any], compiler: CompilerSpec, evaluator: CompilerSpec) -> Task:
    """Return the search for the cause of one gap."""
    a, b = (
        load_program(
            name, *(Path(paths[key]) for key in ("program", "arguments")), job.workload, job.sizes, job.seed
        )
        for name in (gap["subject"], gap["baseline"])
        if (paths := job.programs[name])
    )
    name = f"{job.workload} in {compiler.name}: {a.label} against {b.label}"
    return Task(name, a, compiler, evaluator, b, settings=Settings(**job.settings, bound=job.bound))


def explain(job: CausesJob, replay: dict, output: Path) -> dict[str, Any]:
    """Return causes.json, and write the answers to a folder of each gap under `output`."""
    started, start = datetime.now(UTC), time.monotonic()
    rows = gaps(replay, job.programs, job.pair, job.bound)
    status, detail, found = Status.OK, "", []
    try:
        found = specs(job.compiler, job.evaluator, job.pins)
    except Unavailable as error:
        status, detail = Status.UNSUPPORTED, str(error)
    for gap in rows:
        gap["cause"] = None
        if gap["is_gap"] and found:
            folder = output / f"{gap['subject']}-{gap['baseline']}"
            cause = search("cause", task(job, gap, *found), folder)
            answer.write(folder / "cause.json", cause)
            gap["cause"] = asdict(cause)
    return {
        "schema": SCHEMA,
        **{"workload": job.workload, "device": job.device, "compiler": job.compiler["name"]},
        **{"bound": job.bound, "status": status, "status_detail": detail, "gaps": rows},
        "started_utc": started.isoformat(timespec="seconds"),
        "wall_s": time.monotonic() - start,
        "machine": machine.record(),
        "source": machine.revision(),
    }


def main() -> None:
    """`python -m stackwars.study.replay_causes`: search the causes of the gaps of one replay."""
    options = documents.parse_arguments(main.__doc__, "job", "replay", "output", "answers")
    options.answers.mkdir(parents=True, exist_ok=True)
    job, replay = documents.read_job(CausesJob, options.job), documents.read(options.replay)
    result = explain(job, replay, options.answers)
    documents.write(options.output, result)


if __name__ == "__main__":
    main()
