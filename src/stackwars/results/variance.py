"""How much variance lies between blocks, processes, rounds, runs and kinds of machine: variance.csv.

Of the reference's runs, or of the one run of this machine. Moments of a nested design, on logarithms, pooled
over the workloads and not under 0 (Searle, Casella & McCulloch, Variance Components, 1992, ch. 3). Of
latencies, a round is what all frameworks have in common, and a process the rest; of steady ratios, a round
holds both processes.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from stackwars.measure import documents
from stackwars.results import runs
from stackwars.results.folder import Folder
from stackwars.results.runs import Run
from stackwars.results.values import is_missing
from stackwars.setup.device import CPUS

LEVELS = ("block", "process", "round", "run", "machine")
QUANTITIES = ("latency", "ratio")
COLUMNS: dict[str, str] = {
    "quantity": "latency (steady state of a cell) or ratio (steady ratio of a comparison)",
    "device": "where",
    "level": "block within a process, process within a round, round within a run, run on one kind of machine, "
    "kind of machine",
    "deviation": "standard deviation of the logarithm at this level; empty where there are too few to tell",
    "count": "cells or ratios that it is pooled over",
}


def build(accepted: list[Run]) -> pd.DataFrame:
    """COLUMNS, a row for each quantity, device of the CPU and level."""
    rows = []
    for device in CPUS:
        found = {"latency": _of_latencies(accepted, device), "ratio": _of_ratios(accepted, device)}
        for quantity in QUANTITIES:
            for level in LEVELS:
                known = found[quantity].get(level, [])
                rows.append(
                    {
                        "quantity": quantity,
                        "device": device,
                        "level": level,
                        "deviation": np.sqrt(max(0.0, np.mean(known))) if known else None,
                        "count": len(known),
                    }
                )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _of_latencies(accepted: list[Run], device: str) -> dict[str, list[float]]:
    """Variances of the logarithm of a steady latency by level, one for each cell or run of a workload."""
    found: dict[str, list[float]] = {level: [] for level in LEVELS}
    means: dict[tuple[str, str], list[tuple[str, float, float]]] = {}
    for run in accepted:
        table = run.table("processes.csv")
        table = table[(table["device"] == device) & table["value_ms"].notna()]
        found["block"] += [float(v) ** 2 for v in table["block_deviation"].dropna()]
        for workload, rows in table.groupby("workload", sort=False):
            grid = rows.pivot(index="repetition", columns="framework", values="value_ms").dropna()
            logs = np.log(grid.to_numpy())
            parts = _two_way(logs)
            if parts is None:
                continue
            found["process"].append(parts[0])
            found["round"].append(parts[1])
            error = max(0.0, sum(parts)) / len(logs)
            for framework, mean in zip(grid.columns, logs.mean(axis=0), strict=True):
                key = (str(workload), framework)
                means.setdefault(key, []).append((run.machine, float(mean), error))
    return found | _between(means.values())


def _two_way(logs: np.ndarray) -> tuple[float, float] | None:
    """(process, round): components of a table of rounds by frameworks; None of too few of either."""
    rounds, frameworks = logs.shape
    if rounds < 2 or frameworks < 2:
        return None
    by_round = logs.mean(axis=1, keepdims=True)
    rest = logs - by_round - logs.mean(axis=0, keepdims=True) + logs.mean()
    process = float((rest**2).sum() / ((rounds - 1) * (frameworks - 1)))
    return process, float(np.var(by_round, ddof=1)) - process / frameworks


def _of_ratios(accepted: list[Run], device: str) -> dict[str, list[float]]:
    """Variances of the logarithm of a steady ratio by level, one for each ratio of a run or of all."""
    found: dict[str, list[float]] = {"round": []}
    means: dict[tuple[str, str], list[tuple[str, float, float]]] = {}
    for run in accepted:
        table = run.table("ratios.csv")
        for row in table[table["device"] == device].to_dict("records"):
            ratio, error = row["steady_ratio"], row["steady_error"]
            if not is_missing(ratio) and not is_missing(error):
                found["round"].append(error**2 * row["steady_rounds"])
                key = (row["workload"], row["framework"])
                means.setdefault(key, []).append((run.machine, float(np.log(ratio)), error**2))
    return found | _between(means.values())


def _between(means: Iterable[list[tuple[str, float, float]]]) -> dict[str, list[float]]:
    """Variances between the runs of a kind of machine, and between kinds, of (machine, mean, its variance)."""
    found: dict[str, list[float]] = {"run": []}
    between: list[tuple[float, float]] = []
    for runs_of_one in means:
        kinds: dict[str, list[tuple[float, float]]] = {}
        for machine, mean, error in runs_of_one:
            kinds.setdefault(machine, []).append((mean, error))
        for same in kinds.values():
            if len(same) > 1:
                logs, errors = zip(*same, strict=True)
                found["run"].append(float(np.var(logs, ddof=1) - np.mean(errors)))
        if len(kinds) > 1:
            centres = [np.mean([mean for mean, _ in same]) for same in kinds.values()]
            errors = [np.mean([error for _, error in same]) / len(same) for same in kinds.values()]
            share = float(np.mean([1 / len(same) for same in kinds.values()]))
            between.append((float(np.var(centres, ddof=1) - np.mean(errors)), share))
    # The mean of a kind's runs varies by what is between runs too.
    of_a_run = max(0.0, float(np.mean(found["run"]))) if found["run"] else 0.0
    return found | {"machine": [variance - of_a_run * share for variance, share in between]}


def write(config: dict, folder: Folder) -> None:
    """variance.csv of the reference's runs, or of the run in the folder."""
    accepted = runs.read(folder.measured) if config["results"] == "reference" else []
    if not accepted:
        context = documents.read(folder["context"])
        accepted = [Run("this run", Path(folder.results), runs.kind(context))]
    build(accepted).to_csv(folder["variance"], index=False)
