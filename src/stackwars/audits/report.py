"""Write every audit's entry to audits.json: `python -m stackwars.audits.report`.

What was measured for the audits comes from the files of `--part`, A/A trials from the run's own rounds, and the rest
is counted in cells.csv, which refuses what the checks of a process find.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from stackwars.audits import audit_entries, verdicts
from stackwars.audits.audit_entries import FAIL, PASS, Entry, entry, not_run_entry
from stackwars.audits.trials import Trial, aa_comparison
from stackwars.measure import documents
from stackwars.measure.checks import CLOCK, FLOOR, WALL
from stackwars.results import raw, schema
from stackwars.results.folder import chosen, parser
from stackwars.results.raw import Raw
from stackwars.study import cells

PARTS = ("fences", "mutants", "power", "aa_interleaved", "independent")
"""The audits that are measured, each in a folder of this name."""
LISTED = 5
"""Refused cells that a sentence names."""


def report(config: dict, folder: Path, cells_csv: Path, parts: list[Path]) -> list[Entry]:
    """Return all audits of the results in `folder`. parts: files <audit>/<device>/<subject>.json."""
    result = {name: [] for name in PARTS}
    for path in parts:
        result[path.parents[1].name].append(documents.read(path))
    entries = [
        verdicts.fences(result["fences"]),
        verdicts.mutants(result["mutants"]),
        verdicts.aa(list(run_trials(raw.read(config, folder))), [*result["power"], *result["aa_interleaved"]]),
        verdicts.power(result["power"]),
        verdicts.independent(result["independent"]),
        *counts(schema.read(cells_csv), cells.settings(config)["matmul_precision"]),
    ]
    return sorted(entries, key=lambda one: list(audit_entries.AUDITS).index(one["id"]))


def run_trials(raw: Raw) -> Iterator[Trial]:
    """Yield the A/A trial of each cell and each replayed program that has four rounds or more.

    It compares even rounds with odd ones, under the same conditions as the paper's numbers.
    """
    values = {(cell.device, f"{cell.framework} {cell.workload}"): own for cell, own in raw.cell_values.items()}
    values |= {
        (replay.device, f"{name} {replay.workload} in {replay.compiler}"): own
        for (replay, name), own in raw.replay_values.items()
    }
    for (device, name), own in values.items():
        comparison = aa_comparison(own, f"{device} {name}")
        if comparison is not None:
            yield Trial(device, name, comparison)


def counts(table: pd.DataFrame, precision: str) -> list[Entry]:
    """Return the audits that cells.csv answers: of how many cells each looked at, and which it refused.

    precision: the one that was asked for, of every matrix product.
    """
    run = table[(table["mode"] == schema.NATIVE) & table["status"].isin(["ok", "invalid", "wrong"])]
    refused = run["status_detail"].fillna("").astype(str).str.split(":").str[0]
    types = run["dtype"].replace("", None).groupby([run["workload"], run["device"]])
    unlike = (run["status"] == "wrong") | (run["parity_rel_l2"] > run["parity_limit"])
    unlike |= types.transform("nunique") > 1
    unlike |= ~run["precision"].isin([precision.upper(), ""])
    not_first = (run["cache_hits_first"] > 0) | (run["compiles_first"] == 0)
    return [
        _count("floor", run[run["floor_ms"].notna()], refused == FLOOR),
        _count("clock", run, refused.isin([WALL, CLOCK])),
        _count("agreement", run[run["parity_rel_l2"].notna() | unlike], unlike),
        _count("first_run", run[run["compiles_first"].notna()], not_first),
    ]


def _count(identity: str, counted: pd.DataFrame, refused: pd.Series) -> Entry:
    if counted.empty:
        return not_run_entry(identity, "no cell to count")
    names = [f"{row.framework} {row.workload} on {row.device}" for row in counted[refused].itertuples()]
    detail = f"{len(counted)} cells, {len(names)} refused"
    if names:
        detail += f": {', '.join(names[:LISTED])}{', ...' if len(names) > LISTED else ''}"
    return entry(identity, FAIL if names else PASS, {"cells": len(counted), "refused": names}, detail)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--part", action="append", default=[], type=Path)
    a = arguments.parse_args()
    config, folder = chosen(a)
    audits = report(config, folder.measured, folder["cells"], a.part)
    audit_entries.write(audits, folder["audits"])
    for one in audits:
        print(f"[audit] {one['title']}: {one['verdict']}: {one['detail']}")


if __name__ == "__main__":
    main()
