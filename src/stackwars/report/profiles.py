"""The profiled calls that the report shows: of every program its time by class, and its operations where known.

The classes are those of op_times.csv: of this run or, of a workload that it has not profiled, of an accepted
run that has. Single operations are kept with the measurements of a run, in profile.json.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from stackwars.compilers.op_classes import CLASSES
from stackwars.measure import documents
from stackwars.paper.style import OPERATION_LOOKS
from stackwars.results.folder import Folder
from stackwars.results.read_compilers import read_op_times
from stackwars.results.values import is_missing, is_true

PROGRAM = ["workload", "title", "compiler", "device", "framework"]
"""What a profiled call is of."""
PART = ("ms", "share", "operations")


def profiles(folder: Folder) -> dict[str, Any]:
    """{"classes": title and colour of each, "calls": every profiled call, by run}."""
    # The oldest accepted runs have none.
    there = folder["op_times"].exists()
    table = read_op_times(folder["op_times"]) if there else pd.DataFrame(columns=["run", *PROGRAM])
    found = [
        call
        for run, rows in table.groupby("run", sort=False)
        for call in _calls(rows, run, folder.measured)
    ]
    return {
        "classes": {
            name: {"title": title, "colour": OPERATION_LOOKS[name]["facecolor"]}
            for name, title in CLASSES.items()
        },
        "calls": found,
    }


def _calls(table: pd.DataFrame, run: str, measured: Path) -> list[dict[str, Any]]:
    return [
        {
            **dict(zip(PROGRAM, key, strict=True)),
            "run": run,
            "parts": {row["class"]: {name: row[name] for name in PART} for row in rows.to_dict("records")},
            "profiled_ms": rows["profiled_ms"].iloc[0],
            "call_ms": None if is_missing(rows["call_ms"].iloc[0]) else rows["call_ms"].iloc[0],
            "adds_up": is_true(rows["adds_up"].iloc[0]),
            "profile": None if run else operations(measured, dict(zip(PROGRAM, key, strict=True))),
        }
        for key, rows in table.groupby(PROGRAM, sort=False)
    ]  # fmt: skip


def operations(measured: Path, program: dict[str, str]) -> dict[str, list] | None:
    """The operations of a profiled call: name, class and ms of each; and when each ran: its place among them,
    start and duration in ms. None where the run has kept no profile of the program, no spans where it has kept
    sums alone.
    """
    folder = measured / "replay" / program["device"] / program["compiler"] / program["workload"]
    path = folder / "profile.json"
    profile = documents.read(path)["programs"].get(program["framework"]) if path.exists() else None
    if profile is None:
        return None
    places = {name: place for place, name in enumerate(profile["operations"])}
    return {
        "operations": [
            [name, one["class"], round(1e3 * one["seconds"], 6)]
            for name, one in profile["operations"].items()
        ],
        "spans": [
            [places[name], round(1e3 * start, 6), round(1e3 * (end - start), 6)]
            for name, start, end in profile.get("spans", [])
        ],
    }
