"""Read and write audits.json: what every audit found, as the paper and the reference read it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackwars.core import documents

SCHEMA = 3
Entry = dict[str, Any]
PASS, FAIL, NOT_RUN = "pass", "fail", "not run"
AUDITS: dict[str, tuple[str, str]] = {
    "fences": ("Fences", "a fence waits for the device, and a dropped result costs its time"),
    "floor": ("Floor", "no process is faster than the machine can be"),
    "mutants": (
        "Mutants",
        "a harness that is broken on purpose is rejected and the intact one is not",
    ),
    "clock": ("External clock", "no process reports more time than its parent saw pass"),
    "aa": ("A/A", "a difference is rarely claimed where both sides are the same"),
    "power": ("Power", "the difference that is printed as detectable is found"),
    "mixed": ("Mixed frameworks", "two trials of one ratio of two frameworks agree"),
    "agreement": (
        "Parity and precision",
        "both sides compute the same, at the precision asked for",
    ),
    "independent": ("Independent harness", "harnesses that others wrote give the same times"),
    "first_run": ("First run", "every first run compiles, and finds no cache"),
}
"""{audit: its title, and what it should show}."""


def entry(identity: str, verdict: str, figures: dict[str, Any], detail: str, consequence: str = "") -> Entry:
    """Return an entry of the document. detail: the figures in a sentence, or why the audit was not run.

    consequence: a sentence on what follows for a reader if the audit failed; no other entry has one.
    """
    title, aim = AUDITS[identity]
    return {
        **{"id": identity, "title": title, "verdict": verdict, "aim": aim},
        **{"figures": figures, "detail": detail, "consequence": consequence if verdict == FAIL else ""},
    }


def not_run_entry(identity: str, why: str = "the audits were not run") -> Entry:
    return entry(identity, NOT_RUN, {}, why)


@dataclass(frozen=True)
class Audits:
    """The audits of a run, in the order of AUDITS. run: its name; revisions: of the sources that they ran with;
    machine: the kind of machine. All are empty if no audit was run.
    """

    entries: list[Entry]
    run: str = ""
    revisions: tuple[str, ...] = ()
    machine: str = ""

    def state(self, run: str, called: str = "this run") -> str:
        """Return for a reader of a run's results whether it was audited, which audits failed, and what follows.

        called: what the sentence calls the run.
        """
        judged = [one for one in self.entries if one["verdict"] != NOT_RUN]
        failed = [one["title"] for one in judged if one["verdict"] == FAIL]
        if not judged:
            return f"The harness was not audited with {called}."
        counted = f"{len(failed) or len(judged)} of {len(judged)} audits"
        outcome = f"failed: {', '.join(failed)}." if failed else "passed."
        # Audits made before 29 November 2026 state no consequence.
        consequences = [one.get("consequence", "") for one in judged if one["verdict"] == FAIL]
        outcome = " ".join([outcome, *dict.fromkeys(filter(None, consequences))])
        if self.run == run:
            return f"{counted} of {called} {outcome}"
        return f"The harness was not audited with {called}; {counted} of the run {self.run} {outcome}"


def read(path: Path) -> Audits:
    """Return the audits of a file; without a file, none was run.

    Raises ValueError for a file of another schema.
    """
    if not path.exists():
        return Audits([not_run_entry(identity) for identity in AUDITS])
    document = documents.read(path)
    if document.get("schema") != SCHEMA:
        raise ValueError(
            f"{path}: expected audits of schema {SCHEMA}, got {document.get('schema')}; fix: make audits"
        )
    result = {entry["id"]: entry for entry in document["audits"]}
    entries = [result.get(identity) or not_run_entry(identity) for identity in AUDITS]
    labels = {key: document.get(key, "") for key in ("run", "machine")}
    return Audits(entries, revisions=tuple(document.get("revisions", ())), **labels)


def write(audits: Audits, path: Path) -> None:
    """Write the file."""
    labels = {"run": audits.run, "revisions": audits.revisions, "machine": audits.machine}
    documents.write(path, {"schema": SCHEMA, **labels, "audits": audits.entries})
