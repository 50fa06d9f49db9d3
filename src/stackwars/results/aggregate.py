"""Reads what was measured; writes processes.csv, frame.csv, calls.csv, ratios.csv and context.json."""

from __future__ import annotations

import json

from stackwars.results import context, frame, processes, ratios, runs
from stackwars.results.folder import Folder, command


def aggregate(config: dict, folder: Folder) -> None:
    """From the cells to the five files in the folder. Of the reference, ratios are over all its runs."""
    origin = config["results"]
    results = frame.read(config, folder.measured)
    folder.results.mkdir(parents=True, exist_ok=True)
    every = processes.build(results.cells)
    table = frame.build(config, results, processes.values(every), origin)
    table.to_csv(folder["frame"], index=False)
    processes.accepted(every, table).to_csv(folder["processes"], index=False)
    values = processes.read(folder["processes"])
    frame.calls(results, table).to_csv(folder["calls"], index=False)
    found = ratios.build(table, results, values)
    if origin == "reference":
        found = ratios.combined(found, table, runs.read(folder.measured))
    found.to_csv(folder["ratios"], index=False)
    facts = context.build(config, results, origin)
    folder["context"].write_text(json.dumps(facts, indent=1, sort_keys=True))


if __name__ == "__main__":
    command(aggregate)
