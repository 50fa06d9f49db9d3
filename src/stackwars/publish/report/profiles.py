"""Gather the profiled calls: milliseconds by class of operations, and each operation when it ran."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stackwars.core import documents, hlo
from stackwars.publish.report.tables import origin_of, records
from stackwars.study.results import schema
from stackwars.study.results.dataset import Sources, in_order, newest_runs, of_study

COLOURS = {
    hlo.PRODUCTS: "#14213d",
    hlo.TRANSPOSES: "#c4571b",
    hlo.REDUCTIONS: "#388e77",
    hlo.ELEMENTWISE: "#a07800",
    hlo.LIBRARY: "#777777",
    hlo.DISPATCH: "#b04a8f",
}
"""The mark of each class of operations: at least 3 to 1 on white."""
PROGRAM = ["study", "workload", "title", "compiler", "device", "framework", "run"]
"""The columns that identify a profiled call."""
PART = ("ms", "operations")
"""Numbers of each class; the columns of a call are named products_ms, for instance."""
CALL = ("profiled_ms", "call_ms", "profile_consistent")


def profiles(sources: Sources, raw_run: str) -> dict[str, Any]:
    """Return {"classes": title and colour of each, "calls": every profiled call, by study}.

    raw_run: the run whose raw results lie beside the tables of `sources.run`.
    """
    titles = {name: {"title": title, "colour": COLOURS[name]} for name, title in hlo.CLASSES.items()}
    calls = list(_calls(sources))
    for call in calls:
        call["profile"] = operations(sources.run.measured, call) if call["run"] == raw_run else None
    return {"classes": titles, "calls": calls}


def _calls(sources: Sources) -> Iterator[dict[str, Any]]:
    for name in sources.run.config["studies"]:
        data = sources.dataset_for(name)
        study = data.study(name)
        if not study.compilers:
            continue
        table = of_study(study, data.table("profile"))
        shown = newest_runs(data, data.table("cells"), name, schema.REPLAY)
        table = table[table["run"] == table["workload"].map(shown)].assign(study=name)
        table = in_order(study.workloads, table)
        for key, rows in table.groupby(PROGRAM, sort=False):
            parts = {
                f"{row['class']}_{name}": row[name] for row in records(rows, ("class", *PART)) for name in PART
            }
            call = dict(zip(PROGRAM, key, strict=True)) | origin_of(sources, data)
            yield call | records(rows, CALL)[0] | parts


def operations(measured: Path, program: dict[str, str]) -> dict[str, list] | None:
    """Return the operations of a profiled call: name, class and ms of each, and of the longest the opcode with the type
    and the line of the program; and when each ran: its place among them, start and duration in ms.

    None if the folder has no profile of the program; no spans if it has sums alone.
    """
    folder = measured / "replay" / program["device"] / program["compiler"] / program["workload"]
    path = folder / "profile.json"
    profile = documents.read(path)["programs"].get(program["framework"]) if path.exists() else None
    if profile is None:
        return None
    places = {name: place for place, name in enumerate(profile["operations"])}
    return {
        "operations": [
            [name, one["class"], round(1e3 * one["seconds"], 6), *_described(one)]
            for name, one in profile["operations"].items()
        ],
        "spans": [
            [places[name], round(1e3 * start, 6), round(1e3 * (end - start), 6)]
            for name, start, end in profile.get("spans", [])
        ],
    }


def _described(operation: dict[str, Any]) -> list:
    return [operation["text"], operation["line"]] if "text" in operation else []
