"""The replays beside the cells that they are paired with, as a tidy table: replay.csv."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from stackwars import workloads
from stackwars.compilers import FACTS
from stackwars.measure import documents, process_value
from stackwars.measure.log_ratio import LogRatio
from stackwars.measure.process_value import ProcessValue, aligned, per_round
from stackwars.measure.statistics import Estimate, geometric_mean
from stackwars.results import processes
from stackwars.results.combined import OF_A_RATIO, REPLAY_KEYS, of_one_run, over_runs
from stackwars.results.folder import Folder
from stackwars.results.processes import Values
from stackwars.results.runs import Run
from stackwars.study import programs

COLUMNS: dict[str, str] = {
    "workload": "name of the workload",
    "title": "its name in the tables",
    "framework": "whose program: a framework, or framework+edit for an edited one",
    "compiler": "compiler that compiled and ran it",
    "device": "where it ran",
    "status": "ok, oom, timeout, unsupported, invalid, error or not run",
    "status_detail": "why it is not ok",
    "rounds": "processes whose calls count",
    "gated": "whether only uncontended blocks count (see stackwars.measure.process_value)",
    "replay_ms": "geometric mean over the processes of the median steady block, ms a call",
    "replay_low_ms": "lower end of its 95 % interval across processes",
    "replay_high_ms": "upper end",
    "compile_s": "median over the processes of the seconds to parse and compile",
    **FACTS,
    "native_ms": "steady state of the framework's own cell, as in the frame",
    "edited_ratio": "edited / the program before the edit, from interleaved blocks; only of an edited one",
    "edited_ratio_low": "lower end of its 95 % interval",
    "edited_ratio_high": "upper end",
    **{key.format("edited"): text for key, text in OF_A_RATIO.items()},
    "parity_rel_l2": "largest relative L2 error of the whole output against the baseline's",
    "native_rel_l2": "the same against the output sample of the framework's own cell",
    "origin": "measured (this machine) or reference (the committed run)",
}


@dataclass(frozen=True)
class ReplayResult:
    """One replay.json; values: of all processes, as in processes.csv and replayed.csv."""

    result: dict
    values: Values

    def replayed(self, framework: str) -> dict[int, ProcessValue]:
        """{round: value of the program in its process}; empty unless the program is ok."""
        return self._values(framework, self.result["compiler"])

    def paired(self, ours: str, theirs: str) -> tuple[dict[int, ProcessValue], ...]:
        """Values of two programs by round, from blocks that followed each other; empty unless both are ok.

        theirs: the median block; ours: so many times that as the median over the pairs of blocks. What
        slows the machine for a while slows both, so no gate is needed.
        """
        programs = [self.result["programs"].get(name) for name in (ours, theirs)]
        if any(program is None or program["status"] != "ok" for program in programs):
            return {}, {}
        values: tuple[dict[int, ProcessValue], ...] = ({}, {})
        rounds = [process["repetition"] for process in self.result["processes"]]
        columns = (program["steady"] for program in programs)
        for number, one, other in zip(rounds, *columns, strict=True):
            ratio = interleaved_ratio(one, other)
            base = statistics.median(other["ns"]) / other["calls"] / 1e6
            values[0][number], values[1][number] = map(process_value.plain, (ratio * base, base))
        return values

    def natively(self, framework: str) -> dict[int, ProcessValue]:
        """{round: value of the process of the framework's own cell}; empty unless the cell is ok."""
        return self._values(framework)

    def _values(self, framework: str, *compiler: str) -> dict[int, ProcessValue]:
        where = (self.result["workload"], framework, self.result["device"], *compiler)
        return self.values.get(where, {})


def results(config: dict, folder: Path) -> list[dict]:
    """Every replay.json that is asked for, in the order of the grid; one without a result is not run."""
    paths = {asked: folder / asked.path / "replay.json" for asked in programs.replays(config)}
    return [
        documents.read(path) if path.exists() else _not_run(config, asked)
        for asked, path in paths.items()
    ]


def read(config: dict, folder: Folder) -> Iterator[ReplayResult]:
    """The same, with what processes.csv and replayed.csv say of them and of the cells."""
    values = processes.read(folder["processes"]) | processes.read(folder["replayed"])
    for result in results(config, folder.measured):
        yield ReplayResult(result, values)


def _not_run(config: dict, asked: programs.ReplayCell) -> dict:
    """What stands in for a replay that was not run."""
    program = {
        **{"status": "not run", "status_detail": "no result"},
        **{"parity_rel_l2": None, "native_rel_l2": None},
    }
    return {
        **{"workload": asked.workload, "device": asked.device, "compiler": asked.compiler},
        "processes": [],
        "programs": {
            wanted.framework: program
            for wanted in programs.replayed(config, asked.workload, asked.compiler)
            if "+" not in wanted.framework
        },
    }


def interleaved_ratio(one: dict, other: dict) -> float:
    """How many times as long as the other program's: median over the pairs of steady blocks ("ns" of each)."""
    return statistics.median(a / b for a, b in zip(one["ns"], other["ns"], strict=True))


def identity(replay: ReplayResult) -> dict:
    """The columns that tell which workload, compiler and device a row is of."""
    workload = workloads.load(replay.result["workload"])
    return {
        "workload": replay.result["workload"],
        "title": workload.TITLE,
        "kind": workload.KIND,
        "compiler": replay.result["compiler"],
        "device": replay.result["device"],
    }


def build(replays: list[ReplayResult], origin: str) -> pd.DataFrame:
    """COLUMNS, one row a program."""
    rows = [
        {**identity(replay), "origin": origin, **_row(replay, framework)}
        for replay in replays
        for framework in replay.result["programs"]
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(replay: ReplayResult, framework: str) -> dict:
    program = replay.result["programs"][framework]
    copied = ("status", "status_detail", "parity_rel_l2", "native_rel_l2")
    ours, cells = replay.replayed(framework), replay.natively(framework)
    row = {
        "framework": framework,
        **{key: program[key] for key in copied},
        "rounds": len(ours),
        **(program.get("optimised") or {}),
    }
    if program.get("compile_s"):
        row["compile_s"] = statistics.median(program["compile_s"])
    if ours:
        values, row["gated"] = per_round(ours)
        row |= columns("replay{}_ms", geometric_mean(list(values.values())))
    if cells:
        row["native_ms"] = geometric_mean(list(per_round(cells)[0].values())).value
    own = framework.partition("+")[0]
    edited, _ = aligned(*replay.paired(framework, own))
    if edited and own != framework:
        row |= of_one_run("edited", LogRatio.of_rounds([a / b for a, b in edited.values()]))
    return row


def combined(table: pd.DataFrame, accepted: list[Run]) -> pd.DataFrame:
    """The table of one run with the ratios of edited programs combined over all runs."""
    tables = [(run, run.table("replay.csv")) for run in accepted]
    return over_runs(table, tables, REPLAY_KEYS, {"edited": False})


def columns(pattern: str, estimate: Estimate) -> dict[str, float | None]:
    """An estimate as three columns; {} in the pattern becomes nothing, _low and _high."""
    return {
        pattern.format(end): value
        for end, value in zip(("", "_low", "_high"), estimate, strict=True)
    }
