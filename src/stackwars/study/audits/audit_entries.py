"""Read and write audits.json: the outcome of every audit, as the paper and the reference read it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.core import documents
from stackwars.core.ratio import POWER
from stackwars.measure import workloads

SCHEMA = 3
Entry = dict[str, Any]
PASS, FAIL, NOT_RUN = "pass", "fail", "not run"
AUDITS: dict[str, tuple[str, str]] = {
    "fences": ("Fences", "a fence waits for the device, and a dropped result costs its time"),
    "floor": ("Floor", "no process is faster than the machine can be"),
    "mutants": ("Mutants", "a harness that is broken on purpose is rejected and the intact one is not"),
    "clock": ("External clock", "no process reports more time than its parent saw pass"),
    "aa": ("A/A", "a difference is rarely claimed where both sides are the same"),
    "power": ("Power", "the difference that is printed as detectable is found"),
    "mixed": ("Mixed frameworks", "two trials of one ratio of two frameworks agree"),
    "agreement": ("Parity and precision", "both sides compute the same, at the precision asked for"),
    "independent": ("Independent harness", "harnesses that others wrote give the same times"),
    "first_run": ("First run", "every first run compiles, and finds no cache"),
}
"""{audit: its title, and what it should show}."""
OF_TRIALS = ("aa", "power", "mixed")
"""Audits whose failures say what one run resolves: see `resolution`."""
WORST = 1.2
"""Largest factor between two trials of one ratio: below the factor between the ratios with near and with far cores of
the workloads where the distance decides most (docs/protocol.md)."""


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


def resolution(failed: dict[str, Entry]) -> str:
    """Return what the failed audits of trials mean for a reader, each workload once; empty if none failed.

    A/A gives the largest ratio of equal sides whose interval excludes 1, power the difference that POWER of the trials
    find, and mixed how far two trials of one ratio are apart.
    """
    figures = {name: failed[name]["figures"] if name in failed else {} for name in OF_TRIALS}
    missed: dict[str, float] = {}
    for one in figures["aa"].get("trials", ()):
        if not one["low"] <= 1 <= one["high"]:
            name = label(one["workload"], one["device"])
            missed[name] = max(one["ratio"] - 1, 1 / one["ratio"] - 1, missed.get(name, 0.0))
    for name, share in figures["power"].get("found", {}).items():
        needed = [one["needed"] for one in figures["power"]["trials"] if one["workload"] == name]
        if needed and share["rate"] < POWER:
            missed[name] = max(float(np.quantile(needed, POWER)), missed.get(name, 0.0))
    apart: dict[str, float] = {}
    for one in figures["mixed"].get("quotients", ()):
        if not (one["contained"] and one["explained"]) or one["off"] > WORST - 1:
            apart[one["workload"]] = max(one["off"], apart.get(one["workload"], 0.0))
    differed = "two trials of one ratio differed by up to"
    parts = [
        f"{percent(share)} % on {name}"
        + (f", where {differed} {percent(apart.pop(name))} %" if name in apart else "")
        for name, share in missed.items()
    ]
    texts = [f"One run does not resolve differences below: {'; '.join(parts)}."] if parts else []
    if apart:
        others = ", ".join(f"{percent(share)} % on {name}" for name, share in apart.items())
        texts.append(f"{differed.capitalize()} {others}.")
    return " ".join(texts)


def label(workload: str, device: str) -> str:
    """Return ``GEMM (cpu)``."""
    return f"{workloads.load(workload).TITLE} ({device})"


def percent(share: float) -> str:
    """Return a share in percent, rounded up to two digits: it bounds an error."""
    value = 100 * share
    if value <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.ceil(value / unit - 1e-9) * unit:.4g}"


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
        failed = {one["id"]: one for one in judged if one["verdict"] == FAIL}
        if not judged:
            return f"The harness was not audited with {called}."
        counted = f"{len(failed) or len(judged)} of {len(judged)} audits"
        outcome = f"failed: {', '.join(one['title'] for one in failed.values())}." if failed else "passed."
        texts = [one["consequence"] for name, one in failed.items() if name not in OF_TRIALS]
        outcome = " ".join([outcome, *filter(None, [*texts, resolution(failed)])])
        if self.run == run:
            return f"{counted} of {called} {outcome}"
        return f"The harness was not audited with {called}; {counted} of the run {self.run} {outcome}"


def read(path: Path) -> Audits:
    """Return the audits of a file; without a file, none was run.

    Raises ValueError for a file of another schema.
    """
    document = documents.read(path) if path.exists() else {"schema": SCHEMA, "audits": []}
    if document.get("schema") != SCHEMA:
        raise ValueError(
            f"{path}: expected audits of schema {SCHEMA}, got {document.get('schema')}; fix: make audits"
        )
    result = {entry["id"]: entry for entry in document["audits"]}
    entries = [result.get(identity) or not_run_entry(identity) for identity in AUDITS]
    labels = {key: document.get(key, "") for key in ("run", "machine")}
    return Audits(entries, revisions=tuple(document.get("revisions", ())), **labels)


def write(audits: Audits, path: Path) -> None:
    labels = {"run": audits.run, "revisions": audits.revisions, "machine": audits.machine}
    documents.write(path, {"schema": SCHEMA, **labels, "audits": audits.entries})
