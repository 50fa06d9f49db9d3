"""Write every audit's entry to audits.json: `python -m stackwars.study.audits.report`.

Measurements of the audits come from the files of `--part`, and counts from cells.csv of the run that they belong to,
which refuses what the checks of a process find.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from stackwars.core import documents, machine
from stackwars.core.outcome import Status
from stackwars.measure.checks import CLOCK, FLOOR, WALL
from stackwars.study import cells
from stackwars.study.audits import audit_entries, trials
from stackwars.study.audits.audit_entries import FAIL, PASS, Audits, Entry, entry, not_run_entry
from stackwars.study.audits.mutant import HONEST
from stackwars.study.audits.paired import KINDS
from stackwars.study.keys import Config
from stackwars.study.results import runs, schema
from stackwars.study.results.folder import chosen, parser

PARTS = ("fences", "mutants", "independent", *KINDS)
"""The audits that are measured, each in a folder of this name."""
LISTED = 5
"""Refused cells that a sentence names."""


def report(config: Config, cells_csv: Path, parts: list[Path], context: dict) -> Audits:
    """Return all audits of a run. parts: files <audit>/<device>/<subject>.json.

    Raises ValueError if a pair was measured on another machine than the run.
    """
    result = {name: [] for name in PARTS}
    for path in parts:
        result[path.parents[1].name].append(documents.read(path))
    pairs = [pair for kind in KINDS for pair in result[kind]]
    expected = machine.described(context["machine"])
    for pair in pairs:
        if (got := machine.described(pair["machine"])) != expected:
            raise ValueError(
                f"{pair['name']}: expected an audit on the machine of the run ({expected}), got one on {got}; fix: "
                "delete the folder audits of the run, and make audits on its machine"
            )
    entries = [
        judge_fences(result["fences"]),
        judge_mutants(result["mutants"]),
        trials.aa(pairs),
        trials.power(pairs),
        trials.mixed(pairs),
        judge_independent(result["independent"]),
        *counts(schema.read(cells_csv), cells.settings(config).matmul_precision),
    ]
    entries.sort(key=lambda one: list(audit_entries.AUDITS).index(one["id"]))
    revisions = sorted({revision for pair in pairs for revision in pair["revisions"]})
    return Audits(entries, runs.identity(context), tuple(revisions), runs.kind(context))


def counts(table: pd.DataFrame, precision: str) -> list[Entry]:
    """Return the audits that cells.csv answers: how many cells each examined, and which it refused.

    precision: the requested one, of every matrix product.
    """
    run = table[
        (table["mode"] == schema.NATIVE) & table["status"].isin([Status.OK, Status.INVALID, Status.WRONG])
    ]
    refused = run["status_detail"].fillna("").astype(str).str.split(":").str[0]
    types = run["dtype"].replace("", None).groupby([run["workload"], run["device"]])
    unlike = (run["status"] == Status.WRONG) | (run["parity_rel_l2"] > run["parity_limit"])
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
    figures = {"cells": len(counted), "refused": names}
    consequence = f"The numbers of {', '.join(names)} are not usable."
    return entry(identity, FAIL if names else PASS, figures, detail, consequence)


def judge_fences(results: list[dict]) -> Entry:
    """Judge what `fences.audit_fences` returns of each framework on each device."""
    if not results:
        return not_run_entry("fences")
    wrong = [
        f"{subject_label(one)} on {one['device']}: {name}"
        for one in results
        for name, ok in one["ok"].items()
        if not ok
    ]
    left = max(max(one["again_ms"], one["fetch_ms"]) / one["call_ms"] for one in results)
    detail = f"{subject_labels(results)}: after a fence at most {100 * left:.2g} % of a call is left"
    if wrong:
        detail += f"; failed: {'; '.join(wrong)}"
    late = subject_labels([one for one in results if not all(one["ok"].values())])
    consequence = f"Times of {late} can leave out work that is still running."
    return entry("fences", FAIL if wrong else PASS, {"by_framework": results}, detail, consequence)


def judge_mutants(results: list[dict]) -> Entry:
    """Judge what `subjects.audit_mutants` returns of each framework and replay."""
    if not results:
        return not_run_entry("mutants")
    rows = [(one, row) for one in results for row in one["processes"]]
    broken = [(one, row) for one, row in rows if row["mutant"] != HONEST]
    honest = [(one, row) for one, row in rows if row["mutant"] == HONEST]
    missed = [f"{row['mutant']} of {subject_label(one)}" for one, row in broken if not row["rejected_by"]]
    refused = [f"{subject_label(one)}: {row['problems'][0]}" for one, row in honest if row["rejected_by"]]
    detail = (
        f"{subject_labels(results)}: {len(broken) - len(missed)} of {len(broken)} mutants rejected, "
        f"and {len(refused)} of {len(honest)} honest processes"
    )
    if missed or refused:
        detail += f"; wrong: {'; '.join([*missed, *refused])}"
    ok = bool(broken and honest) and not missed and not refused
    consequences = [f"The checks do not notice {', '.join(missed)}."] if missed else []
    consequences += [f"The checks refuse {len(refused)} of {len(honest)} valid processes."] if refused else []
    return entry("mutants", PASS if ok else FAIL, {"by_framework": results}, detail, " ".join(consequences))


def judge_independent(results: list[dict]) -> Entry:
    """Judge what `subjects.audit_independent` returns of each framework."""
    rows = [(one, row) for one in results for row in one["workloads"]]
    if not rows:
        return not_run_entry("independent")
    parts = [
        f"{row['workload']} in {one['framework']} {row['ratio']:.3f} times {row['harness']}'s"
        for one, row in rows
    ]
    apart = [
        f"{row['workload']} in {one['framework']} by {100 * abs(row['ratio'] - 1):.2g} %"
        for one, row in rows
        if not row["ok"]
    ]
    consequence = f"Times are off: {', '.join(apart)}."
    figures = {"by_framework": results}
    return entry("independent", FAIL if apart else PASS, figures, "ours: " + "; ".join(parts), consequence)


def subject_label(one: dict) -> str:
    """Return the audited framework, or the framework and the compiler that replays its program."""
    return f"{one['framework']} in {one['compiler']}" if "compiler" in one else one["framework"]


def subject_labels(results: list[dict]) -> str:
    names = dict.fromkeys(f"{subject_label(one)} on {one['device']}" for one in results)
    return ", ".join(names)


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
