"""All tables of a run but claims.csv: ``python -m stackwars.study.results.tables``.

Those of a run follow from what it measured, those of the reference from the tables of all accepted runs: cells,
programs, rounds and profile have the rows of all runs, one after the other, each with its run; comparisons are pooled
over the runs; effects, values, causes and releases have the newest rows.
"""

from __future__ import annotations

import json

import pandas as pd

from stackwars.core import documents
from stackwars.core.outcome import Status
from stackwars.measure import PROTOCOL
from stackwars.setup.device import CPU
from stackwars.study.cells import settings, sizes
from stackwars.study.keys import Config
from stackwars.study.programs import measured_replays
from stackwars.study.results import (
    causes,
    cells,
    comparisons,
    effects,
    exact,
    programs,
    raw,
    rounds,
    runs,
    schema,
)
from stackwars.study.results.folder import Folder, command
from stackwars.study.results.pooling import RunTable, pool
from stackwars.study.results.programs import TARGET
from stackwars.study.results.raw import Raw
from stackwars.study.results.runs import Run
from stackwars.study.studies import measured_studies, of_tables

NOT_MEASURED = "never"
"""The date of a run in which nothing was measured."""


def write(config: Config, folder: Folder) -> None:
    """Write the tables and context.json of the run that was measured in the folder, or those of the reference.

    :raises ValueError: if a compilation belongs to another program than the emitted one.
    :raises DamagedRunError: if a file of an accepted run is not the accepted one.
    """
    if config.source == "reference":
        accepted = runs.read()
        tables, facts = reference_tables(config, accepted), reference_context(config, accepted)
    else:
        measured = raw.read(config, folder.measured)
        tables, facts = _run_tables(config, folder, measured), context(config, measured)
    folder.results.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        schema.write(table, folder[name])
    folder["context"].write_text(json.dumps(facts, indent=1, sort_keys=True), encoding="utf-8")


def _run_tables(config: Config, folder: Folder, measured: Raw) -> dict[str, pd.DataFrame]:
    paths = [folder.measured / replay.path / "profile.json" for replay in measured_replays(config)]
    profiles = [documents.read(path) for path in paths if path.exists()]
    tables = {"cells": cells.build(config, measured), "programs": programs.build(config, folder, measured)}
    tables["rounds"] = rounds.build(config, measured, tables["cells"])
    return tables | {
        "comparisons": comparisons.build(config, tables["rounds"], tables["cells"], tables["programs"]),
        "effects": effects.build(config, tables["cells"], tables["rounds"]),
        "profile": causes.build_profile(config, profiles, measured),
        "values": programs.build_values(config, measured),
        "causes": causes.build_causes(measured),
        "releases": programs.build_releases(measured),
    }


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


def reference_tables(config: Config, accepted: list[Run]) -> dict[str, pd.DataFrame]:
    """Return the tables of the reference but claims.csv, without rows of frameworks that the study no longer has."""
    decomposed = [
        RunTable(run.identity, run.machine, effects.build(config, run.table("cells"), run.table("rounds")))
        for run in accepted
    ]
    result = {name: _concatenated(accepted, name) for name in ("cells", "programs", "rounds", "profile")}
    result |= {
        "comparisons": pooled(config, accepted),
        "effects": effects.over_runs(decomposed),
        **{name: _newest(accepted, name) for name in ("values", "causes", "releases")},
    }
    known = ["", *config.frameworks, *(config.sharding.frontends if config.sharding else [])]
    for name, table in result.items():
        for column in table.columns.intersection(["framework", "subject", "baseline"]):
            table = table[table[column].isin(known)]
        result[name] = table.reset_index(drop=True)
    return result


def pooled(config: Config, accepted: list[Run]) -> pd.DataFrame:
    """Return the comparisons of some runs, pooled and decided.

    Counts of programs that two runs emitted are compared too, unless one run has both.
    """
    run_tables = [_across_runs(config, accepted)]
    for run in accepted:
        parts = (run.table(name) for name in ("rounds", "cells", "programs"))
        table = schema.table("comparisons", comparisons.rows(config, *parts))
        run_tables.append(RunTable(run.identity, run.machine, table))
    return comparisons.add_verdicts(pool(run_tables))


def _across_runs(config: Config, accepted: list[Run]) -> RunTable:
    emitted = _concatenated(accepted, "programs")
    emitted = emitted[emitted["status"] != Status.NOT_RUN]
    newest = emitted.drop_duplicates(schema.PROGRAM_KEYS, keep="last")
    rows = list(exact.rows(config, schema.empty("cells"), newest))
    return RunTable("", "", schema.table("comparisons", rows))


def _concatenated(accepted: list[Run], name: str) -> pd.DataFrame:
    parts = [run.table(name).assign(run=run.identity) for run in accepted]
    parts = [part for part in parts if len(part)]
    return pd.concat(parts, ignore_index=True) if parts else schema.empty(name)


def _newest(accepted: list[Run], name: str) -> pd.DataFrame:
    """Return the rows of a table of all runs, each of the newest run that has it."""
    rows = _concatenated(accepted, name).drop_duplicates(schema.KEYS[name], keep="last")
    return rows.reset_index(drop=True)


def reference_context(config: Config, accepted: list[Run]) -> dict:
    """Return the context of the newest run that measured the first study, with a list of all runs.

    devices: the requested ones that the run had.
    """
    first = [run for run in accepted if of_tables(config).name in run.context["studies"]]
    newest = max(first or accepted, key=lambda run: run.identity)
    described = [
        {
            "run": run.identity,
            "machine": run.machine,
            "studies": _studies(run),
            "devices": [name for name, one in run.context["devices"].items() if one["present"]],
        }
        for run in accepted
    ]
    return {**newest.context, "origin": "reference", "run": newest.identity, "runs": described}


def _studies(run: Run) -> list[str]:
    """Return the studies of a run. Until 28 November 2026, `tables` included the compilations of `targets`."""
    names, emitted = run.context["studies"], run.table("programs")
    compiled = (emitted["target"] == TARGET) & (emitted["framework"] == "jax") & emitted["devices"].isna()
    return [*names, "targets"] if "tables" in names and "targets" not in names and compiled.any() else names


if __name__ == "__main__":
    command(write, ValueError)
