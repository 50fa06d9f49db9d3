"""rounds.csv: every observation of a run, paired where it is compared, from which comparisons.csv is
inferred."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator
from typing import Any

import pandas as pd

from stackwars.measure import interleaved
from stackwars.measure.events import event
from stackwars.measure.process_value import ProcessValue, aligned
from stackwars.results import schema
from stackwars.results.raw import Raw
from stackwars.study.cells import Cell
from stackwars.study.comparisons import PROGRAMS, comparisons
from stackwars.study.programs import ReplayCell, native_compiler
from stackwars.study.studies import full_study

MATRIX = "matrix"
"""The study that compares compilers."""
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
    ]
    return schema.table("rounds", rows)


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
    """First, second and steady times of every valid cell beside a valid one of its baseline."""
    for cell, baseline in valid.items():
        other = Cell(baseline, cell.workload, cell.device)
        if other not in valid:
            continue
        names = {
            "workload": cell.workload,
            "device": cell.device,
            "subject": cell.framework,
            "baseline": baseline,
        }
        for stage in (schema.FIRST, schema.SECOND):
            ours, theirs = (_singles(raw.cells[side], stage) for side in (cell, other))
            for number in sorted(ours.keys() & theirs.keys()):
                yield _row(stage, number, ours[number], theirs[number], "call", **names)
        yield from _steady(raw, cell, other, names)


def _singles(result: dict, stage: str) -> dict[int, float]:
    return {process["repetition"]: event(process, stage)["ns"] / 1e6 for process in result["processes"]}


def _steady(raw: Raw, cell: Cell, other: Cell, names: dict[str, str]) -> Iterator[Row]:
    """Steady times: of interleaved slices if every process has them, else of each process's own blocks."""
    slices = {
        process["repetition"]: pairs
        for process in raw.cells[cell]["processes"]
        if (pairs := interleaved.pairs_ms(process))
    }
    if len(slices) == len(raw.cells[cell]["processes"]):
        for number, pairs in slices.items():
            one, base = (statistics.median(side) for side in zip(*pairs, strict=True))
            row = _row(schema.STEADY, number, one, base, "interleaved", **names)
            yield row | {"ratio": interleaved.round_ratio(pairs)}
        return
    steady, gated = aligned(raw.cell_values[cell], raw.cell_values[other])
    for number, (one, base) in steady.items():
        yield _row(schema.STEADY, number, one, base, "uncontended" if gated else "all", **names)


def _replayed(
    config: dict, raw: Raw, valid: dict[Cell, str], replay: ReplayCell, result: dict
) -> Iterator[Row]:
    """Interleaved times of pairs of programs, edits included, and a baseline's native times beside its
    replay's."""
    names = {"workload": replay.workload, "device": replay.device, "compiler": replay.compiler}
    programs = result["programs"]
    pairs = [pair for pair in comparisons(config, PROGRAMS) if {pair.subject, pair.baseline} <= programs.keys()]
    sides = [(schema.REPLAY, pair.subject, pair.baseline) for pair in pairs]
    sides += [(schema.EDIT, name, name.partition("+")[0]) for name in programs if "+" in name]
    for quantity, subject, baseline in sides:
        for number, one, base, ratio in paired(result, subject, baseline):
            row = _row(
                quantity,
                number,
                one,
                base,
                "interleaved",
                **names,
                subject=subject,
                baseline=baseline,
            )
            yield row | {"ratio": ratio}
    if replay.compiler != native_compiler(config):
        return
    for baseline in dict.fromkeys(pair.baseline for pair in pairs):
        cell = Cell(baseline, replay.workload, replay.device)
        native: dict[int, ProcessValue] = raw.cell_values[cell] if cell in valid else {}
        control, gated = aligned(native, raw.replay_values.get((replay, baseline), {}))
        for number, (one, base) in control.items():
            basis = "uncontended" if gated else "all"
            yield _row(
                schema.CONTROL,
                number,
                one,
                base,
                basis,
                **names,
                subject=baseline,
                baseline=baseline,
            )


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
    """Times of every program in a compiler and in the one before it in the list of the study of compilers.

    Of all blocks: the programs of a process are interleaved, and what slows one of them slows the others.
    """
    if MATRIX not in config["studies"]:
        return
    study = full_study(config, MATRIX)
    before = {compiler: previous for previous, compiler in itertools.pairwise(study.compilers)}
    times = {
        (replay.workload, replay.device, name, replay.compiler): {n: v.all_ms for n, v in values.items()}
        for (replay, name), values in raw.replay_values.items()
        if name in study.programs
    }
    for (workload, device, name, compiler), own in times.items():
        previous = before.get(compiler, "")
        base = times.get((workload, device, name, previous), {})
        names = {"workload": workload, "device": device, "compiler": compiler, "subject": name}
        for number in sorted(own.keys() & base.keys()):
            row = _row(schema.COMPILER, number, own[number], base[number], "all", **names)
            yield row | {"baseline": name, "baseline_compiler": previous}


def _processes(raw: Raw, valid: dict[Cell, str]) -> Iterator[Row]:
    """The steady state of every process by itself: from its uncontended blocks, if they suffice, and from
    all."""
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
            for basis, ms in (("uncontended", value.gated_ms), ("all", value.all_ms)):
                if ms is not None:
                    yield _row(schema.PROCESS, number, ms, None, basis, **names)
