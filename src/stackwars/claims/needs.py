"""What a claim needs, by the table and the values of its query, and the configuration that has just that."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from stackwars import workloads
from stackwars.claims.definitions import AUDITS, Claim, ClaimError, listed, study_of
from stackwars.results import schema
from stackwars.setup.device import CPU, CPUS
from stackwars.study import cells, programs
from stackwars.study.cells import Cell
from stackwars.study.comparisons import CELLS, PROGRAMS
from stackwars.study.studies import narrowed

REPLAYS, AHEAD, BATCHES, GROWTH, SHARDING = "replays", "ahead", "batches", "growth", "sharding"
STAGES = {
    **dict.fromkeys((schema.REPLAY, schema.REVERSAL, schema.EDIT, schema.COMPILER), (CELLS, REPLAYS)),
    **dict.fromkeys((schema.MARGIN, schema.CONTROL, schema.RUNTIME), (CELLS, REPLAYS)),
    **dict.fromkeys((schema.HBM, schema.TEMPORARIES, schema.CYCLES, schema.FIT, schema.OPTIMISED), (AHEAD,)),
    **dict.fromkeys((schema.LAYOUT, schema.FUSIONS), (AHEAD, PROGRAMS)),
    **dict.fromkeys((schema.OPERATIONS, schema.PROGRAM, schema.STRUCTURE, schema.LIKENESS), (PROGRAMS,)),
    **dict.fromkeys((schema.RAW, schema.NORMALISED), (PROGRAMS,)),
    **dict.fromkeys((schema.SCALING, schema.GROWTH, schema.SHAPES), (GROWTH,)),
    **dict.fromkeys((schema.COLLECTIVES, schema.SHARDED), (SHARDING,)),
    schema.BATCH: (AHEAD, BATCHES),
}
"""What is run for a quantity, a mode or a level; cells for any other."""
NATIVE_ALONE = {schema.MARGIN, schema.CONTROL, schema.RUNTIME}
"""Quantities of replays by the generation of XLA that the frameworks' own environments have."""


def stages(config: dict, claim: Claim) -> set[str]:
    """Return what is run for a claim."""
    table, where = claim.query["table"], claim.query["where"]
    if study_of(config, claim) == config.get("sharding", {}).get("study"):
        return {SHARDING}
    if table in (AUDITS, "effects"):
        return {CELLS, REPLAYS}
    column = {"comparisons": "quantity", "cells": "mode", "programs": "level"}[table]
    return {stage for name in listed(where.get(column)) for stage in STAGES.get(name, (CELLS,))}


def devices(config: dict, claim: Claim) -> list[str]:
    """Return the devices that its cells run on; the CPU if it names none, or a target."""
    where = claim.query["where"]
    if claim.query["table"] == AUDITS or where.get("quantity") == schema.CORES:
        return list(CPUS)
    return [CPU if name in config["targets"] else name for name in listed(where.get("device", CPU))]


def restricted(config: dict, claim: Claim) -> dict:
    """Return the configuration with only what the claim needs; valid if that leaves a workload and a device.

    A baseline stays with its subject. If the claim is about a baseline's cells alone, its comparison stays, and the
    subject runs no workload. A comparison of programs goes unless programs are needed, and with it a framework
    that has nothing else. Compilers stay too: targets refer to them.
    """
    needed = stages(config, claim)
    compiled = bool({REPLAYS, AHEAD, PROGRAMS} & needed)
    study = study_of(config, claim)
    own = config["studies"].get(study, {})
    wanted = set().union(*_sides(claim).values())
    wanted = wanted or {*own.get("frameworks", []), *own.get("programs", [])}
    if claim.query["where"].get("quantity") == schema.LIKENESS:  # to the subject of the first comparison
        wanted = {*wanted, config["comparisons"][0]["subject"]}
    pairs = [row for row in config["comparisons"] if compiled or CELLS in row["of"]]
    pairs = [row for row in pairs if row["subject"] in wanted] or pairs[:1]
    subjects = {row["subject"] for row in pairs}
    frameworks = {*subjects, *(row["baseline"] for row in pairs)}
    idle = subjects - wanted if needed == {CELLS} else set()
    own = narrowed(own, frameworks, frameworks if compiled else set())
    if PROGRAMS in needed:
        # The form of a program is compared with that of the baseline's, which another study may have.
        own |= {"programs": [name for name in config["frameworks"] if name in frameworks]}
    own |= {"compilers": _compilers(config, claim, own.get("compilers", [])) if REPLAYS in needed else []}
    others = {key: row for key, row in config.items() if key not in (GROWTH, SHARDING) or key in needed}
    return others | {
        "measure": [study],
        "presets": {name: _preset(row, study, needed) for name, row in config["presets"].items()},
        "studies": {study: own},
        "frameworks": {
            name: row | ({"workloads": []} if name in idle else {})
            for name, row in config["frameworks"].items()
            if name in frameworks
        },
        "workloads": _workloads(config, claim),
        "devices": [name for name in config["devices"] if name in devices(config, claim)],
        "comparisons": [
            row | {"of": [what for what in row["of"] if what == CELLS or compiled]} for row in pairs
        ],
        "edits": _edits(config, frameworks) if REPLAYS in needed else {},
        "ahead": _ahead(config, claim) if AHEAD in needed else [],
    }


def check(config: dict, claim: Claim) -> None:
    """Refuse a claim for which the configuration lacks something.

    :raises ClaimError: naming the study, a framework, the workloads or the devices.
    """
    if (study := study_of(config, claim)) not in config["studies"]:
        expected = f"one of the configured {', '.join(config['studies'])}"
        raise ClaimError(claim.id, "query.study", expected, study)
    for side, names in _sides(claim).items():
        if not config["frameworks"].keys() & names:
            expected = f"one of the configured {', '.join(config['frameworks'])}"
            raise ClaimError(claim.id, f"query.where.{side}", expected, sorted(names))
    for key in ("workloads", "devices"):
        if not restricted(config, claim)[key]:
            expected = f"{key} of the configured {', '.join(config[key])}"
            raise ClaimError(claim.id, "query.where", expected, claim.query["where"])


def needed_cells(config: dict, claim: Claim) -> list[Cell]:
    """Return its cells; a replay is paired with cells, so it needs them too."""
    return cells.asked(restricted(config, claim)) if CELLS in stages(config, claim) else []


def needed_programs(config: dict, claim: Claim) -> list[programs.Program]:
    """Return the programs whose structure it is about."""
    return programs.base_programs(restricted(config, claim)) if PROGRAMS in stages(config, claim) else []


def _sides(claim: Claim) -> dict[str, set[str]]:
    """Return the frameworks that a claim names, without their edits, by the column that has them."""
    where = claim.query["where"]
    sides = [side for side in ("framework", "subject", "baseline") if side in where]
    return {side: {name.partition("+")[0] for name in listed(where[side])} for side in sides}


def _edited(claim: Claim) -> set[str]:
    """Return the edits of the programs that a claim names."""
    return {name.partition("+")[2] for name in listed(claim.query["where"].get("subject", []))} - {""}


def _workloads(config: dict, claim: Claim) -> list[str]:
    where = claim.query["where"]
    named = listed(where.get("workload", config["workloads"]))
    if where.get("quantity") == schema.FORM:
        named = [*named, *(workloads.load(name).FORM_OF for name in named)]
    kinds = listed(where.get("kind", ["basic", "model"]))
    return [name for name in config["workloads"] if name in named and workloads.load(name).KIND in kinds]


def _preset(row: dict[str, Any], study: str, needed: set[str]) -> dict[str, Any]:
    """Return a preset that measures this study alone."""
    limits = {name: limit for name, limit in row.get("study_workloads", {}).items() if name == study}
    largest = row.get("largest_batch", []) if BATCHES in needed else []
    return row | {"measure": [study], "study_workloads": limits, "largest_batch": largest}


def _compilers(config: dict, claim: Claim, known: list[str]) -> list[str]:
    is_native = claim.query["where"].get("quantity") in NATIVE_ALONE
    return [name for name in known if not is_native or name == programs.native_compiler(config)]


def _edits(config: dict, frameworks: Container[str]) -> dict[str, list[str]]:
    """Return the edits of these frameworks' programs."""
    of_them = {
        workload: [one for one in edits if one.split("+")[0] in frameworks]
        for workload, edits in config["edits"].items()
    }
    return {workload: edits for workload, edits in of_them.items() if edits}


def _ahead(config: dict, claim: Claim) -> list[dict]:
    """Return which compiler compiles for which target for it: the first one, unless it compares them."""
    where = claim.query["where"]
    named = listed(where.get("target", where.get("device", list(config["targets"]))))
    first = programs.first_compilers(config)
    compares = where.get("quantity") == schema.FIT
    return [
        row
        for row in config["ahead"]
        if row["target"] in named
        and (compares or row["compiler"] == first[row["target"]])
        and ("edit" not in row or row["edit"] in _edited(claim))
    ]
