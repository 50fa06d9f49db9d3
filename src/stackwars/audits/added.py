"""Parts of audits measured apart join those of the reference: `python -m stackwars.audits.added FOLDER`.

FOLDER holds audits/<mutants or power>/<device>/<framework>.json, as `snakemake <that file>` makes them. Each
verdict is reached anew from what is there and what is added, by the rule of a whole run; the sentence of its
figures says what was measured apart, and when. A whole run that is accepted replaces all of it.
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
    """The entries of audits.json with these parts: {audit of ADDED: its documents, with `apart`, the day}.

    A part replaces one of the same framework, compiler and device. Raises ValueError where the audit itself
    was not run.
    """
    found = {one["id"]: one for one in entries}
    for name, added in parts.items():
        if not added:
            continue
        there = found[name]["figures"].get("by_framework")
        if not there:
            raise ValueError(f"expected audits with {name}; got none: run make audits first")
        new = {verdicts.named([one]) for one in added}
        kept = [one for one in there if verdicts.named([one]) not in new]
        found[name] = _dated(ADDED[name]([*kept, *added]), [*kept, *added])
    if parts.get("power"):
        figures = found["aa"]["figures"]
        groups = figures["groups"] | verdicts.interleaved_groups(parts["power"])
        of_all = verdicts.of_groups(groups, figures["claimed"], figures["trials"])
        found["aa"] = _dated(of_all, found["power"]["figures"]["by_framework"])
    return list(found.values())


def _dated(entry: Entry, found: list[dict]) -> Entry:
    """The entry, its sentence with what was measured apart."""
    days = dict.fromkeys(one["apart"] for one in found if "apart" in one)
    told = [
        f"measured apart, {day}: {verdicts.named([one for one in found if one.get('apart') == day])}"
        for day in days
    ]
    return entry | {"detail": "; ".join([entry["detail"], *told])}


def read_parts(folder: Path) -> dict[str, list[dict]]:
    """{audit: its documents} of a folder of results, each with the day on which it was finished (UTC)."""
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
            f"expected audits/{' or audits/'.join(ADDED)} in {sys.argv[1]}; got none: "
            "snakemake results/full/audits/power/<device>/<framework>.json"
        )
    path = REFERENCE / MEASURED["audits"]
    run = audit_entries.run_of(path)
    audit_entries.write(add(audit_entries.read(path), parts), path, run)


if __name__ == "__main__":
    main()
