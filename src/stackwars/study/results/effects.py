"""effects.csv: how much of a program's time is due to the frontend, the compiler, and their interaction.

Most frontends lower the same PyTorch model, and one compiler is not XLA. The subsets leave out these, or any other
frontend or compiler, and show whether the answer rests on them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtrit  # scipy.stats takes a second to load

from stackwars.core.compilers import XLA
from stackwars.core.outcome import Status
from stackwars.core.ratio import LEVEL
from stackwars.measure import frameworks
from stackwars.setup.device import CPU
from stackwars.study.keys import Config
from stackwars.study.results import pooling, schema
from stackwars.study.results.pooling import RunTable
from stackwars.study.results.rounds import INTERLEAVED
from stackwars.study.results.schema import is_missing
from stackwars.study.results.verdicts import COMPILER, FRONTEND, INTERACTION, NO_INTERVAL, NOT_SEPARATED
from stackwars.study.studies import studies, with_programs

STUDY = "matrix"
EVERY = "all"
"""The workload of rows that are the mean over the workloads."""
ALL, XLA_ALONE = "all", "XLA alone"
ONE_EACH, BOTH = "one frontend a dialect", "both restrictions"
MIN_ROUNDS = 2
"""Least number of rounds with which an effect can be distinguished from noise."""


def build(config: Config, cells: pd.DataFrame, rounds: pd.DataFrame) -> pd.DataFrame:
    """Return effects.csv of one run, of the workloads that it measures of the matrix; no row without that study."""
    study = next((one for one in studies(config) if one.name == STUDY), None)
    if study is None:
        return schema.empty("effects")
    matrix = cells[
        (cells["mode"] == schema.REPLAY)
        & (cells["device"] == CPU)
        & cells["workload"].isin(study.workloads)
        & cells["framework"].isin(study.programs)
        & cells["compiler"].isin(study.compilers)
    ]
    # Times in ms of the loops of replays: a row a round, a column a (workload, framework, compiler).
    is_replay = (rounds["quantity"] == schema.PROCESS) & (rounds["compiler"] != "")
    replayed = rounds[is_replay & (rounds["basis"] == INTERLEAVED)]
    times = replayed.pivot(index="round", columns=["workload", "subject", "compiler"], values="subject_ms")
    rows = []
    for name, some in subsets(config, matrix).items():
        subset_rows = [{"subset": name, "runs": 1, "machines": 1, **row} for row in _of_subset(some, times)]
        rows += pooling.shrink_errors(subset_rows, "effect")
    return over_all(decided(schema.table("effects", rows)))


def decided(table: pd.DataFrame) -> pd.DataFrame:
    """Return effects.csv with intervals and the largest effect of each workload.

    The intervals of a subset have one level (`stackwars.study.results.pooling`); they decide what is the largest.
    """
    rows = table.to_dict("records")
    by_subset: dict[str, dict[str, dict[str, dict]]] = {}
    for row in rows:
        by_subset.setdefault(row["subset"], {}).setdefault(row["workload"], {})[row["effect"]] = row
    for workloads in by_subset.values():
        known = [
            by_effect
            for by_effect in workloads.values()
            if not any(is_missing(one["error"]) for one in by_effect.values())
        ]

        def count(level: float, known: list[dict] = known) -> int:
            return sum(largest(with_ends(by_effect, level)) in by_effect for by_effect in known)

        level = pooling.level(len(known), count) if known else LEVEL
        for by_effect in workloads.values():
            ends = with_ends(by_effect, level)
            words = {"largest": largest(ends), "confidence": level if by_effect in known else math.nan}
            for name, row in by_effect.items():
                row |= ends[name] | words
    return schema.table("effects", rows)


def with_ends(by_effect: dict[str, dict], level: float = LEVEL) -> dict[str, dict]:
    result = {}
    for name, row in by_effect.items():
        half = math.nan
        if not is_missing(row["error"]):
            half = float(stdtrit(row["dof"], (1 + level) / 2)) * row["error"]
        ends = {"share_low": row["share"] - half, "share_high": row["share"] + half}
        result[name] = {"share": row["share"], **ends}
    return result


def subsets(config: Config, matrix: pd.DataFrame) -> dict[str, pd.DataFrame]:
    of_dialects: dict[str, str] = {}
    for name in with_programs(config):
        of_dialects.setdefault(frameworks.load(name).DIALECT, name)
    first = matrix["framework"].isin(of_dialects.values())
    xla = matrix["compiler"].isin([name for name, row in config.compilers.items() if row.module == XLA])
    result = {ALL: matrix, XLA_ALONE: matrix[xla], ONE_EACH: matrix[first], BOTH: matrix[xla & first]}
    for factor, column in ((COMPILER, "compiler"), (FRONTEND, "framework")):
        result |= {without(factor, level): matrix[matrix[column] != level] for level in matrix[column].unique()}
    return result


def without(factor: str, level: str) -> str:
    return f"without {factor} {level}"


def _of_subset(matrix: pd.DataFrame, times: pd.DataFrame) -> list[dict]:
    """Return three rows for each workload with a block of at least 2 by 2."""
    rows: list[dict] = []
    for workload, cells in matrix.groupby("workload", sort=False):
        if min(cells["framework"].nunique(), cells["compiler"].nunique()) < 2:
            continue
        frontends, compilers = complete(cells)
        # Logarithms (rounds, frontends, compilers) of the rounds that have all of them.
        columns = [(str(workload), *pair) for pair in itertools.product(frontends, compilers)]
        shared = times.reindex(columns=columns).dropna()
        if min(len(frontends), len(compilers)) < 2 or len(shared) < MIN_ROUNDS:
            continue
        logs = np.log(shared.to_numpy()).reshape(len(shared), len(frontends), len(compilers))
        head = {"frontends": len(frontends), "compilers": len(compilers), "rounds": len(logs)}
        rows += [{"workload": workload, "effect": name, **one, **head} for name, one in decompose(logs).items()]
    return rows


def complete(cells: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Return the frontends and compilers of a block without a gap: the line with most gaps is left out first.

    cells: of one workload. A gap is a cell that is not ok.
    """
    ok = cells.pivot(index="framework", columns="compiler", values="status") == Status.OK
    ok = ok.loc[cells["framework"].unique(), cells["compiler"].unique()]
    while ok.size and not ok.to_numpy().all():
        gaps = [(~ok).mean(axis=1), (~ok).mean(axis=0)]
        axis = int(gaps[1].max() > gaps[0].max())
        ok = ok.drop(gaps[axis].idxmax(), axis=axis)
    return list(ok.index), list(ok.columns)


def decompose(logs: np.ndarray) -> dict[str, dict[str, float]]:
    """Return {effect: share, its error and degrees of freedom, factor} of logs (rounds, frontends, compilers), at
    least two of each.

    The analysis of variance of two crossed factors (Scheffe, The Analysis of Variance, 4.1): log time = mean +
    frontend + compiler + what is left, each of the three summed in squares. Squares of noisy means are too
    large; so they are sums of products of different rounds, whose noise is independent, and an effect that is
    not there has a share of 0 on average, and may have less. The errors are by the jackknife over the rounds
    (Davison & Hinkley, Bootstrap Methods, 3.2.1).
    """
    rounds = len(logs)
    shares, sizes = _shares(logs), _sizes(logs)
    errors = dict.fromkeys(shares, math.nan)
    if rounds > MIN_ROUNDS:
        left_out = [_shares(np.delete(logs, number, axis=0)) for number in range(rounds)]
        for name, share in shares.items():
            pseudo = [rounds * share - (rounds - 1) * one[name] for one in left_out]
            errors[name] = float(pd.Series(pseudo).sem())
    factors = {name: math.exp(math.sqrt(max(size, 0.0) / logs[0].size)) for name, size in sizes.items()}
    return {
        name: {"share": share, "error": errors[name], "dof": rounds - 1.0, "factor": factors[name]}
        for name, share in shares.items()
    }


def largest(by_effect: dict[str, dict[str, float]]) -> str:
    """Return the effect whose interval lies above all others; by_effect: its share, and the share's ends."""
    first = max(by_effect, key=lambda name: by_effect[name]["share"])
    if is_missing(by_effect[first]["share_low"]):
        return NO_INTERVAL
    others = [ends for name, ends in by_effect.items() if name != first]
    is_separate = all(one["share_high"] < by_effect[first]["share_low"] for one in others)
    return first if is_separate else NOT_SEPARATED


def _shares(logs: np.ndarray) -> dict[str, float]:
    sizes = _sizes(logs)
    total = sum(sizes.values())
    return {name: size / total for name, size in sizes.items()}


def _sizes(logs: np.ndarray) -> dict[str, float]:
    """Return the sum of squares of each effect over the cells, as mean products of two different rounds."""
    centred = logs - logs.mean(axis=(1, 2), keepdims=True)
    rows, columns = (centred.mean(axis=axis, keepdims=True) for axis in (2, 1))
    parts = {
        FRONTEND: np.broadcast_to(rows, logs.shape),
        COMPILER: np.broadcast_to(columns, logs.shape),
        INTERACTION: centred - rows - columns,
    }
    result, count = {}, len(logs)
    for name, part in parts.items():
        vectors = part.reshape(count, -1)
        total = vectors.sum(axis=0)
        result[name] = float((total @ total - (vectors * vectors).sum()) / (count * (count - 1)))
    return result


def over_runs(tables: Sequence[RunTable]) -> pd.DataFrame:
    """Return effects.csv of several runs: for each workload, the rows of the newest run that has its largest block.

    tables: effects.csv of each run, the oldest first. Shares are of one machine, so no mean over runs is formed. Blocks
    of other sizes have other effects. The largest effect is named only if all runs with that block name the same.
    """
    rows = pd.concat([one.table.assign(run=one.run, machine=one.machine) for one in tables], ignore_index=True)
    rows = rows[rows["workload"] != EVERY]
    # The block with more frontends counts among blocks with equally many cells.
    rows = rows.assign(block=rows["frontends"] * (rows["compilers"] + 0.01))
    groups = rows.groupby(["subset", "workload"], sort=False)
    rows = rows[rows["block"] == groups["block"].transform("max")]
    groups = rows.groupby(["subset", "workload"], sort=False)
    is_agreed = groups["largest"].transform("nunique") == 1
    newest = rows.assign(
        largest=rows["largest"].where(is_agreed, NOT_SEPARATED),
        runs=groups["run"].transform("nunique"),
        machines=groups["machine"].transform("nunique"),
    ).drop_duplicates(schema.KEYS["effects"], keep="last")
    return over_all(schema.table("effects", newest[list(schema.EFFECTS)].to_dict("records")))


def over_all(table: pd.DataFrame) -> pd.DataFrame:
    """Return effects.csv with its rows of the mean over the workloads recomputed, subset by subset.

    A mean has Student's interval over the workloads; a single workload has no mean.
    """
    by_workload = table[table["workload"] != EVERY]
    means = []
    for (subset, effect), some in by_workload.groupby(["subset", "effect"], sort=False):
        if len(some) < 2:
            continue
        share, half = some["share"].mean(), stdtrit(len(some) - 1, (1 + LEVEL) / 2) * some["share"].sem()
        means.append({
            **{"subset": subset, "workload": EVERY, "effect": effect, "share": share},
            "factor": math.exp(math.sqrt(np.mean(np.log(some["factor"]) ** 2))),
            **{"share_low": share - half, "share_high": share + half},
        })  # fmt: skip
    return pd.concat([by_workload, schema.table("effects", means)], ignore_index=True)
