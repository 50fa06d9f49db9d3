"""What a claim needs: a configuration of its own, and the results in it."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from stackwars.claims.definitions import Claim, ClaimError, study_of
from stackwars.results.names import generations
from stackwars.study import cells, growth, programs, sharding
from stackwars.study.cells import Cell
from stackwars.study.comparisons import CELLS
from stackwars.study.growth import Point
from stackwars.study.programs import Compilation, Program, ReplayCell
from stackwars.study.studies import narrowed


def restricted(config: dict, claim: Claim) -> dict:
    """Return the configuration with only what the claim needs; valid if that leaves a workload and a device.

    A baseline stays with its subject. If the claim is about a baseline alone, its comparison stays, and the
    subject runs no workload. A comparison of programs goes unless programs are needed, and with it a framework
    that has nothing else. Compilers stay too: targets refer to them.
    """
    needs, stages = claim.needs, claim.needs["stages"]
    compiled = bool({"replay", "ahead", "largest_batch", "ir"} & set(stages))
    study = study_of(config, claim)
    own = config["studies"].get(study, {})
    wanted = needs.get("frameworks", [*own.get("frameworks", []), *own.get("programs", [])])
    pairs = [row for row in config["comparisons"] if compiled or CELLS in row["of"]]
    pairs = [row for row in pairs if row["subject"] in wanted] or pairs[:1]
    subjects = {row["subject"] for row in pairs}
    frameworks, idle = {*subjects, *(row["baseline"] for row in pairs)}, subjects - set(wanted)
    own = narrowed(own, frameworks, frameworks if compiled else set())
    if "ir" in stages:
        # The form of a program is compared with that of the baseline's, which another study may have.
        own |= {"programs": [name for name in config["frameworks"] if name in frameworks]}
    # A claim about anything else needs no processes of how a cost grows, and none of several devices.
    others = {key: row for key, row in config.items() if key not in ("growth", "sharding") or key in stages}
    return others | {
        "measure": [study],
        "presets": {name: _preset(row, study) for name, row in config["presets"].items()},
        "studies": {study: own},
        "frameworks": {
            name: row | ({"workloads": []} if name in idle else {})
            for name, row in config["frameworks"].items()
            if name in frameworks
        },
        "workloads": [w for w in config["workloads"] if w in needs.get("workloads", config["workloads"])],
        "devices": [name for name in config["devices"] if name in needs["devices"]],
        "comparisons": [
            row | {"of": [what for what in row["of"] if what == CELLS or compiled]} for row in pairs
        ],
        "edits": _edits(config, frameworks) if "replay" in stages else {},
        "ahead": _ahead(config, claim) if {"ahead", "largest_batch"} & set(stages) else [],
    }


def _preset(row: dict[str, Any], study: str) -> dict[str, Any]:
    """Return a preset that measures this study alone."""
    limits = {name: limit for name, limit in row.get("study_workloads", {}).items() if name == study}
    return row | {"measure": [study], "study_workloads": limits}


def _edits(config: dict, frameworks: Container[str]) -> dict[str, list[str]]:
    """Return the edits of these frameworks' programs."""
    of_them = {
        workload: [one for one in edits if one.split("+")[0] in frameworks]
        for workload, edits in config["edits"].items()
    }
    return {workload: edits for workload, edits in of_them.items() if edits}


def _ahead(config: dict, claim: Claim) -> list[dict]:
    """Return which compiler compiles for which target for it."""
    return [
        row
        for row in config["ahead"]
        if row["target"] in claim.needs.get("targets", [row["target"]])
        and row["compiler"] in needed_compilers(config, claim)
        and ("edit" not in row or "edited" in claim.needs["stages"])
    ]


def needed_compilers(config: dict, claim: Claim) -> list[str]:
    """Return the compilers that it needs."""
    known = config["studies"].get(study_of(config, claim), {}).get("compilers", [])
    wanted = claim.needs.get("generation")
    if wanted == "native":
        return [name for name in known if name == programs.native_compiler(config)]
    return generations(known)[-1:] if wanted == "newest" else list(known)


def check(config: dict, claim: Claim) -> None:
    """Refuse a claim for which the configuration lacks something.

    :raises ClaimError: naming the study, a framework, the workloads or the devices.
    """
    if (study := study_of(config, claim)) not in config["studies"]:
        expected = f"one of the configured {', '.join(config['studies'])}"
        raise ClaimError(claim.id, "query.study", expected, study)
    for name in claim.needs.get("frameworks", []):
        if name not in config["frameworks"]:
            expected = f"one of the configured {', '.join(config['frameworks'])}"
            raise ClaimError(claim.id, "needs.frameworks", expected, name)
    for key in ("workloads", "devices"):
        if not restricted(config, claim)[key]:
            expected = f"any of the configured {', '.join(config[key])}"
            raise ClaimError(claim.id, f"needs.{key}", expected, claim.needs[key])


def needed_cells(config: dict, claim: Claim) -> list[Cell]:
    """Return its cells; a replay is paired with cells, so it needs them too."""
    if not {"cells", "replay"} & set(claim.needs["stages"]):
        return []
    return cells.asked(restricted(config, claim))


def needed_replays(config: dict, claim: Claim) -> list[ReplayCell]:
    """Return its replays."""
    if "replay" not in claim.needs["stages"]:
        return []
    wanted = needed_compilers(config, claim)
    return [r for r in programs.replays(restricted(config, claim)) if r.compiler in wanted]


def needed_compilations(config: dict, claim: Claim) -> list[Compilation]:
    """Return its compilations for absent targets."""
    return _if_needed(programs.compilations, "ahead", config, claim)


def needed_largest_batches(config: dict, claim: Claim) -> list[Compilation]:
    """Return the compilations from which the largest batch is searched for it."""
    return _if_needed(programs.largest_batches, "largest_batch", config, claim)


def needed_programs(config: dict, claim: Claim) -> list[Program]:
    """Return the programs whose structure it is about."""
    return _if_needed(programs.base_programs, "ir", config, claim)


def needed_growth(config: dict, claim: Claim) -> list[Point]:
    """Return its processes of growing sizes."""
    return _if_needed(growth.asked, "growth", config, claim)


def needed_sharding(config: dict, claim: Claim) -> tuple[list[sharding.Point], list[Compilation]]:
    """Return its processes of several devices, and its compilations for slices."""
    listed = (_if_needed(find, "sharding", config, claim) for find in (sharding.asked, sharding.slices))
    return tuple(listed)


def _if_needed(find: Callable[[dict], list], stage: str, config: dict, claim: Claim) -> list:
    return find(restricted(config, claim)) if stage in claim.needs["stages"] else []
