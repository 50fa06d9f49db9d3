"""All tables of a run but claims.csv, from what it measured: ``python -m stackwars.results.tables``."""

from __future__ import annotations

import json

from stackwars.measure import documents
from stackwars.results import cells, comparisons, context, effects, profile, programs, raw, rounds, schema
from stackwars.results.folder import Folder, command
from stackwars.study.programs import replays


def write(config: dict, folder: Folder) -> None:
    """Read the measurements of the folder and write its tables and context.json.

    :raises ValueError: if a compilation is of another program than the one that was emitted.
    """
    folder.results.mkdir(parents=True, exist_ok=True)
    found = raw.read(config, folder.measured)
    paths = [folder.measured / replay.path / "profile.json" for replay in replays(config)]
    tables = {"cells": cells.build(config, found), "programs": programs.build(config, folder, found)}
    tables["rounds"] = rounds.build(config, found, tables["cells"])
    tables["comparisons"] = comparisons.build(config, tables["rounds"], tables["cells"], tables["programs"])
    tables["effects"] = effects.build(config, tables["cells"], tables["rounds"])
    tables["profile"] = profile.build(config, [documents.read(path) for path in paths if path.exists()], found)
    for name, table in tables.items():
        schema.write(table, folder[name])
    facts = context.build(config, found)
    folder["context"].write_text(json.dumps(facts, indent=1, sort_keys=True), encoding="utf-8")


if __name__ == "__main__":
    command(write, ValueError)
