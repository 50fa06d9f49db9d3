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

from stackwars.measure import interleaved
from stackwars.measure.documents import event
from stackwars.measure.process_value import aligned
from stackwars.results import schema, summaries
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
"""The basis of a row."""
Row = dict[str, Any]


def build(config: dict, raw: Raw, cells: pd.DataFrame) -> pd.DataFrame:
    """Return rounds.csv. cells: cells.csv of the same run, whose valid cells alone are compared."""
    ok = cells[(cells["mode"] == schema.NATIVE) & (cells["status"] == "ok")]
    valid = {Cell(row.framework, row.workload, row.device): row.baseline for row in ok.itertuples()}
    rows = [
        *_native(raw, valid),
        *(
            row
            for replay, result in raw.replays.items()
            for row in _replayed(config, raw, valid, replay, result)
        ),
        *_compilers(config, raw),
        *_processes(raw, valid),
        *summaries.rows(cells),
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
    """Yield steady times: of interleaved slices if every process has them, else of each process's own blocks."""
    slices = {
        process["repetition"]: pairs
        for process in raw.cells[cell]["processes"]
        if (pairs := interleaved.pairs_ms(process))
    }
    if len(slices) == len(raw.cells[cell]["processes"]):
        for number, pairs in slices.items():
            one, base = (statistics.median(side) for side in zip(*pairs, strict=True))
            row = _row(schema.STEADY, number, one, base, INTERLEAVED, **names)
            yield row | {"ratio": interleaved.round_ratio(pairs)}
        return
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


def _replayed(
    config: dict, raw: Raw, valid: dict[Cell, str], replay: ReplayCell, result: dict
) -> Iterator[Row]:
    """Yield interleaved times of pairs of programs, and each baseline's native and replay times."""
    names = {"workload": replay.workload, "device": replay.device, "compiler": replay.compiler}
    programs = result["programs"]
    pairs = [pair for pair in comparisons(config, PROGRAMS) if {pair.subject, pair.baseline} <= programs.keys()]
    for pair in pairs:
        for number, one, base, ratio in paired(result, pair.subject, pair.baseline):
            sides = {"subject": pair.subject, "baseline": pair.baseline}
            row = _row(schema.REPLAY, number, one, base, INTERLEAVED, **names, **sides)
            yield row | {"ratio": ratio}
    if replay.compiler != native_compiler(config):
        return
    for baseline in dict.fromkeys(pair.baseline for pair in pairs):
        cell, replayed = (
            Cell(baseline, replay.workload, replay.device),
            raw.replay_values.get((replay, baseline)),
        )
        if cell in valid and replayed:
            sides = [(raw.cells[cell], raw.cell_values[cell]), (result, replayed)]
            yield from _aligned(raw, schema.CONTROL, sides, **names, subject=baseline, baseline=baseline)


def paired(result: dict, subject: str, baseline: str) -> Iterator[tuple[int, float, float, float]]:
    """Yield (round, subject in ms, baseline in ms, ratio) of two programs of a replay, unless one is not ok.

    The baseline's time is its median block, the ratio the median over the pairs of blocks that followed each
    other: what slows the machine for a while slows both, so no gate is needed.
    """
    programs = [result["programs"].get(name) for name in (subject, baseline)]
    if any(program is None or program["status"] != "ok" for program in programs):
        return
    rounds = [process["repetition"] for process in result["processes"]]
    for number, one, other in zip(rounds, *(program["steady"] for program in programs), strict=True):
        ratio = interleaved_ratio(one, other)
        base = statistics.median(other["ns"]) / other["calls"] / 1e6
        yield number, ratio * base, base, ratio


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
