"""Read and write audits.json: what every audit found, as the paper and the reference read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stackwars.measure import documents

SCHEMA = 2
Entry = dict[str, Any]
PASS, FAIL, NOT_RUN = "pass", "fail", "not run"
AUDITS: dict[str, tuple[str, str]] = {
    "fences": ("Fences", "a fence waits for the device, and a call's time is that of its work"),
    "floor": ("Floor", "no process is faster than the machine can be"),
    "mutants": (
        "Mutants",
        "a harness that is broken on purpose is rejected and the intact one is not",
    ),
    "clock": ("External clock", "no process reports more time than its parent saw pass"),
    "aa": ("A/A", "a difference is rarely claimed where both sides are the same"),
    "power": ("Power", "a difference of known size is found, with that size"),
    "agreement": (
        "Parity and precision",
        "both sides compute the same, at the precision asked for",
    ),
    "independent": ("Independent harness", "harnesses that others wrote give the same times"),
    "first_run": ("First run", "every first run compiles, and finds no cache"),
}
"""{audit: its title, and what it should show}."""


def entry(identity: str, verdict: str, figures: dict[str, Any], detail: str) -> Entry:
    """Return an entry of the document. detail: the figures in a sentence, or why the audit was not run."""
    title, aim = AUDITS[identity]
    return {
        **{"id": identity, "title": title, "verdict": verdict, "aim": aim},
        **{"figures": figures, "detail": detail},
    }


def not_run_entry(identity: str, why: str = "the audits were not run") -> Entry:
    return entry(identity, NOT_RUN, {}, why)


def read(path: Path) -> list[Entry]:
    """Return the audits of a file, in the order of AUDITS; without a file, none was run.

    Raises ValueError for a file of another schema.
    """
    if not path.exists():
        return [not_run_entry(identity) for identity in AUDITS]
    document = documents.read(path)
    if document.get("schema") != SCHEMA:
        raise ValueError(
            f"{path}: expected audits of schema {SCHEMA}, got {document.get('schema')}; fix: make audits"
        )
    result = {entry["id"]: entry for entry in document["audits"]}
    return [result.get(identity) or not_run_entry(identity) for identity in AUDITS]


def run_of(path: Path) -> str:
    """Return the accepted run whose audits these are; empty if they are of the results in the same folder."""
    return documents.read(path).get("run", "") if path.exists() else ""


def write(audits: list[Entry], path: Path, run: str = "") -> None:
    """Write the file. run: as `run_of` returns it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    of_run = {"run": run} if run else {}
    document = {"schema": SCHEMA, **of_run, "audits": audits}
    path.write_text(json.dumps(document, indent=1) + "\n")
