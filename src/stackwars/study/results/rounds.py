"""rounds.csv: every observation of a run, paired where it is compared, from which comparisons.csv is
inferred.

A cell has its pairs itself: in each of its rounds a process and its partner. The replays of one program in two
compilers are two jobs, whose rounds are paired only if they were measured together: the pause between them may be as
long as all processes of the round took, or MAX_PAUSE_S. Rounds that are not paired keep their times and have no ratio
(basis APART).

Quantities that no round pairs (forms of a function, growing sizes) have a summary over several processes: a row without
a number of a round, which says how many rounds it stands for and the standard error of its logarithm.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator

import pandas as pd
from scipy.special import stdtrit  # scipy.stats takes a second to load

from stackwars.core.documents import Row, event
from stackwars.core.outcome import Status
from stackwars.core.ratio import LEVEL, growth
from stackwars.measure import loops, workloads
from stackwars.setup.device import CPU, CPUS
from stackwars.study.cells import Cell
from stackwars.study.keys import Config
from stackwars.study.programs import ReplayCell
from stackwars.study.results import schema
from stackwars.study.results.raw import Raw
from stackwars.study.results.schema import is_missing
from stackwars.study.studies import PROGRAMS, comparisons, full_study

MATRIX = "matrix"
"""The study that compares compilers."""
MAX_PAUSE_S = 600.0
"""A pause of ten minutes may be the build of an environment in the middle of a round."""
INTERLEAVED, IN_TURN, CALL, APART = "interleaved", "in turn", "call", "apart"
NO_MEMORY, FAILED, PROCESSES = "no memory", "failed", "processes"
"""The basis of a row; NO_MEMORY and FAILED say why a control has no native call."""
CPU_TIME = {schema.STEADY: schema.STEADY_CPU, schema.REPLAY: schema.REPLAY_CPU}
"""The ratio of the CPU time of the same loops, by the ratio of their times."""
Loops = dict[int, list[dict]]
"""The loops of a program by round; none for a round in which it was not measured."""


def build(config: Config, raw: Raw, cells: pd.DataFrame) -> pd.DataFrame:
    """Return rounds.csv. cells: cells.csv of the same run, whose valid cells alone are compared."""
    ok = cells[(cells["mode"] == schema.NATIVE) & (cells["status"] == Status.OK)]
    valid = {Cell(row.framework, row.workload, row.device): row.baseline for row in ok.itertuples()}
    rows = [
        *_native(raw, valid),
        *(row for replay, result in raw.replays.items() for row in _replayed(config, valid, replay, result)),
        *_compilers(config, raw),
        *_processes(raw, valid),
        *summaries(cells),
    ]
    return schema.table("rounds", rows)


def _row(quantity: str, number: int, one: float | None, base: float | None, basis: str, **names: str) -> Row:
    ratio = None if one is None or base is None else one / base
    times = {"subject_ms": one, "baseline_ms": base, "ratio": ratio}
    return {"quantity": quantity, **names, "round": number, **times, "rounds": 1, "basis": basis}


def _native(raw: Raw, valid: dict[Cell, str]) -> Iterator[Row]:
    """Yield the first, second and steady times of each process of a valid cell and of its partner.

    Nothing unless the baseline's own cell is valid. The steady times are of loops; undisturbed: of the series that no
    loop of the other interrupts.
    """
    stages = ((schema.FIRST, "first"), (schema.SECOND, "second"), (schema.UNDISTURBED, "steady"))
    for cell, baseline in valid.items():
        if Cell(baseline, cell.workload, cell.device) not in valid:
            continue
        names = {
            "workload": cell.workload,
            "device": cell.device,
            "subject": cell.framework,
            "baseline": baseline,
        }
        for process in raw.cells[cell]["processes"]:
            partner = process["partner"]
            if not partner or partner["status"] != Status.OK:
                continue
            number, sides = process["repetition"], (process, partner)
            for quantity, name in stages:
                events = [event(side, name) for side in sides]
                if all(events):
                    yield _row(quantity, number, *map(_call_ms, events), CALL, **names)
            subject, base = ({number: loops.loops_of(side)} for side in sides)
            yield from _of_loops(schema.STEADY, subject, base, {number: process["basis"]}, **names)


def _call_ms(timed: dict) -> float:
    """Return the ms of an event's call, or of a call in its median block."""
    ns = timed["ns"]
    return (statistics.median(ns) / timed["calls"] if isinstance(ns, list) else ns) / 1e6


def _replayed(config: Config, valid: dict[Cell, str], replay: ReplayCell, result: dict) -> Iterator[Row]:
    """Yield the ratios of a replay's rounds: of programs and, in the native compiler, of simultaneous native calls."""
    names = {"workload": replay.workload, "device": replay.device, "compiler": replay.compiler}
    rounds = [process["repetition"] for process in result["processes"]]
    programs: dict[str, Loops] = {
        name: dict(zip(rounds, program["loops"], strict=True))
        for name, program in result["programs"].items()
        if program["status"] == Status.OK
    }
    natives: dict[str, Loops] = {
        name: {process["repetition"]: loops.loops_of(process) for process in processes}
        for name, processes in result["natives"].items()
        if name in programs and Cell(name, replay.workload, replay.device) in valid
    }
    bases = {process["repetition"]: process["basis"] for process in result["processes"]}
    for name, native in natives.items():
        sides = {**names, "subject": name, "baseline": name}
        yield from _of_loops(schema.CONTROL, native, programs[name], bases, **sides)
        for process in result["natives"][name]:
            if not native[number := process["repetition"]]:
                basis = NO_MEMORY if process["status"] == Status.NOT_RUN else FAILED
                yield _row(schema.CONTROL, number, None, loops.side_ms(programs[name][number]), basis, **sides)
    for pair in comparisons(config, PROGRAMS):
        both = (pair.subject, pair.baseline)
        if not programs.keys() >= set(both):
            continue
        sides = {**names, "subject": pair.subject, "baseline": pair.baseline}
        replays = list(_of_loops(schema.REPLAY, *(programs[name] for name in both), {}, **sides))
        yield from replays
        if natives.keys() >= set(both):
            ratios = {row["round"]: row["ratio"] for row in replays if row["quantity"] == schema.REPLAY}
            calls = list(_of_loops(schema.NATIVE_CALLS, *(natives[name] for name in both), bases, **sides))
            yield from calls
            for row in calls:
                # native = replay x everything else, and margin = replay / everything else
                program = ratios[row["round"]]
                rest = row["ratio"] / program
                for quantity, ratio in ((schema.EVERYTHING_ELSE, rest), (schema.MARGIN, program / rest)):
                    yield row | {"quantity": quantity, "ratio": ratio, "subject_ms": None, "baseline_ms": None}


def _of_loops(quantity: str, one: Loops, base: Loops, bases: dict[int, str], **names: str) -> Iterator[Row]:
    """Yield a row for each round in which both have loops, and a row of their CPU time if that is a quantity.

    bases: of the rounds; INTERLEAVED for a round without one.
    """
    for number, events in one.items():
        timed = {quantity: (events, base.get(number, []))}
        if quantity in CPU_TIME and names["device"] in CPUS:
            timed[CPU_TIME[quantity]] = tuple(map(_cpu_time, timed[quantity]))
        for name, sides in timed.items():
            if pairs := loops.pairs(*sides):
                row = _row(name, number, *map(loops.side_ms, sides), bases.get(number, INTERLEAVED), **names)
                yield row | {"ratio": loops.round_ratio(pairs)}


def _cpu_time(events: list[dict]) -> list[dict]:
    """Return the loops with the CPU time of a mean block in place of the times of their blocks.

    The kernel is read once a loop, so the blocks that settle are included. Nothing if it counts no CPU time.
    """
    if not all(event["run_ns"] for event in events):
        return []
    return [event | {"ns": [event["run_ns"] / len(event["ns"])], "dropped": 0} for event in events]


def _compilers(config: Config, raw: Raw) -> Iterator[Row]:
    """Yield times of every program in a compiler and in the one before it in the study's list, of their loops."""
    if MATRIX not in config.studies:
        return
    study = full_study(config, MATRIX)
    before = {compiler: other for other, compiler in itertools.pairwise(study.compilers)}
    for (replay, name), values in raw.replay_values.items():
        other = ReplayCell(replay.device, before.get(replay.compiler, ""), replay.workload)
        base = raw.replay_values.get((other, name))
        if base is None or name not in study.programs:
            continue
        names = {"workload": replay.workload, "device": replay.device, "compiler": replay.compiler}
        names |= {"subject": name, "baseline": name, "baseline_compiler": other.compiler}
        sides = [
            {process["repetition"]: process for process in raw.replays[one]["processes"]}
            for one in (replay, other)
        ]
        for number in sorted(sides[0].keys() & sides[1].keys()):
            times = (side[number].loops_ms for side in (values, base))
            row = _row(schema.COMPILER, number, *times, IN_TURN, **names)
            earlier, later = sorted((side[number] for side in sides), key=lambda process: process["started_s"])
            pause = later["started_s"] - earlier["started_s"] - earlier["wall_s"]
            is_together = pause <= max(MAX_PAUSE_S, raw.round_seconds[replay.workload, replay.device, number])
            yield row if is_together else row | {"ratio": None, "basis": APART}


def _processes(raw: Raw, valid: dict[Cell, str]) -> Iterator[Row]:
    processes = {
        (cell.workload, cell.device, "", cell.framework): values
        for cell, values in raw.cell_values.items()
        if cell in valid
    }
    for (replay, name), values in raw.replay_values.items():
        processes[replay.workload, replay.device, replay.compiler, name] = values
    for key, values in processes.items():
        names = dict(zip(("workload", "device", "compiler", "subject"), key, strict=True))
        for number, value in values.items():
            if value.loops_ms is not None:
                yield _row(schema.PROCESS, number, value.loops_ms, None, INTERLEAVED, **names)


def summaries(cells: pd.DataFrame) -> Iterator[Row]:
    yield from _forms(cells[cells["mode"] == schema.NATIVE])
    yield from _scaling(cells[cells["mode"] == schema.GROWTH])


def _summary(quantity: str, log: float, error: float | None, rounds: float, **names: str) -> Row:
    numbers = {"round": None, "ratio": math.exp(log), "error": error, "rounds": rounds}
    return {"quantity": quantity, "device": CPU, **names, **numbers, "basis": PROCESSES}


def _forms(native: pd.DataFrame) -> Iterator[Row]:
    """Yield first and steady time of a workload over its function's plain form, in each framework."""
    ok = native[(native["device"] == CPU) & (native["status"] == Status.OK)]
    cells = {(row["workload"], row["framework"]): row for row in ok.to_dict("records")}
    plain_forms = {name: workloads.load(name).FORM_OF for name in ok["workload"].unique()}
    for (workload, framework), cell in cells.items():
        plain = plain_forms[workload]
        other = cells.get((plain, framework))
        if other is None or cell["nodes"] != other["nodes"]:  # times of two nodes are not compared
            continue
        names = {"workload": workload, "subject": framework, "baseline": framework, "baseline_workload": plain}
        for stage in (schema.STEADY, schema.FIRST):
            sides = [one for one in (_logarithm(side, stage) for side in (cell, other)) if one]
            if len(sides) == 2:
                errors, rounds = [error for _, error, _ in sides], min(count for *_, count in sides)
                error = None if None in errors else math.hypot(*errors)
                yield _summary(schema.FORM, sides[0][0] - sides[1][0], error, rounds, variant=stage, **names)


def _logarithm(cell: Row, stage: str) -> tuple[float, float | None, float] | None:
    """Return the logarithm of a time in ms, its error and the number of processes; None if there is no time."""
    value, low, high = (cell[f"{stage}{end}_ms"] for end in ("", "_low", "_high"))
    if is_missing(value):
        return None
    processes = cell["steady_processes"] if stage == schema.STEADY else cell["rounds"]
    if is_missing(low) or processes < 2:
        return math.log(value), None, processes
    half = math.log(high / low) / 2
    return math.log(value), half / float(stdtrit(processes - 1, (1 + LEVEL) / 2)), processes


def _scaling(grown: pd.DataFrame) -> Iterator[Row]:
    """Yield how the cost of compiling (first call less steady state) grows if a size doubles.

    Least squares on logarithms; one point fewer than there are values, because the slope takes one.
    """
    for keys, points in grown[grown["status"] == Status.OK].groupby(
        ["workload", "framework", "size"], sort=False
    ):
        workload, framework, size = keys
        costs = points["first_ms"] - points["steady_ms"]
        if len(points) < 3 or (costs <= 0).any():
            continue
        fit = growth(points["value"], costs)
        names = {"workload": workload, "variant": size, "subject": framework, "baseline": framework}
        yield _summary(schema.SCALING, fit.log, fit.error, len(points) - 1.0, **names)
