"""All tables of a run but claims.csv, from what it measured: ``python -m stackwars.study.results.tables``."""

from __future__ import annotations

import json

from stackwars.core import documents
from stackwars.measure import PROTOCOL
from stackwars.setup.device import CPU
from stackwars.study.cells import settings, sizes
from stackwars.study.keys import Config
from stackwars.study.programs import measured_replays
from stackwars.study.results import causes, cells, comparisons, effects, programs, raw, rounds, schema
from stackwars.study.results.folder import Folder, command
from stackwars.study.results.raw import Raw
from stackwars.study.studies import measured_studies

NOT_MEASURED = "never"
"""The date of a run in which nothing was measured."""


def write(config: Config, folder: Folder) -> None:
    """Read the measurements of the folder and write its tables and context.json.

    :raises ValueError: if a compilation belongs to another program than the emitted one.
    """
    folder.results.mkdir(parents=True, exist_ok=True)
    result = raw.read(config, folder.measured)
    paths = [folder.measured / replay.path / "profile.json" for replay in measured_replays(config)]
    tables = {"cells": cells.build(config, result), "programs": programs.build(config, folder, result)}
    tables["rounds"] = rounds.build(config, result, tables["cells"])
    tables["comparisons"] = comparisons.build(config, tables["rounds"], tables["cells"], tables["programs"])
    tables["effects"] = effects.build(config, tables["cells"], tables["rounds"])
    tables["profile"] = causes.build_profile(
        config, [documents.read(path) for path in paths if path.exists()], result
    )
    tables["values"] = programs.build_values(config, result)
    tables["causes"] = causes.build_causes(result)
    tables["releases"] = programs.build_releases(result)
    for name, table in tables.items():
        schema.write(table, folder[name])
    facts = context(config, result)
    folder["context"].write_text(json.dumps(facts, indent=1, sort_keys=True), encoding="utf-8")


def context(config: Config, raw: Raw) -> dict:
    """Return facts about a run: machine, date, versions, devices, settings, sizes.

    Values are empty if nothing was measured.
    """
    of_cells = [p for result in raw.cells.values() for p in result["processes"]]
    # A run without cells may have processes of growing sizes and of several devices.
    others = [*raw.growth.values(), *raw.sharded.values()]
    processes = [p for p in of_cells or others if p["repeated"]]
    processes.sort(key=lambda process: process["started_s"])
    # A run of programs or checks alone has no process; one whose compilers are unavailable has no date.
    compiled = [one for one in (*raw.compiled, *raw.checks, *raw.releases, *raw.memory) if "started_utc" in one]
    dated = processes or sorted(compiled, key=lambda one: one["started_utc"])
    last = dated[-1] if dated else {}
    versions = {"python": last.get("machine", {}).get("python", "unknown")}
    for cell, result in raw.cells.items():
        for name, version in result["versions"].items():
            # Two environments may hold one package in two versions: then say whose.
            other = versions.get(name, version)
            versions[name if other == version else f"{name} ({cell.framework})"] = version
    revisions = sorted({one["source"]["git_revision"] for one in dated})
    peaks = {device: first for device, (first, *_) in raw.peaks.items()}
    devices = {}
    for device, answers in raw.devices.items():
        reasons = [answer["reason"] for answer in answers.values() if not answer["present"]]
        is_present = any(answer["present"] for answer in answers.values())
        devices[device] = {"present": is_present, "reason": "; ".join(dict.fromkeys(reasons))}
    return {
        "preset": config.preset,
        "studies": measured_studies(config),
        "protocol": PROTOCOL,
        "machine": last.get("machine", {}),
        "date_utc": last.get("started_utc", NOT_MEASURED),
        "git_revision": " ".join(revisions) or "unknown",
        "git_dirty": any(one["source"]["git_dirty"] for one in dated),
        "versions": versions,
        "devices": devices,
        "peak": peaks.get(CPU) or next(iter(peaks.values()), {}),
        "peaks": peaks,
        "settings": {**settings(config).document(), "memory_cap_bytes": last.get("memory_cap_bytes", 0)},
        "sizes": {workload: sizes(config, workload) for workload in config.workloads},
    }


if __name__ == "__main__":
    command(write, ValueError)
