"""Variation of times and ratios between rounds, runs and kinds of machine, and whether runs predict each other.

Moments of a nested design, on logarithms, pooled over the workloads and not under 0 (Searle, Casella &
McCulloch, Variance Components, 1992, ch. 3)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from stackwars.setup.device import CPUS
from stackwars.study.results import comparisons, pooling, schema
from stackwars.study.results.pooling import RunTable
from stackwars.study.results.rounds import INTERLEAVED
from stackwars.study.results.runs import Run
from stackwars.study.results.schema import key_of

LEVELS = ("process", "round", "run", "machine")
LATENCY, RATIO = "latency", "ratio"
COLUMNS = ["quantity", "device", "level", "deviation"]
MEAN = ["key", "machine", "log", "variance"]
"""One run's estimate of a cell or a ratio: its key, the kind of machine, the mean logarithm and its variance."""


def table(accepted: list[Run]) -> pd.DataFrame:
    """Return COLUMNS, a row for each quantity, device of the CPU and level.

    quantity: LATENCY (steady state of a cell) or RATIO (steady ratio of a comparison). deviation: standard
    deviation of the logarithm at this level, empty if there are too few to tell.
    """
    rows, compared = [], timed(accepted)
    for device in CPUS:
        result = {LATENCY: _latencies(compared, device), RATIO: _ratios(compared, device)}
        for quantity, variances in result.items():
            for level in LEVELS:
                known = variances.get(level, [])
                deviation = math.sqrt(max(0.0, float(np.mean(known)))) if known else None
                rows.append((quantity, device, level, deviation))
    return pd.DataFrame(rows, columns=COLUMNS)


def _latencies(accepted: list[Run], device: str) -> dict[str, list[float]]:
    """Return variances of the logarithm of a steady latency by level, one for each cell or run of a workload."""
    result: dict[str, list[float]] = {"process": [], "round": []}
    means = []
    for run in accepted:
        rounds = run.table("rounds")
        native = rounds[(rounds["quantity"] == schema.PROCESS) & (rounds["compiler"] == "")]
        native = native[(native["device"] == device) & (native["basis"] == INTERLEAVED)]
        for workload, rows in native.groupby("workload", sort=False):
            grid = rows.pivot(index="round", columns="subject", values="subject_ms").dropna()
            logs = np.log(grid.to_numpy())
            if min(logs.shape) < 2:
                continue
            parts = _two_way(logs)
            for level, part in zip(("process", "round"), parts, strict=True):
                result[level].append(part)
            variance = max(0.0, sum(parts)) / len(logs)
            centres = zip(grid.columns, logs.mean(axis=0), strict=True)
            means += [((workload, name), run.machine, mean, variance) for name, mean in centres]
    return result | _between(pd.DataFrame(means, columns=MEAN))


def _two_way(logs: np.ndarray) -> tuple[float, float]:
    """Return the components (process, round) of rounds by frameworks."""
    rounds, frameworks = logs.shape
    by_round = logs.mean(axis=1, keepdims=True)
    rest = logs - by_round - logs.mean(axis=0, keepdims=True) + logs.mean()
    process = float((rest**2).sum() / ((rounds - 1) * (frameworks - 1)))
    return process, float(np.var(by_round, ddof=1)) - process / frameworks


def _ratios(accepted: list[Run], device: str) -> dict[str, list[float]]:
    """Return variances of the logarithm of an interleaved steady ratio by level, one for each ratio of a run or of
    all."""
    tables = [comparisons.observed(run.table("rounds")).assign(machine=run.machine) for run in accepted]
    rows = pd.concat(tables) if tables else schema.empty("comparisons").assign(machine="")
    rows = rows[(rows["quantity"] == schema.STEADY) & (rows["device"] == device) & rows["error"].notna()]
    rows = rows[rows["interleaved"].isin([True])]
    names = list(zip(rows["workload"], rows["subject"], strict=True))
    variances = rows["error"] ** 2
    means = rows.assign(key=names, log=np.log(rows["ratio"]), variance=variances)
    return {"round": list(variances * rows["rounds"]), **_between(means)}


def _between(means: pd.DataFrame) -> dict[str, list[float]]:
    """Return variances between the runs of a kind of machine, and between kinds. means: MEAN, a row a run."""
    kinds = means.groupby(["key", "machine"], sort=False).agg(
        log=("log", "mean"), between=("log", "var"), within=("variance", "mean"), runs=("log", "size")
    )
    several = kinds[kinds["runs"] > 1]
    result = list(several["between"] - several["within"])
    kinds = kinds.assign(error=kinds["within"] / kinds["runs"], share=1 / kinds["runs"])
    by_key = kinds.groupby("key", sort=False).agg(
        between=("log", "var"), error=("error", "mean"), share=("share", "mean")
    )
    by_key = by_key[by_key["between"].notna()]  # of two kinds or more
    # The mean of a kind's runs varies by what is between runs too.
    of_a_run = max(0.0, float(np.mean(result))) if result else 0.0
    return {"run": result, "machine": list(by_key["between"] - by_key["error"] - of_a_run * by_key["share"])}


HELD_OUT_COLUMNS = ["run", "machine", "inside", "total"]


def held_out(accepted: list[Run]) -> pd.DataFrame:
    """Return HELD_OUT_COLUMNS: whether each run, left out in turn, falls where the others of its kind predict it.

    A row for each run. inside: how many of its ratios (total) lie in the 95 % prediction interval of its kind of
    machine; only ratios that at least `pooling.FEWEST_RUNS` others of this kind have are counted.
    """
    run_tables = []
    for run in timed(accepted):
        observed = comparisons.observed(run.table("rounds"))
        is_shown = observed["quantity"].isin((*schema.STAGES, schema.REPLAY))
        observed = observed[is_shown & observed["ratio"].notna()]
        run_tables.append(RunTable(run.identity, run.machine, observed.reset_index(drop=True)))
    rows = []
    for left_out in run_tables:
        pooled = pooling.pool([one for one in run_tables if one is not left_out])
        pooled = pooled[pooled["machine"] == left_out.machine]
        others = {key_of(row): row for row in pooled[pooled["predicted_low"].notna()].to_dict("records")}
        both = [(row, others.get(key)) for key, row in left_out.rows]
        inside = [
            other["predicted_low"] <= row["ratio"] <= other["predicted_high"]
            for row, other in both
            if other and row["interleaved"] == other["interleaved"]  # others estimate something else
        ]
        rows.append((left_out.run, left_out.machine, sum(inside), len(inside)))
    return pd.DataFrame(rows, columns=HELD_OUT_COLUMNS)


def timed(accepted: list[Run]) -> list[Run]:
    result = []
    for run in accepted:
        rounds = run.table("rounds")
        result += [run] if (rounds["ratio"].notna() & rounds["device"].isin(CPUS)).any() else []
    return result
