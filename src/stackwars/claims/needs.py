"""What a claim needs: a configuration of its own, the results in it, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from functools import cache
from pathlib import Path

from stackwars.claims.definitions import Claim, ClaimError
from stackwars.measure import documents
from stackwars.results import read_compilers
from stackwars.study import cells, growth, programs, sharding
from stackwars.study.cells import Cell
from stackwars.study.comparisons import CELLS
from stackwars.study.growth import Point
from stackwars.study.programs import Compilation, Program, ReplayCell
from stackwars.study.studies import narrowed


def restricted(config: dict, claim: Claim) -> dict:
    """The configuration with only what the claim needs; valid where that leaves a workload and a device.

    A baseline stays with its subject. Of a baseline alone its comparison stays, and the subject is asked
    for no workload. A comparison of programs goes where no program is needed, and with it a framework that has
    nothing else. Compilers stay too: targets refer to them.
    """
    needs, stages = claim.needs, claim.needs["stages"]
    compiled = {"replay", "ahead", "largest_batch", "ir"} & set(stages)
    study = study_of(config, claim)
    own = config["studies"].get(study, {})
    wanted = needs.get("frameworks", [*own.get("frameworks", []), *own.get("programs", [])])
    pairs = config["comparisons"]
    pairs = [row for row in pairs if compiled or CELLS in row["of"]]
    pairs = [row for row in pairs if row["subject"] in wanted] or pairs[:1]
    bases, idle = {r["baseline"] for r in pairs}, {r["subject"] for r in pairs} - set(wanted)
    workloads = needs.get("workloads", config["workloads"])
    rows = [
        row
        for row in config["ahead"]
        if row["target"] in needs.get("targets", [row["target"]])
        and row["compiler"] in generations(config, claim)
        and ("edit" not in row or "edited" in stages)
    ]
    kept = {*(row["subject"] for row in pairs), *bases}
    presets = {
        name: row | {"core": {s: c for s, c in row.get("core", {}).items() if s == study}}
        for name, row in config["presets"].items()
    }
    own = narrowed(own, kept, kept if compiled else set())
    if "ir" in stages:
        # The form of a program is compared with that of the baseline's, which another study may have.
        own |= {"programs": [name for name in config["frameworks"] if name in kept]}
    # A claim about anything else needs no processes of how a cost grows, and none of several devices.
    own_stage = ("growth", "sharding")
    kept_keys = {key: row for key, row in config.items() if key not in own_stage or key in stages}
    return kept_keys | {
        "presets": presets,
        "studies": {study: own},
        "frameworks": {
            name: row | ({"workloads": []} if name in idle else {})
            for name, row in config["frameworks"].items()
            if name in kept
        },
        "workloads": [name for name in config["workloads"] if name in workloads],
        "devices": [name for name in config["devices"] if name in needs["devices"]],
        "comparisons": [
            row | {"of": [what for what in row["of"] if what == CELLS or compiled]} for row in pairs
        ],
        "edits": _edits(config, kept) if "replay" in stages else {},
        "ahead": rows if {"ahead", "largest_batch"} & set(stages) else [],
    }


def _edits(config: dict, kept: Container[str]) -> dict[str, list[str]]:
    """The edits of these frameworks' programs."""
    of_them = {
        workload: [one for one in edits if one.split("+")[0] in kept]
        for workload, edits in config["edits"].items()
    }
    return {workload: edits for workload, edits in of_them.items() if edits}


def study_of(config: dict, claim: Claim) -> str:
    """The study that it is about: the first one where it names none."""
    return claim.needs.get("study", next(iter(config["studies"])))


def generations(config: dict, claim: Claim) -> list[str]:
    """The compilers that it needs."""
    known = config["studies"].get(study_of(config, claim), {}).get("compilers", [])
    wanted = claim.needs.get("generation")
    if wanted == "native":
        return [name for name in known if name == programs.native_compiler(config)]
    return read_compilers.generations(known)[-1:] if wanted == "newest" else list(known)


def check(config: dict, claim: Claim) -> None:
    """Raise ClaimError unless the configuration has the study, every framework, a workload and a device that
    it needs."""
    if (study := study_of(config, claim)) not in config["studies"]:
        expected = f"one of the configured {', '.join(config['studies'])}"
        raise ClaimError(claim.id, "needs.study", expected, study)
    for name in claim.needs.get("frameworks", []):
        if name not in config["frameworks"]:
            expected = f"one of the configured {', '.join(config['frameworks'])}"
            raise ClaimError(claim.id, "needs.frameworks", expected, name)
    for key in ("workloads", "devices"):
        if not restricted(config, claim)[key]:
            expected = f"any of the configured {', '.join(config[key])}"
            raise ClaimError(claim.id, f"needs.{key}", expected, claim.needs[key])


def needed_cells(config: dict, claim: Claim) -> list[Cell]:
    """Its cells; a replay is paired with cells, so it needs them too."""
    if not {"cells", "replay"} & set(claim.needs["stages"]):
        return []
    return cells.asked(restricted(config, claim))


def needed_replays(config: dict, claim: Claim) -> list[ReplayCell]:
    """Its replays."""
    if "replay" not in claim.needs["stages"]:
        return []
    wanted = generations(config, claim)
    return [r for r in programs.replays(restricted(config, claim)) if r.compiler in wanted]


def needed_compilations(config: dict, claim: Claim) -> list[Compilation]:
    """Its compilations for absent targets."""
    if "ahead" not in claim.needs["stages"]:
        return []
    return programs.compilations(restricted(config, claim))


def needed_largest_batches(config: dict, claim: Claim) -> list[Compilation]:
    """The compilations from which the largest batch is searched for it."""
    if "largest_batch" not in claim.needs["stages"]:
        return []
    return programs.largest_batches(restricted(config, claim))


def needed_programs(config: dict, claim: Claim) -> list[Program]:
    """The programs whose form it is about."""
    if "ir" not in claim.needs["stages"]:
        return []
    return programs.base_programs(restricted(config, claim))


def needed_growth(config: dict, claim: Claim) -> list[Point]:
    """Its processes of growing sizes."""
    if "growth" not in claim.needs["stages"]:
        return []
    return growth.asked(restricted(config, claim))


def needed_sharding(config: dict, claim: Claim) -> tuple[list[sharding.Point], list[Compilation]]:
    """Its processes of several devices, and its compilations for slices."""
    if "sharding" not in claim.needs["stages"]:
        return [], []
    chosen = restricted(config, claim)
    return sharding.asked(chosen), sharding.slices(chosen)


def compute_minutes(config: dict, claim: Claim, folders: Iterable[Path]) -> float | None:
    """Wall minutes of everything above, each from the first of the folders that has it; None if none
    has anything. Lowering a program takes seconds and is not recorded.
    """
    found = [s for s in _seconds(config, claim, list(folders)) if s is not None]
    return sum(found) / 60 if found else None


def _seconds(config: dict, claim: Claim, folders: list[Path]) -> Iterator[float | None]:
    for cell in needed_cells(config, claim):
        yield _first(folders, cell.path / "cell.json", _of_itself)
    for replay in needed_replays(config, claim):
        yield _first(folders, replay.path / "replay.json", _of_processes)
    for compilation in needed_compilations(config, claim):
        yield _first(folders, compilation.path / "ahead.json", _of_itself)
    points, slices = needed_sharding(config, claim)
    for compilation in slices:
        yield _first(folders, compilation.path / "ahead.json", _of_itself)
    for point in [*needed_growth(config, claim), *points]:
        yield _first(folders, point.path / "process.json", _of_itself)
    for compilation in needed_largest_batches(config, claim):
        yield _first(folders, compilation.largest_batch_path, _of_probes)


def _first(folders: list[Path], path: Path, seconds: Callable[[dict], float]) -> float | None:
    for folder in folders:
        if (folder / path).exists():
            return _told(folder / path, seconds)
    return None


@cache
def _told(path: Path, seconds: Callable[[dict], float]) -> float:
    """What a result says of its time; many claims need the same results."""
    return seconds(documents.read(path))


def _of_itself(found: dict) -> float:
    return found["wall_s"]


def _of_processes(replay: dict) -> float:
    return sum(process["wall_s"] for process in replay["processes"])


def _of_probes(largest_batch: dict) -> float:
    return sum(probe["wall_s"] or 0.0 for probe in largest_batch["probes"])
