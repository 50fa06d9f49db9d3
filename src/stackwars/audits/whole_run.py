"""What every process of every cell of a run must show: first runs that are first, clocks that agree, and
programs and outputs that are the same on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stackwars.measure import documents
from stackwars.measure.checks import CLOCK, FLOOR, WALL, call_ms, problems, reported_s
from stackwars.measure.events import event
from stackwars.study import cells


def processes(config: dict, folder: Path) -> Iterator[dict]:
    """The ok processes of every asked-for cell that has a result in this folder."""
    for cell in cells.asked(config):
        path = folder / cell.path / "cell.json"
        result = documents.read(path) if path.exists() else {"processes": []}
        yield from (process for process in result["processes"] if process["status"] == "ok")


def first_runs(found: list[dict]) -> dict[str, Any]:
    """Does every first call compile, and take nothing from a cache? Of frameworks that compile."""
    firsts = [(process, event(process, "first")) for process in found]
    firsts = [(process, first) for process, first in firsts if first["compiles"] is not None]
    warm = [_name(process) for process, first in firsts if first["cache_hits"] or not first["compiles"]]
    return {
        "processes": len(firsts),
        "compiles": sum(first["compiles"] for _, first in firsts),
        "min_compiles": min((first["compiles"] for _, first in firsts), default=None),
        "cache_hits": sum(first["cache_hits"] for _, first in firsts),
        "not_first": warm,
        "ok": not warm,
    }


def floors(found: list[dict], native: pd.DataFrame) -> dict[str, Any]:
    """Is every process slower than the machine's floor for its cell (`floor_ms` of cells.csv)?"""
    keys = ["framework", "workload", "device"]
    known = native[native["floor_ms"].notna()].set_index(keys)["floor_ms"].to_dict()
    judged = [(p, known[key]) for p in found if (key := tuple(p[k] for k in keys)) in known]
    below = [
        f"{_name(process)}: {problem}"
        for process, floor in judged
        for problem in problems(process, floor)
        if problem.startswith(f"{FLOOR}:")
    ]
    times = [(float(np.median(call_ms(event(p, "steady")))) / floor, p) for p, floor in judged if floor]
    closest, process = min(times, key=lambda pair: pair[0], default=(None, None))
    return {
        "processes": len(judged),
        "closest": closest,
        "closest_process": process and _name(process),
        "below": below,
        "ok": not below,
    }


def clocks(found: list[dict]) -> dict[str, Any]:
    """Does the parent see at least the time that the child reports, and the child's second clock the same?"""
    wrong = [
        f"{_name(process)}: {problem}"
        for process in found
        for problem in problems(process, None)
        if problem.startswith((f"{WALL}:", f"{CLOCK}:"))
    ]
    shares = [reported_s(process) / process["wall_s"] for process in found]
    return {
        "processes": len(found),
        "reported_s": sum(map(reported_s, found)),
        "wall_s": sum(process["wall_s"] for process in found),
        "largest_share": max(shares, default=None),
        "wrong": wrong,
        "ok": not wrong,
    }


def agreement(native: pd.DataFrame, precision: str) -> dict[str, Any]:
    """Do the frameworks compute the same thing, at the precision that was asked for?

    native: the native rows of cells.csv; precision: asked of every matrix product. The worst cell is the one that
    is closest to its limit, or furthest beyond it.
    """
    run = native[native["status"].isin(["ok", "invalid"])]
    checked = run[run["parity_rel_l2"].notna()]
    share = checked["parity_rel_l2"] / checked["parity_limit"]
    worst = checked.loc[share.idxmax()] if len(checked) else None
    apart = [_cell(row) for _, row in checked[share > 1].iterrows()]
    asked = precision.upper()
    wrong = [
        f"{_cell(row)}: {row.precision}, expected {asked}"
        for _, row in run.iterrows()
        if row.precision not in (asked, "")
    ]
    for (workload, device), rows in run.groupby(["workload", "device"], sort=False):
        types = sorted(set(rows["dtype"]) - {""})
        if len(types) > 1:
            wrong.append(f"{workload} on {device}: {' and '.join(types)}")
    return {
        "cells": len(checked),
        "limit": None if worst is None else float(worst["parity_limit"]),
        "worst": None if worst is None else float(worst["parity_rel_l2"]),
        "worst_cell": None if worst is None else _cell(worst),
        "precision": asked,
        "apart": apart,
        "other_precision": wrong,
        "ok": not (apart or wrong),
    }


def _name(process: dict) -> str:
    return f"{_cell(pd.Series(process))}, round {process['repetition']}"


def _cell(row: pd.Series) -> str:
    return f"{row.framework} {row.workload} on {row.device}"
