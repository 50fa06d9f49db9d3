"""rounds.csv: every observation of a run, paired where it is compared, from which comparisons.csv is
inferred.

Processes of one round are paired only if they were measured together: a cell that was measured again later has
the same round numbers, but not the machine's conditions of its baseline. The pause between the two processes
may be as long as all processes of the round took, which is what runs in between, or MAX_PAUSE_S. Rounds that
are not paired keep their times and have no ratio (basis APART).
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator
from typing import Any

import pandas as pd

from stackwars.measure import loops
from stackwars.measure.documents import event
from stackwars.measure.process_value import aligned
from stackwars.results import schema
from stackwars.results.raw import Raw, Values
from stackwars.study.cells import Cell
from stackwars.study.comparisons import PROGRAMS, comparisons
from stackwars.study.programs import ReplayCell, native_compiler
from stackwars.study.studies import full_study

MATRIX = "matrix"
"""The study that compares compilers."""
MAX_PAUSE_S = 600.0
"""A pause of ten minutes may be the build of an environment in the middle of a round."""
INTERLEAVED, UNCONTENDED, ALL, CALL, APART = "interleaved", "uncontended", "all", "call", "apart"
LOOPS = "loops"
"""The basis of a row."""
IN_TURN, NO_MEMORY, FAILED = "in turn", "no memory", "failed"
"""The basis of a row of a replay whose processes did not alternate, or why a control has no native call."""
Row = dict[str, Any]
Loops = dict[int, list[dict]]
"""The loops of a program by round; none of a round in which it was not measured."""


def build(config: dict, raw: Raw, cells: pd.DataFrame) -> pd.DataFrame:
    """Return rounds.csv. cells: cells.csv of the same run, whose valid cells alone are compared."""
    ok = cells[(cells["mode"] == schema.NATIVE) & (cells["status"] == "ok")]
    valid = {Cell(row.framework, row.workload, row.device): row.baseline for row in ok.itertuples()}
    rows = [
        *_native(raw, valid),
        *(
            row
            for replay, result in raw.replays.items()
            for row in _replayed(config, valid, replay, result)
        ),
        *_compilers(config, raw),
        *_processes(raw, valid),
    ]
    return schema.table("rounds", rows)


def measured_together(raw: Raw, one: dict, other: dict, place: tuple[str, str]) -> tuple[set[int], set[int]]:
    """Return the rounds that two results share: those measured together, and those measured apart.

    place: the workload and the device of both.
    """
    sides = [{process["repetition"]: process for process in result["processes"]} for result in (one, other)]
    together, apart = set(), set()
    for number in sides[0].keys() & sides[1].keys():
        earlier, later = sorted((side[number] for side in sides), key=lambda process: process["started_s"])
        pause = later["started_s"] - earlier["started_s"] - earlier["wall_s"]
        is_together = pause <= max(MAX_PAUSE_S, raw.round_seconds[*place, number])
        (together if is_together else apart).add(number)
    return together, apart


def _row(quantity: str, number: int, one: float, base: float | None, basis: str, **names: str) -> Row:
    return {
        "quantity": quantity,
        **names,
        "round": number,
        "subject_ms": one,
        "baseline_ms": base,
        "ratio": None if base is None else one / base,
        "rounds": 1,
        "basis": basis,
    }


def _native(raw: Raw, valid: dict[Cell, str]) -> Iterator[Row]:
    """Yield first, second and steady times of every valid cell with those of its valid baseline."""
    for cell, baseline in valid.items():
        other = Cell(baseline, cell.workload, cell.device)
        if other not in valid:
            continue
        place = (cell.workload, cell.device)
        names = {"workload": place[0], "device": place[1], "subject": cell.framework, "baseline": baseline}
        rounds = measured_together(raw, raw.cells[cell], raw.cells[other], place)
        for stage in (schema.FIRST, schema.SECOND):
            times, base_times = (_singles(raw.cells[side], stage) for side in (cell, other))
            yield from _each(stage, rounds, (times, base_times), CALL, **names)
        yield from _steady(raw, cell, other, names)


def _each(
    quantity: str, rounds: tuple[set, set], times: tuple[dict, dict], basis: str, **names: str
) -> Iterator[Row]:
    """Yield the times of both sides in each round. rounds: those measured together, and apart, which have no ratio."""
    together, apart = rounds
    for number in sorted(together | apart):
        row = _row(quantity, number, *(side[number] for side in times), basis, **names)
        yield row if number in together else row | {"ratio": None, "basis": APART}


def _singles(result: dict, stage: str) -> dict[int, float]:
    return {process["repetition"]: event(process, stage)["ns"] / 1e6 for process in result["processes"]}


def _steady(raw: Raw, cell: Cell, other: Cell, names: dict[str, str]) -> Iterator[Row]:
    """Yield steady times of each process's own blocks."""
    sides = [(raw.cells[one], raw.cell_values[one]) for one in (cell, other)]
    yield from _aligned(raw, schema.STEADY, sides, **names)


def _aligned(raw: Raw, quantity: str, sides: list[tuple[dict, Values]], **names: str) -> Iterator[Row]:
    """Yield the times of two results by round, of uncontended blocks if both have enough of them."""
    (one, values), (other, base) = sides
    together, apart = measured_together(raw, one, other, (names["workload"], names["device"]))
    times, gated = aligned(*({n: v for n, v in side.items() if n in together} for side in (values, base)))
    for number, pair in times.items():
        yield _row(quantity, number, *pair, UNCONTENDED if gated else ALL, **names)
    yield from _each(quantity, (set(), apart), (_all_ms(values), _all_ms(base)), APART, **names)


def _all_ms(values: Values) -> dict[int, float]:
    return {number: value.all_ms for number, value in values.items()}


def _replayed(config: dict, valid: dict[Cell, str], replay: ReplayCell, result: dict) -> Iterator[Row]:
    """Yield the ratios of a replay's rounds: of programs and, in the native compiler, of native calls beside them."""
    names = {"workload": replay.workload, "device": replay.device, "compiler": replay.compiler}
    programs = looped(result)
    cells = {name: Cell(name, replay.workload, replay.device) for name in result["natives"]}
    natives = {
        name: {process["repetition"]: loops.loops_of(process) for process in processes}
        for name, processes in result["natives"].items()
        if name in programs and cells[name] in valid
    }
    bases = {
        process["repetition"]: IN_TURN if process.get("basis") == IN_TURN else LOOPS
        for process in result["processes"]
    }
    for name, native in natives.items():
        sides = {**names, "subject": name, "baseline": name}
        yield from _of_loops(schema.CONTROL, native, programs[name], bases, **sides)
        yield from _uncontrolled(programs[name], result["natives"][name], **sides)
    for pair in comparisons(config, PROGRAMS):
        both = (pair.subject, pair.baseline)
        if not programs.keys() >= set(both):
            continue
        sides = {**names, "subject": pair.subject, "baseline": pair.baseline}
        replays = list(_of_loops(schema.REPLAY, *(programs[name] for name in both), {}, **sides))
        yield from replays
        if natives.keys() >= set(both):
            calls = list(_of_loops(schema.NATIVE_CALLS, *(natives[name] for name in both), bases, **sides))
            yield from calls
            yield from _split(replays, calls, sides)


def looped(result: dict) -> dict[str, Loops]:
    """Return {program: its loops} of the ok programs of a replay."""
    rounds = [process["repetition"] for process in result["processes"]]
    return {
        name: dict(zip(rounds, program["loops"], strict=True))
        for name, program in result["programs"].items()
        if program["status"] == "ok"
    }


def _of_loops(quantity: str, one: Loops, base: Loops, bases: dict[int, str], **names: str) -> Iterator[Row]:
    """Yield a row for each round in which both have loops. bases: of the rounds; LOOPS if they lack one."""
    for number, events in one.items():
        if pairs := loops.pairs(events, base.get(number, [])):
            times = [loops.side_ms(side) for side in (events, base[number])]
            row = _row(quantity, number, *times, bases.get(number, LOOPS), **names)
            yield row | {"ratio": loops.round_ratio(pairs)}


def _uncontrolled(replayed: Loops, processes: list[dict], **names: str) -> Iterator[Row]:
    """Yield the rounds in which a framework has no native call beside its replay."""
    for process in processes:
        if not loops.loops_of(process):
            basis = NO_MEMORY if process["status"] == "not run" else FAILED
            ms = loops.side_ms(replayed[process["repetition"]])
            row = _row(schema.CONTROL, process["repetition"], ms, None, basis, **names)
            yield row | {"subject_ms": None, "baseline_ms": ms}


def _split(replays: list[Row], calls: list[Row], names: dict[str, str]) -> Iterator[Row]:
    """Yield how the native ratio of each round divides: native = replay x rest, margin = replay / rest."""
    ratios = {row["round"]: row["ratio"] for row in replays}
    for row in calls:
        program = ratios[row["round"]]
        rest = row["ratio"] / program
        for quantity, ratio in ((schema.EVERYTHING_ELSE, rest), (schema.MARGIN, program / rest)):
            times = dict.fromkeys(("subject_ms", "baseline_ms"))
            yield _row(quantity, row["round"], ratio, 1.0, row["basis"], **names) | times


def interleaved_ratio(one: dict, other: dict) -> float:
    """Return the median over the pairs of blocks ("ns" of each) of one program's time over the other's."""
    return statistics.median(a / b for a, b in zip(one["ns"], other["ns"], strict=True))


def _compilers(config: dict, raw: Raw) -> Iterator[Row]:
    """Yield times of every program in a compiler and in the one before it in the study's list.

    Of all blocks: the programs of a process are interleaved, and what slows one of them slows the others.
    """
    if MATRIX not in config["studies"]:
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
        results = (raw.replays[replay], raw.replays[other])
        rounds = measured_together(raw, *results, (replay.workload, replay.device))
        yield from _each(schema.COMPILER, rounds, (_all_ms(values), _all_ms(base)), ALL, **names)


def _processes(raw: Raw, valid: dict[Cell, str]) -> Iterator[Row]:
    """Yield every process's steady state, from its uncontended blocks, if they suffice, and from all."""
    native = {
        (cell.workload, cell.device, "", cell.framework): values
        for cell, values in raw.cell_values.items()
        if cell in valid
    }
    replayed = {
        (replay.workload, replay.device, replay.compiler, name): values
        for (replay, name), values in raw.replay_values.items()
    }
    for (workload, device, compiler, name), values in (native | replayed).items():
        names = {"workload": workload, "device": device, "compiler": compiler, "subject": name}
        for number, value in values.items():
            for basis, ms in ((UNCONTENDED, value.gated_ms), (ALL, value.all_ms)):
                if ms is not None:
                    yield _row(schema.PROCESS, number, ms, None, basis, **names)
