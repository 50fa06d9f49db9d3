"""Reads a folder of results; writes processes.csv, frame.csv, calls.csv, ratios.csv and context.json."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from stackwars.measure import documents
from stackwars.results import context, frame, processes, ratios
from stackwars.study.config import validate


def aggregate(config: dict, folder: Path, output: Path) -> None:
    """From the results of `folder` to the five files in `output`."""
    origin = config["results"]
    results = frame.read(config, folder)
    output.mkdir(parents=True, exist_ok=True)
    processes.build(results.cells).to_csv(output / "processes.csv", index=False)
    values = processes.read(output / "processes.csv")
    table = frame.build(config, results, values, origin)
    table.to_csv(output / "frame.csv", index=False)
    frame.calls(results).to_csv(output / "calls.csv", index=False)
    ratios.build(table, results, values).to_csv(output / "ratios.csv", index=False)
    facts = context.build(config, results, origin)
    (output / "context.json").write_text(json.dumps(facts, indent=1, sort_keys=True))


def main() -> None:
    """`python -m stackwars.results.aggregate --config FILE --results FOLDER --output FOLDER`."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--config", required=True, type=documents.read)
    parser.add_argument("--results", required=True, type=Path)
    parser.add_argument("--output", required=True, type=Path)
    arguments = parser.parse_args()
    aggregate(validate(arguments.config), arguments.results, arguments.output)


if __name__ == "__main__":
    main()
