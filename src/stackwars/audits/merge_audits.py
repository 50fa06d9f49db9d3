"""Add audits that were measured separately to those of the reference: `python -m stackwars.audits.merge_audits FOLDER`.

FOLDER holds audits/<mutants or power>/<device>/<subject>.json, as `snakemake <that file>` writes them. Each
verdict is computed again from the old and the new parts, by the rule of a full run; its sentence says what was
measured separately, and when. Accepting a full run replaces all of it.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from stackwars.audits import audit_entries, verdicts
from stackwars.audits.audit_entries import Entry
from stackwars.measure import documents
from stackwars.results.folder import MEASURED
from stackwars.results.runs import REFERENCE

ADDED = {"mutants": verdicts.mutants, "power": verdicts.power}


def add(entries: list[Entry], parts: dict[str, list[dict]]) -> list[Entry]:
    """Return the entries of audits.json with these parts: {audit of ADDED: its documents, with `apart`, the day}.

    A part replaces one of the same framework, compiler and device. Raises ValueError if the audit itself was not
    run.
    """
    found = {one["id"]: one for one in entries}
    for name, added in parts.items():
        if not added:
            continue
        old = found[name]["figures"].get("by_framework")
        if not old:
            raise ValueError(f"expected audits with {name}, got none; fix: run make audits first")
        new = {verdicts.subject_labels([one]) for one in added}
        merged = [one for one in old if verdicts.subject_labels([one]) not in new] + added
        found[name] = _dated(ADDED[name](merged), merged)
    if parts.get("power"):
        figures = found["aa"]["figures"]
        groups = figures["groups"] | verdicts.interleaved_groups(parts["power"])
        entry = verdicts.of_groups(groups, figures["claimed"], figures["trials"])
        found["aa"] = _dated(entry, found["power"]["figures"]["by_framework"])
    return list(found.values())


def _dated(entry: Entry, parts: list[dict]) -> Entry:
    """Return the entry, its sentence with what was measured separately on which day."""
    days = dict.fromkeys(one["apart"] for one in parts if "apart" in one)
    notes = [
        f"measured apart, {day}: {verdicts.subject_labels([one for one in parts if one.get('apart') == day])}"
        for day in days
    ]
    return entry | {"detail": "; ".join([entry["detail"], *notes])}


def read_parts(folder: Path) -> dict[str, list[dict]]:
    """Return {audit: its documents} of a folder of results, each with the day on which it was finished (UTC)."""
    return {
        name: [
            documents.read(path) | {"apart": f"{datetime.fromtimestamp(path.stat().st_mtime, UTC):%Y-%m-%d}"}
            for path in sorted((folder / "audits" / name).glob("*/*.json"))
        ]
        for name in ADDED
    }


def main() -> None:
    parts = read_parts(Path(sys.argv[1]))
    if not any(parts.values()):
        sys.exit(
            f"expected audits/{' or audits/'.join(ADDED)} in {sys.argv[1]}, got none; fix: "
            "snakemake results/full/audits/power/<device>/<framework>.json"
        )
    path = REFERENCE / MEASURED["audits"]
    run = audit_entries.run_of(path)
    audit_entries.write(add(audit_entries.read(path), parts), path, run)


if __name__ == "__main__":
    main()
