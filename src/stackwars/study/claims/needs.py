"""Derive from a claim's query what must be measured for it, and the configuration restricted to that."""

from __future__ import annotations

from pathlib import Path

from stackwars.measure import workloads
from stackwars.setup.device import CPU
from stackwars.study import cells, growth, programs, sharding
from stackwars.study.cells import Cell
from stackwars.study.claims.definitions import Claim, ClaimError, listed, study_of
from stackwars.study.keys import AotRow, Config, StudyRow
from stackwars.study.results import schema
from stackwars.study.studies import CELLS, PROGRAMS, narrowed, with_programs

REPLAYS, AHEAD, BATCHES, GROWTH = "replays", "ahead", "batches", "growth"
SHARDING, SLICES, CAUSES = "sharding", "slices", "causes"
NATIVE_ALONE = {schema.MARGIN, schema.CONTROL, schema.NATIVE_CALLS, schema.EVERYTHING_ELSE}
"""Quantities of replays by the generation of XLA that the frameworks' own environments have."""
STAGES = {
    **dict.fromkeys((schema.REPLAY, schema.REPLAY_CPU, schema.REMOVAL, schema.COMPILER), (CELLS, REPLAYS)),
    **dict.fromkeys(NATIVE_ALONE, (CELLS, REPLAYS)),
    **dict.fromkeys((schema.HBM, schema.TEMPORARIES, schema.OPTIMISED), (AHEAD,)),
    **dict.fromkeys((schema.LAYOUT, schema.FUSIONS), (AHEAD, PROGRAMS)),
    **dict.fromkeys((schema.OPERATIONS, schema.PROGRAM, schema.STRUCTURE, schema.LIKENESS), (PROGRAMS,)),
    **dict.fromkeys((schema.RAW, schema.NORMALISED), (PROGRAMS,)),
    schema.SCALING: (GROWTH,),
    schema.BATCH: (AHEAD, BATCHES),
}
"""The stages that run for a quantity or a level; cells for any other."""


def stages(config: Config, claim: Claim) -> set[str]:
    table, where = claim.query["table"], claim.query["where"]
    if config.sharding and study_of(config, claim) == config.sharding.study:
        return {SLICES if table == "programs" else SHARDING}
    if table in (CAUSES, "effects"):
        return {CELLS, REPLAYS, table}
    column = {"comparisons": "quantity", "programs": "level"}.get(table, "")
    return {stage for name in listed(where.get(column)) for stage in STAGES.get(name, (CELLS,))}


def devices(config: Config, claim: Claim) -> list[str]:
    """Return the devices that its cells run on; the CPU if it names none, or a target."""
    where = claim.query["where"]
    return [CPU if name in config.targets else name for name in listed(where.get("device", CPU))]


def restricted(config: Config, claim: Claim) -> Config:
    """Return the configuration with only the study that the claim is about, restricted to what the claim needs."""
    where, study = claim.query["where"], study_of(config, claim)
    row = config.studies.get(study, StudyRow())
    if wanted := _frameworks(config, claim):
        row = narrowed(row, wanted, wanted)
        if PROGRAMS in stages(config, claim):
            # The form of a program is compared with the baseline's, which another study may have.
            row = row.changed(programs=[name for name in with_programs(config) if name in wanted])
    if NATIVE_ALONE.issuperset(listed(where.get("quantity"))):
        row = row.changed(compilers=[n for n in row.compilers if n == programs.native_compiler(config)])
    if where.get("quantity") == schema.REPLAY and "compiler" in where:
        row = row.changed(compilers=[name for name in row.compilers if name in listed(where["compiler"])])
    return config.changed(
        measure=[study],
        studies=config.studies | {study: row},
        workloads=_workloads(config, claim),
        devices=[name for name in config.devices if name in devices(config, claim)],
        aot_compilations=_ahead(config, claim),
    )


def check(config: Config, claim: Claim) -> None:
    """Refuse a claim if the configuration does not have what it needs.

    :raises ClaimError: naming the study, a framework, the workloads or the devices.
    """
    if (study := study_of(config, claim)) not in config.studies:
        expected = f"one of the configured {', '.join(config.studies)}"
        raise ClaimError(claim.id, "query.study", expected, study)
    for side, names in _sides(claim).items():
        if not config.frameworks.keys() & names:
            expected = f"one of the configured {', '.join(config.frameworks)}"
            raise ClaimError(claim.id, f"query.where.{side}", expected, sorted(names))
    for key in ("workloads", "devices"):
        if not getattr(restricted(config, claim), key):
            expected = f"{key} of the configured {', '.join(getattr(config, key))}"
            raise ClaimError(claim.id, "query.where", expected, claim.query["where"])


def needed_cells(config: Config, claim: Claim) -> list[Cell]:
    """Return its cells; a replay is paired with cells, so it needs them too."""
    return cells.asked(restricted(config, claim)) if CELLS in stages(config, claim) else []


def needed_programs(config: Config, claim: Claim) -> list[programs.Program]:
    return programs.base_programs(restricted(config, claim)) if PROGRAMS in stages(config, claim) else []


def needed_files(config: Config, claim: Claim) -> list[Path]:
    """Return the files, and folders of processes, that are neither a cell's nor a program's."""
    only, needed, wanted = restricted(config, claim), stages(config, claim), _frameworks(config, claim)
    result = {
        REPLAYS: [replay.path / "replay.json" for replay in programs.measured_replays(only)],
        CAUSES: [programs.causes_path(one.compiler, one.workload) for one in programs.searched(only)],
        AHEAD: [compilation.path / "ahead.json" for compilation in programs.compilations(only)],
        BATCHES: [compilation.largest_batch_path for compilation in programs.largest_batches(only)],
        GROWTH: [point.path for point in growth.asked(only) if not wanted or point.framework in wanted],
        SHARDING: [point.path for point in sharding.asked(only)],
        SLICES: [compilation.path / "ahead.json" for compilation in sharding.slices(only)],
    }
    return [path for stage, paths in result.items() if stage in needed for path in paths]


def _sides(claim: Claim) -> dict[str, set[str]]:
    """Return the frameworks that a claim names, by the column that has them."""
    where = claim.query["where"]
    sides = [side for side in ("framework", "subject", "baseline") if side in where]
    return {side: set(listed(where[side])) for side in sides}


def _frameworks(config: Config, claim: Claim) -> set[str]:
    """Return the frameworks that a claim names, with what they are compared with; none if it names none."""
    wanted = set().union(*_sides(claim).values())
    if claim.query["where"].get("quantity") == schema.LIKENESS:  # to the subject of the first comparison
        wanted.add(config.comparisons[0].subject)
    return wanted | {row.baseline for row in config.comparisons if row.subject in wanted}


def _workloads(config: Config, claim: Claim) -> list[str]:
    where = claim.query["where"]
    named = listed(where.get("workload", config.workloads))
    if where.get("quantity") == schema.FORM:
        named = [*named, *(workloads.load(name).FORM_OF for name in named)]
    kinds = listed(where.get("kind", ["basic", "model"]))
    return [name for name in config.workloads if name in named and workloads.load(name).KIND in kinds]


def _ahead(config: Config, claim: Claim) -> list[AotRow]:
    """Return the compilations for the claim's targets, each by the target's first compiler."""
    where = claim.query["where"]
    named = listed(where.get("target", where.get("device", list(config.targets))))
    first = programs.first_compilers(config)
    return [row for row in config.aot_compilations if row.target in named and row.compiler == first[row.target]]
