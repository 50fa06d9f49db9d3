"""What a run has found again of the reference: reproduction.json and reproduction.txt.

Claims are compared by their verdicts on the findings that both have, ratios by the prediction interval of the
reference's runs, cells by their status.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas

from stackwars import frameworks
from stackwars.claims import decide as deciding
from stackwars.claims import definitions
from stackwars.claims.output import read_claims
from stackwars.claims.shared import on_shared
from stackwars.claims.verdicts import CONTRADICTED, NOT_TESTABLE, SUPPORTED
from stackwars.measure import documents
from stackwars.results import runs
from stackwars.results.combined import RATIO_KEYS, SPLIT_KEYS
from stackwars.results.folder import REFERENCE, Folder
from stackwars.results.values import is_missing
from stackwars.results.verdicts import Finding
from stackwars.setup.device import CPU

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
NOT_DECIDED_HERE = "not decided here"
NOT_DECIDED_THERE = "not decided in the reference"
_DECIDED = (SUPPORTED, CONTRADICTED)
_STAGES = ("first", "second", "steady")
_OF_A_MACHINE = {
    "processor": lambda context: context["machine"].get("cpu_model"),
    "cores": lambda context: context["machine"].get("cores"),
    "memory_gib": lambda context: round((context["machine"].get("memory_bytes") or 0) / 2**30, 1),
    "last_cache_mb": lambda context: round((_peak(context).get("last_cache_bytes") or 0) / 1e6),
    "gflop_per_s": lambda context: round(_peak(context).get("gflop_per_s") or 0),
    "copy_gb_per_s": lambda context: round(_peak(context).get("copy_gb_per_s") or 0, 1),
}
"""What of a machine is shown beside what came out otherwise."""
_DIFFERS = {
    "processor": "processor {} against {}",
    "cores": "{} cores against {}",
    "memory_gib": "{} GiB of memory against {}",
    "last_cache_mb": "{} MB of last-level cache against {}",
    "gflop_per_s": "{} GFLOP/s against {}",
    "copy_gb_per_s": "{} GB/s of copy bandwidth against {}",
}


def compare(run: Folder, reference: Folder) -> dict[str, Any]:
    """The content of reproduction.json: what the run in the one folder found of what the other one has.

    Only workloads with the same sizes in both are compared, and claims where those are all of the other's.
    """
    here, there = (documents.read(folder["context"]) for folder in (run, reference))
    same = {w for w, sizes in here["sizes"].items() if there["sizes"].get(w) == sizes}
    known = runs.read(reference.measured)
    machines = list(dict.fromkeys(one.machine for one in known)) or [runs.kind(there)]
    document: dict[str, Any] = {
        "schema": 1,
        "run": {"date_utc": here["date_utc"], "machine": runs.kind(here), **_machine(here)},
        "reference": {
            "runs": [one.identity for one in known],
            "machines": machines,
            **_machine(there),
        },
        "claims": [],
        "ratios": [],
        "cells": [],
    }
    if same:
        document |= {
            "claims": _claims(run, reference) if set(there["sizes"]) <= same else [],
            "ratios": [r for r in _ratios(run, reference) if r["workload"] in same],
            "cells": [c for c in _cells(run, reference) if c["workload"] in same],
        }
    return document | {"summary": summary(document)}


def outcome(there: str, here: str) -> str:
    """What became of a claim's verdict."""
    if there not in _DECIDED:
        return NOT_DECIDED_THERE
    if here not in _DECIDED:
        return NOT_DECIDED_HERE
    return REPRODUCED if here == there else NOT_REPRODUCED


def _claims(run: Folder, reference: Folder) -> list[dict]:
    there = {row["id"]: row["verdict"] for row in read_claims(reference["claims"])}
    findings = [_findings(folder) for folder in (run, reference)]
    known = {} if None in findings else {claim.id: claim for claim in definitions.load().claims}
    found = []
    for row in read_claims(run["claims"]):
        if row["id"] not in there:
            continue
        own, other = row["verdict"], there[row["id"]]
        if row["id"] in known:
            shared = on_shared(known[row["id"]], *findings)
            own, other = shared or (NOT_TESTABLE, other)
        found.append(
            {
                "id": row["id"],
                "sentence": row["sentence"],
                "reference": other,
                "reference_whole": there[row["id"]],
                "run": own,
                "outcome": outcome(other, own),
                "evidence": row["evidence"],
            }
        )
    return found


def _findings(folder: Folder) -> list[Finding] | None:
    """What claims are judged by; None for an accepted run of before all studies, which lacks some tables."""
    try:
        return deciding.found(folder)[0]
    except FileNotFoundError:
        return None


def _ratios(run: Folder, reference: Folder) -> list[dict]:
    """Every ratio that both have: of the three stages, and of replayed programs."""
    found = []
    tables = (("ratios", RATIO_KEYS, _STAGES), ("split", SPLIT_KEYS, ("ir",)))
    for table, keys, names in tables:
        both = [pandas.read_csv(folder[table]).set_index(keys) for folder in (run, reference)]
        for key, row in both[0].iterrows():
            if key in both[1].index:
                other = both[1].loc[key]
                found += [
                    dict(zip(keys, key, strict=True)) | _ratio(name, row, other) for name in names
                ]
    return [one for one in found if one["run"] is not None and one["reference"] is not None]


def _ratio(name: str, row: pandas.Series, other: pandas.Series) -> dict:
    """A ratio of the run beside that of the reference, and whether it lies where the runs there predict it."""
    value, base = _number(row, f"{name}_ratio"), _number(other, f"{name}_ratio")
    low, high = (_number(other, f"{name}_predicted_{end}") for end in ("low", "high"))
    known = None not in (value, low, high)
    return {
        "ratio": name,
        "run": value,
        "reference": base,
        "predicted": [low, high],
        "inside": low <= value <= high if known else None,
        "moved": math.expm1(abs(math.log(value / base))) if value and base else None,
    }


def _number(row: pandas.Series, column: str) -> float | None:
    return None if is_missing(row.get(column)) else float(row[column])


def _cells(run: Folder, reference: Folder) -> list[dict]:
    keys = ["workload", "framework", "device"]
    here, there = (
        pandas.read_csv(folder["frame"]).set_index(keys).status for folder in (run, reference)
    )
    return [
        dict(zip(keys, key, strict=True))
        | {"reference": there[key], "run": status, "same": status == there[key]}
        for key, status in here.items()
        if key in there.index and "not run" not in (status, there[key])
    ]


def _machine(context: dict) -> dict:
    return {name: read(context) for name, read in _OF_A_MACHINE.items()}


def _peak(context: dict) -> dict:
    return (context.get("peaks") or {}).get(CPU) or context.get("peak") or {}


def summary(document: dict) -> str:
    """A few short sentences about the whole; one about the machine where something came out otherwise."""
    claims, ratios, cells = (document[name] for name in ("claims", "ratios", "cells"))
    if not ratios and not cells:
        return "Nothing is compared: the shapes of this run differ from those of the reference."
    counted = {
        word: sum(c["outcome"] == word for c in claims) for word in (REPRODUCED, NOT_REPRODUCED)
    }
    decided = sum(c["reference"] in _DECIDED for c in claims)
    judged = [r["inside"] for r in ratios if r["inside"] is not None]
    sentences = []
    if claims:
        # Of a claim, what both tested counts.
        left = decided - sum(counted.values())
        sentences += [
            f"Of {decided} claims that the reference decides, {counted[REPRODUCED]} are reproduced.",
            f"Not reproduced: {counted[NOT_REPRODUCED] or 'none'}; not decided here: {left or 'none'}.",
        ]
    if judged:
        sentences.append(
            f"Of {len(judged)} ratios, {sum(judged)} lie within the reference's prediction intervals."
        )
    same = all(c["same"] for c in cells)
    if same and all(judged) and not counted[NOT_REPRODUCED]:
        return " ".join(sentences)
    known = document["run"]["machine"] in document["reference"]["machines"]
    sentences.append(
        "The machine is of a kind that the reference has runs of."
        if known
        else "The machine is of another kind than those of the reference."
    )
    return " ".join(sentences)


def _details(document: dict) -> list[str]:
    """What the summary leaves out, a line each: how far ratios moved, cells, and the machine."""
    ratios, cells = document["ratios"], document["cells"]
    if not ratios and not cells:
        return []
    moved = sorted(r["moved"] for r in ratios if r["ratio"] == "steady" and r["moved"] is not None)
    lines = []
    if moved:
        lines.append(
            "The median difference of a steady ratio from the reference's is "
            f"{100 * moved[len(moved) // 2]:.0f} %."
        )
    if cells:
        same = sum(c["same"] for c in cells)
        lines.append(
            f"Of {len(cells)} cells, {same} have the status that they have in the reference."
        )
    here, there = document["run"], document["reference"]
    if here["machine"] not in there["machines"]:
        differs = [
            _DIFFERS[name].format(here[name], there[name])
            for name in _OF_A_MACHINE
            if here[name] != there[name]
        ]
        lines.append(
            f"The machine, beside that of the reference's newest run: {'; '.join(differs)}."
        )
    return lines


def report(document: dict) -> str:
    """The summary with its details, and each claim, ratio and cell that came out otherwise, on a line each."""
    lines = [document["summary"], *_details(document)]
    lines += [
        f"  {c['outcome']}: {c['id']}: {c['reference']} in the reference"
        f"{'' if c['reference'] == c['reference_whole'] else ' on what both tested'}, {c['run']} here "
        f"({c['evidence']})"
        for c in document["claims"]
        if c["outcome"] == NOT_REPRODUCED
    ]
    for r in document["ratios"]:
        if r["inside"] is False:
            low, high = r["predicted"]
            where = r.get("compiler") or r["device"]
            lines.append(
                f"  outside: {r['ratio']} ratio of {r['workload']}, {frameworks.title(r['framework'])}, "
                f"{where}: {r['run']:.3g}, predicted {low:.3g} to {high:.3g}"
            )
    lines += [
        f"  another status: {c['workload']}, {frameworks.title(c['framework'])}, {c['device']}: {c['run']}, "
        f"in the reference {c['reference']}"
        for c in document["cells"]
        if not c["same"]
    ]
    return "\n".join(lines) + "\n"


def write(config: dict, folder: Folder) -> None:
    """reproduction.json and .txt of a run; of the reference itself, that it is the reference."""
    if config["results"] == "reference":
        document = {"schema": 1, "summary": ""}
        text = "This paper is made from the reference, not from a run of this machine.\n"
    elif not Folder(REFERENCE)["context"].exists():
        document = {"schema": 1, "summary": ""}
        text = "There is no reference to compare this run with: make accept makes it one.\n"
    else:
        document = compare(folder, Folder(REFERENCE))
        text = report(document)
    folder["reproduction"].write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    folder["reproduction_text"].write_text(text, encoding="utf-8")


def read_summary(path: Path) -> str:
    """The sentence of a reproduction.json; empty for the reference itself."""
    return documents.read(path)["summary"]
