"""Every frontend's program through every compiler, and how much of the time is due to either: matrix.csv.

The two-way decomposition is matrix_effects.csv.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
from scipy.special import stdtrit  # scipy.stats takes a second to load

from stackwars import workloads
from stackwars.compilers import FACTS
from stackwars.measure.comparison import direction
from stackwars.measure.log_ratio import LogRatio
from stackwars.measure.statistics import LEVEL
from stackwars.results.compiler_verdicts import PART_BOTH as BOTH
from stackwars.results.compiler_verdicts import PART_COMPILER as COMPILER
from stackwars.results.compiler_verdicts import PART_FRONTEND as FRONTEND
from stackwars.results.folder import Folder
from stackwars.results.whole_study import RUN, Source, rows, sources
from stackwars.setup.device import CPU
from stackwars.study.studies import Study, whole

STUDY = "matrix"
COLUMNS: dict[str, str] = {
    "workload": "name of the workload",
    "title": "its name in the tables",
    "framework": "the frontend: whose program",
    "compiler": "what compiled and ran it",
    "device": "where it ran",
    "status": "ok, oom, timeout, unsupported, invalid, error or not run",
    "status_detail": "why it is not ok",
    "rounds": "processes that were measured",
    "replay_ms": "geometric mean over the processes of the median steady block, ms a call",
    "replay_low_ms": "lower end of its 95 % interval across processes",
    "replay_high_ms": "upper end",
    "over_best": "replay_ms / that of the program's fastest compiler",
    "compile_s": "seconds to compile it: median over the processes",
    "parity_rel_l2": "largest relative L2 error of the whole output against the baseline's program",
    "native_rel_l2": "that of a sample against the frontend's own cell, with its own XLA; empty without one",
    "previous": "the compiler before it in the study's list",
    "previous_ratio": "replay_ms / that in the previous compiler, paired by round",
    "previous_low": "lower end of its 95 % interval",
    "previous_high": "upper end",
    "previous_verdict": "slower, faster, no difference found, unresolved, not decided or no data",
    **FACTS,
    **RUN,
}
_BEFORE = ["previous", "previous_ratio", "previous_low", "previous_high", "previous_verdict"]
EFFECTS: dict[str, str] = {
    "workload": "name of the workload; all: the mean over them",
    "effect": f"{FRONTEND}, {COMPILER}, or {BOTH}: what neither has by itself",
    "share": "its share of the variance of the logarithm of the time over the cells of the matrix",
    "share_low": "lower end of its 95 % interval: over the rounds, of all over the workloads",
    "share_high": "upper end",
    "factor": "by what factor it moves a time: exp of the standard deviation of its part of the logarithm",
    "frontends": "rows of the complete block of the matrix that is decomposed",
    "compilers": "its columns",
    "rounds": "rounds in which all of it was measured",
    **RUN,
}
MIN_ROUNDS = 2
"""Rounds without which noise cannot be told from an effect."""
SHOWN = 0.5
"""The figure has a panel of a workload of which more than this share of the cells was run."""


def build(study: Study, found: list[Source]) -> pd.DataFrame:
    """COLUMNS, one row a cell of the matrix: of every workload, compiler and frontend of the study."""
    known = rows(study, "replay.csv", found, study.programs).reindex(columns=list(COLUMNS))
    table = _with_not_run(study, known)
    ok = table["status"] == "ok"
    best = table[ok].groupby(["workload", "framework"])["replay_ms"].transform("min")
    table["over_best"] = table.loc[ok, "replay_ms"] / best
    values = {source.run: _values(source.table("replayed.csv")) for source in found}
    before = dict(itertools.pairwise(study.compilers))
    pairs = {compiler: previous for previous, compiler in before.items()}
    text = ["previous", "previous_verdict"]
    table[text] = table[text].astype(object)
    for index, row in table[ok].iterrows():
        previous = pairs.get(row["compiler"])
        if previous is not None:
            table.loc[index, _BEFORE] = _over(values[row["run"]], row, previous)
    return table


def _with_not_run(study: Study, known: pd.DataFrame) -> pd.DataFrame:
    """The rows, and one for each cell that no run has; of these and of those not run, what measures them."""
    cells = itertools.product(
        study.workloads, study.compilers, study.programs, study.devices or (CPU,)
    )
    keys = ["workload", "compiler", "framework", "device"]
    there = pd.MultiIndex.from_frame(known[keys])
    runs = known.drop_duplicates("workload").set_index("workload")["run"]
    lacking = [
        {
            **dict(zip(keys, cell, strict=True)),
            "title": workloads.load(cell[0]).TITLE,
            "status": "not run",
            "rounds": 0,
            "run": runs.get(cell[0], ""),
        }
        for cell in cells
        if cell not in there
    ]
    if lacking:
        added = pd.DataFrame(lacking, columns=list(COLUMNS))
        known = pd.concat([known, added], ignore_index=True) if len(known) else added
    place = {name: number for number, name in enumerate(study.workloads)}
    table = known.sort_values("workload", key=lambda names: names.map(place), kind="stable")
    table["status_detail"] = table["status_detail"].astype(object)
    reason = "no run asked for it; to measure it: make matrix WORKLOADS=" + table["workload"]
    not_run = table["status"] == "not run"
    table.loc[not_run, "status_detail"] = reason[not_run]
    return table.reset_index(drop=True)


def _values(table: pd.DataFrame | None) -> dict[tuple, dict[int, float]]:
    """{(workload, framework, compiler): {round: median of all steady blocks in ms}}.

    Of all blocks, not of the uncontended ones: the programs of a process are interleaved, and what slows one of
    them slows the others.
    """
    found: dict[tuple, dict[int, float]] = {}
    for row in () if table is None else table.itertuples():
        key = (row.workload, row.framework, row.compiler)
        found.setdefault(key, {})[row.repetition] = row.ungated_ms
    return found


def _over(values: dict[tuple, dict[int, float]], row: pd.Series, previous: str) -> list:
    """The columns _BEFORE of one row."""
    own, other = (
        values.get((row["workload"], row["framework"], compiler), {})
        for compiler in (row["compiler"], previous)
    )
    shared = sorted(own.keys() & other.keys())
    if not shared:
        return [previous, None, None, None, "no data"]
    estimate = LogRatio.of_rounds([own[r] / other[r] for r in shared]).estimate()
    return [previous, *estimate, direction(estimate)]


def effects(matrix: pd.DataFrame, found: list[Source]) -> pd.DataFrame:
    """EFFECTS, three rows for each workload that has a block of at least 2 by 2, then three for all of them.

    matrix: as `build` gives it.
    """
    made = []
    by_run = {source.run: _values(source.table("replayed.csv")) for source in found}
    for (workload, run), cells in matrix.groupby(["workload", "run"], sort=False):
        frontends, compilers = complete(cells)
        logs = _logs(by_run[run], workload, frontends, compilers)
        if min(len(frontends), len(compilers)) < 2 or len(logs) < MIN_ROUNDS:
            continue
        head = {"frontends": len(frontends), "compilers": len(compilers), "rounds": len(logs)}
        for effect, values in decompose(logs).items():
            made.append({"workload": workload, "effect": effect, **values, **head, "run": run})
    table = pd.DataFrame(made, columns=list(EFFECTS))
    return pd.concat([table, _over_all(table)], ignore_index=True)


def complete(cells: pd.DataFrame) -> tuple[list[str], list[str]]:
    """The frontends and compilers of a block without a gap: whichever line has most gaps is left out first.

    cells: of one workload. A gap is a cell that is not ok.
    """
    ok = cells.assign(ok=cells["status"] == "ok").pivot_table(
        index="framework", columns="compiler", values="ok", sort=False, fill_value=False
    )
    ok = ok.astype(bool)
    while ok.size and not ok.to_numpy().all():
        gaps = [(~ok).mean(axis=1), (~ok).mean(axis=0)]
        axis = int(gaps[1].max() > gaps[0].max())
        ok = ok.drop(gaps[axis].idxmax(), axis=axis)
    return list(ok.index), list(ok.columns)


def _logs(
    values: dict[tuple, dict[int, float]],
    workload: str,
    frontends: list[str],
    compilers: list[str],
) -> np.ndarray:
    """(rounds, frontends, compilers): logarithms of the times of the rounds that have all of them."""
    cells = [values.get((workload, *pair), {}) for pair in itertools.product(frontends, compilers)]
    shared = sorted(set.intersection(*map(set, cells))) if cells else []
    size = (len(shared), len(frontends), len(compilers))
    return np.log([[cell[number] for cell in cells] for number in shared]).reshape(size)


def decompose(logs: np.ndarray) -> dict[str, dict[str, float]]:
    """{effect: share, its ends, factor} of logs (rounds, frontends, compilers), at least two of each.

    The analysis of variance of two crossed factors (Scheffe, The Analysis of Variance, 4.1): log time = mean +
    frontend + compiler + what is left, each of the three summed in squares. Squares of noisy means are too
    large; so they are sums of products of different rounds, whose noise is independent, and an effect that is
    not there has a share of 0 on average, and may have less. The intervals are Student's over the jackknife
    (Davison & Hinkley, Bootstrap Methods, 3.2.1).
    """
    rounds = len(logs)
    shares = _shares(logs)
    sizes = _sizes(logs)
    ends: dict[str, tuple[float, float]] = dict.fromkeys(shares, (math.nan, math.nan))
    if rounds > MIN_ROUNDS:
        left_out = [_shares(np.delete(logs, number, axis=0)) for number in range(rounds)]
        t = stdtrit(rounds - 1, (1 + LEVEL) / 2)
        for name, share in shares.items():
            pseudo = [rounds * share - (rounds - 1) * one[name] for one in left_out]
            half = float(t * pd.Series(pseudo).sem())
            ends[name] = (share - half, share + half)
    cells = logs[0].size
    return {
        name: {
            "share": share,
            "share_low": ends[name][0],
            "share_high": ends[name][1],
            "factor": math.exp(math.sqrt(max(sizes[name], 0.0) / cells)),
        }
        for name, share in shares.items()
    }


def _shares(logs: np.ndarray) -> dict[str, float]:
    sizes = _sizes(logs)
    total = sum(sizes.values())
    return {name: size / total for name, size in sizes.items()}


def _sizes(logs: np.ndarray) -> dict[str, float]:
    """The sum of squares of each effect over the cells: of products of different rounds."""
    centred = logs - logs.mean(axis=(1, 2), keepdims=True)
    rows_, columns = (centred.mean(axis=axis, keepdims=True) for axis in (2, 1))
    parts = {
        FRONTEND: np.broadcast_to(rows_, logs.shape),
        COMPILER: np.broadcast_to(columns, logs.shape),
        BOTH: centred - rows_ - columns,
    }
    return {name: _between_rounds(part.reshape(len(logs), -1)) for name, part in parts.items()}


def _between_rounds(vectors: np.ndarray) -> float:
    """The mean product of two different rows."""
    count = len(vectors)
    total = vectors.sum(axis=0)
    return float((total @ total - (vectors * vectors).sum()) / (count * (count - 1)))


def _over_all(table: pd.DataFrame) -> pd.DataFrame:
    """The mean share of each effect over the workloads, with Student's interval; none of a single one."""
    found = []
    for effect, own in table.groupby("effect", sort=False):
        if len(own) < 2:
            continue
        half = float(stdtrit(len(own) - 1, (1 + LEVEL) / 2) * own["share"].sem())
        mean = float(own["share"].mean())
        ends = {"share_low": mean - half, "share_high": mean + half}
        factor = math.exp(math.sqrt(np.mean(np.log(own["factor"]) ** 2)))
        found.append({"workload": "all", "effect": effect, "share": mean, **ends, "factor": factor})
    return pd.DataFrame(found, columns=list(EFFECTS))


def write(config: dict, folder: Folder) -> None:
    """matrix.csv and matrix_effects.csv; headers alone where the configuration has no such study."""
    if STUDY in config["studies"]:
        study, found = whole(config, STUDY), sources(folder)
        matrix = build(study, found)
        decomposed = effects(matrix, found)
    else:
        matrix, decomposed = (
            pd.DataFrame(columns=list(COLUMNS)),
            pd.DataFrame(columns=list(EFFECTS)),
        )
    matrix.to_csv(folder["matrix"], index=False)
    decomposed.to_csv(folder["matrix_effects"], index=False)
