"""Write every audit's entry to audits.json: `python -m stackwars.study.audits.report`.

What was measured for the audits comes from the files of `--part`, and counts from cells.csv of the run that they belong
to, which refuses what the checks of a process find.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from stackwars.core import documents, machine
from stackwars.measure.checks import CLOCK, FLOOR, WALL
from stackwars.study import cells
from stackwars.study.audits import audit_entries, trial_verdicts, verdicts
from stackwars.study.audits.audit_entries import FAIL, PASS, Audits, Entry, entry, not_run_entry
from stackwars.study.audits.pairs import KINDS
from stackwars.study.results import runs, schema
from stackwars.study.results.folder import chosen, parser

PARTS = ("fences", "mutants", "independent", *KINDS)
"""The audits that are measured, each in a folder of this name."""
LISTED = 5
"""Refused cells that a sentence names."""


def report(config: dict, cells_csv: Path, parts: list[Path], context: dict) -> Audits:
    """Return all audits of a run. parts: files <audit>/<device>/<subject>.json.

    Raises ValueError if a pair was measured on another machine than the run.
    """
    result = {name: [] for name in PARTS}
    for path in parts:
        result[path.parents[1].name].append(documents.read(path))
    pairs = [pair for kind in KINDS for pair in result[kind]]
    _check_machine(pairs, context)
    entries = [
        verdicts.fences(result["fences"]),
        verdicts.mutants(result["mutants"]),
        trial_verdicts.aa(pairs),
        trial_verdicts.power(pairs),
        trial_verdicts.mixed(pairs),
        verdicts.independent(result["independent"]),
        *counts(schema.read(cells_csv), cells.settings(config)["matmul_precision"]),
    ]
    entries.sort(key=lambda one: list(audit_entries.AUDITS).index(one["id"]))
    revisions = sorted({revision for pair in pairs for revision in pair["revisions"]})
    return Audits(entries, runs.identity(context), tuple(revisions), runs.kind(context))


def _check_machine(pairs: list[dict], context: dict) -> None:
    expected = machine.described(context["machine"])
    for pair in pairs:
        if (got := machine.described(pair["machine"])) != expected:
            raise ValueError(
                f"{pair['name']}: expected an audit on the machine of the run ({expected}), got one on {got}; fix: "
                "delete the folder audits of the run, and make audits on its machine"
            )


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
    names = [
        f"{row.framework} {row.workload} on {row.device}"
        for row in counted[refused.reindex(counted.index)].itertuples()
    ]
    detail = f"{len(counted)} cells, {len(names)} refused"
    if names:
        detail += f": {', '.join(names[:LISTED])}{', ...' if len(names) > LISTED else ''}"
    return entry(identity, FAIL if names else PASS, {"cells": len(counted), "refused": names}, detail)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--part", action="append", default=[], type=Path)
    a = arguments.parse_args()
    config, folder = chosen(a)
    context = documents.read(folder["context"])
    audits = report(config, folder["cells"], a.part, context)
    audit_entries.write(audits, folder["audits"])
    for one in audits.entries:
        print(f"[audit] {one['title']}: {one['verdict']}: {one['detail']}")
    print(f"[audit] {audits.state(audits.run)}")


if __name__ == "__main__":
    main()
