"""What a claim needs: a configuration of its own, the results in it, and what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from stackwars.claims.definitions import Claim
from stackwars.measure import documents
from stackwars.results.read_compilers import by_age
from stackwars.study import cells, programs
from stackwars.study.cells import Cell
from stackwars.study.comparisons import CELLS, with_programs
from stackwars.study.programs import Compilation, Program, ReplayCell


def restricted(config: dict, claim: Claim) -> dict:
    """The configuration with only what the claim needs; valid where that leaves a workload and a device.

    A baseline stays with its subject. Compilers stay too: targets refer to them.
    """
    needs, stages = claim.needs, claim.needs["stages"]
    subjects = needs.get("frameworks", config["frameworks"])
    pairs = [row for row in config["comparisons"] if row["subject"] in subjects]
    # A baseline alone has nothing that it is compared with, and is measured all the same.
    frameworks = {r["baseline"] for r in pairs or config["comparisons"][:1]} | set(subjects)
    workloads = needs.get("workloads", config["workloads"])
    rows = [
        row
        for row in config["ahead"]
        if row["target"] in needs.get("targets", [row["target"]])
        and row["compiler"] in generations(config, claim)
    ]
    compiled = {"replay", "ahead", "largest_batch", "ir"} & set(stages)
    return config | {
        "frameworks": {n: row for n, row in config["frameworks"].items() if n in frameworks},
        "workloads": [name for name in config["workloads"] if name in workloads],
        "devices": [name for name in config["devices"] if name in needs["devices"]],
        "comparisons": [
            row | {"of": [what for what in row["of"] if what == CELLS or compiled]} for row in pairs
        ],
        "edits": config["edits"] if "replay" in stages else {},
        "ahead": rows if {"ahead", "largest_batch"} & set(stages) else [],
    }


def generations(config: dict, claim: Claim) -> list[str]:
    """The compilers that it needs."""
    known, wanted = config["compilers"], claim.needs.get("generation")
    if wanted == "native":
        return [name for name in known if name == programs.native_compiler(config)]
    return by_age(known)[-1:] if wanted == "newest" else list(known)


def testable(config: dict, claim: Claim) -> bool:
    """Whether the configuration has any workload, any device and every framework that it needs."""
    chosen = restricted(config, claim)
    there = set(claim.needs.get("frameworks", [])) <= set(config["frameworks"])
    return bool(chosen["workloads"] and chosen["devices"] and there)


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
    chosen = restricted(config, claim)
    return [
        Program(framework, workload)
        for workload in programs.compiled_workloads(chosen)
        for framework in with_programs(chosen)
    ]


def compute_minutes(config: dict, claim: Claim, folders: Iterable[Path]) -> float | None:
    """Wall minutes of everything above, each from the first of the folders that has it; None if none
    has anything. Lowering a program takes seconds and is not recorded.
    """
    found = [s for s in _seconds(config, claim, list(folders)) if s is not None]
    return sum(found) / 60 if found else None


def _seconds(config: dict, claim: Claim, folders: list[Path]) -> Iterator[float | None]:
    for cell in needed_cells(config, claim):
        yield _first(folders, cell.path / "cell.json", lambda found: found["wall_s"])
    for replay in needed_replays(config, claim):
        yield _first(folders, replay.path / "replay.json", _of_processes)
    for compilation in needed_compilations(config, claim):
        yield _first(folders, compilation.path / "ahead.json", lambda found: found["wall_s"])
    for compilation in needed_largest_batches(config, claim):
        yield _first(folders, compilation.largest_batch_path, _of_probes)


def _first(folders: list[Path], path: Path, seconds) -> float | None:
    for folder in folders:
        if (folder / path).exists():
            return seconds(documents.read(folder / path))
    return None


def _of_processes(replay: dict) -> float:
    return sum(process["wall_s"] for process in replay["processes"])


def _of_probes(largest_batch: dict) -> float:
    return sum(probe["wall_s"] or 0.0 for probe in largest_batch["probes"])
