"""Select the rows of the tables that the report shows. Every row names its study; a study has one source."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from stackwars.core import documents
from stackwars.core.compilers import FACTS
from stackwars.core.documents import Row
from stackwars.core.numbers import shortened
from stackwars.core.outcome import Status
from stackwars.explain.answer import LAYOUT
from stackwars.setup.device import CPU
from stackwars.study.results import runs, schema
from stackwars.study.results.causes import gaps_of
from stackwars.study.results.comparisons import EACH_KIND
from stackwars.study.results.dataset import Dataset, Sources, in_order, newest_runs, of_study
from stackwars.study.results.effects import STUDY as COMPILERS
from stackwars.study.searches import Point
from stackwars.study.studies import Study

CELL = (
    *("mode", "workload", "title", "framework", "device", "compiler", "size", "value", "pass", "status"),
    *("status_detail", "rounds"),
    *(f"{stage}_{end}" for stage in schema.STAGES for end in ("ms", "low_ms", "high_ms")),
    *("throughput_ms", "steady_class", "kept_share", "peak_rss_bytes", "shape", "collectives"),
    *("struck_ms", "judge"),
    *("parity_rel_l2", "largest_error", "wrong_elements"),
    *("first_trace_ms", "first_compile_ms", "first_execute_ms", "run"),
)
COMPARISON = (
    *schema.COMPARISON_KEYS,
    *("title", "rounds", "ratio", "low", "high", "confidence", "detectable", "verdict", "detail"),
    *("native_verdict", "published_ratio", "contended", "runs", "machine", "predicted_low", "predicted_high"),
    "run",
)
COMPILED = (
    *("workload", "title", "framework", "target", "compiler", "variant", "status", "status_detail", "verdict"),
    *("hbm_bytes", "argument_bytes", "temp_bytes", "usable_bytes", "largest_batch", "estimated_cycles"),
    *("operations", "fusions", "compile_s", "published_status", "run"),
)
KIND = ("ratio", "low", "high", "verdict", "predicted_low", "predicted_high")
_NATIVE = (*schema.STAGES, schema.STEADY_CPU, schema.PAIRWISE, schema.FORM, schema.SCALING)
"""Quantities of native calls."""


def origin_of(sources: Sources, data: Dataset) -> Row:
    """Return {"reference": True} for rows of the reference in the report of another run, else nothing."""
    return {"reference": True} if data.is_reference and not sources.run.is_reference else {}


def cells(sources: Sources) -> list[Row]:
    """Return the cells of every study in each mode that it has; replays with the compiler's facts."""
    return [
        {"study": study.name, **origin_of(sources, data), **row}
        for data, study in _each(sources)
        for row in _cells(data, study)
    ]


def _each(sources: Sources) -> Iterator[tuple[Dataset, Study]]:
    for name in sources.run.config.studies:
        data = sources.dataset_for(name)
        yield data, data.study(name)


def _cells(data: Dataset, study: Study) -> Iterator[Row]:
    native = records(data.rows("cells", study.name), CELL)
    yield from (row for row in native if study.has_cell(row["framework"], row["workload"], row["device"]))
    if study.compilers:
        yield from _replayed(data, study)
    for mode, key in ((schema.GROWTH, "growth"), (schema.SHAPES, "growth"), (schema.SHARDED, "sharding")):
        if _belongs(data, key, study):
            table = data.table("cells")
            yield from records(newest(data, study, table[table["mode"] == mode], mode), CELL)


def _belongs(data: Dataset, key: str, study: Study) -> bool:
    """Return whether a study covers the configuration's growth or sharding, by the key."""
    row = getattr(data.config, key)
    return row is not None and row.study == study.name


def newest(data: Dataset, study: Study, table: pd.DataFrame, mode: str = schema.NATIVE) -> pd.DataFrame:
    """Return for each workload the rows of the run that has most of them, in the order of the workloads."""
    rows = table[table["run"] == table["workload"].map(newest_runs(data, table, study.name, mode))]
    return in_order(study.workloads, rows)


def _replayed(data: Dataset, study: Study) -> list[Row]:
    """Return the replays of a study. over_best: the time over the one in the program's fastest compiler; ratio: the
    comparison with the baseline's program in this compiler.
    """
    keys = ["workload", "framework", "compiler", "run"]
    programs = data.table("programs")
    facts = programs[programs["target"] == CPU][[*keys, "compile_s", *FACTS]]
    table = data.rows("cells", study.name, schema.REPLAY).merge(facts, on=keys, how="left")
    table["over_best"] = table["steady_ms"] / table.groupby(keys[:2])["steady_ms"].transform("min")
    compared = data.comparisons(study.name, quantity=schema.REPLAY)
    keys = ["workload", "framework", "compiler", "device"]
    compared = compared.rename(columns={"subject": "framework"})[[*keys, "ratio"]].drop_duplicates(keys)
    table = table.merge(compared, on=keys, how="left")
    return records(table, (*CELL, "over_best", "ratio", "compile_s", *FACTS))


def comparisons(sources: Sources) -> list[Row]:
    """Return every comparison once for each source, with its studies.

    each: the ratios that it is inferred from, [run, round, ratio]; the round is None if its run has no single rounds.
    kinds: its numbers on each kind of machine, the fastest first; `machine` is a short name, empty for this run's.
    """
    result: dict[tuple, Row] = {}
    rounds: dict[bool, dict[tuple, list]] = {}
    names = kind_names(sources)
    for data, study in _each(sources):
        if data.is_reference not in rounds:
            rounds[data.is_reference] = _rounds(data)
        compared = data.comparisons(study.name)
        for row, kinds in zip(records(compared, COMPARISON), compared[EACH_KIND], strict=True):
            if _is_of(data, study, row):
                each = rounds[data.is_reference].get(_key(row, schema.COMPARISON_KEYS), [])
                key = (data.is_reference, *_key(row, schema.COMPARISON_KEYS))
                known = {**row, **origin_of(sources, data), "studies": [], "each": each}
                if "machine" in row:
                    known["machine"] = names.get(row["machine"], row["machine"])
                known["kinds"] = [
                    {"machine": names.get(one["machine"], one["machine"]), **_present(one, KIND)}
                    for one in kinds
                    if not schema.is_missing(one["ratio"])
                ]
                result.setdefault(key, known)["studies"].append(study.name)
    return list(result.values())


def kind_names(sources: Sources) -> dict[str, str]:
    """Return the short name of each kind of machine of the accepted runs."""
    return runs.short_names({run["machine"] for run in sources.reference.context.get("runs", [])})


def _is_of(data: Dataset, study: Study, row: Row) -> bool:
    """Return whether a study covers a comparison: by its frameworks if native, else by its programs."""
    quantity, subject = row["quantity"], row["subject"]
    if quantity in _NATIVE:
        return study.has_cell(subject, row["workload"], row.get("device", CPU))
    if quantity == schema.COLLECTIVES:
        return _belongs(data, "sharding", study)
    device = row.get("device", "")
    is_covered = row.get("compiler") in study.compilers if device == CPU else device in ("", *study.targets)
    return is_covered and subject in study.programs


def _rounds(data: Dataset) -> dict[tuple, list]:
    """Return the ratios of each comparison by round and, in the reference, by run."""
    result: dict[tuple, list] = {}
    for row in records(data.table("rounds"), (*schema.COMPARISON_KEYS, "run", "round", "ratio")):
        if "ratio" in row:
            one = [row.get("run", ""), row.get("round"), shortened(row["ratio"])]
            result.setdefault(_key(row, schema.COMPARISON_KEYS), []).append(one)
    return result


def _key(row: Row, names: Iterable[str]) -> tuple:
    return tuple(row.get(name, "") for name in names)


def compiled(sources: Sources) -> list[Row]:
    result = []
    for data, study in _each(sources):
        divided = _belongs(data, "sharding", study)
        if study.targets or divided:
            table = of_study(study, data.table("programs"))
            table = table[~table["target"].isin(("", CPU)) & (table["devices"].notna() == divided)]
            known = {"study": study.name, **origin_of(sources, data)}
            result += [known | row for row in records(newest(data, study, table), COMPILED)]
    return result


def values(sources: Sources) -> list[Row]:
    """Return every program that was compared with expected values; those that are not ok come first."""
    data = sources.checked()
    table = data.table("values").sort_values("status", key=lambda status: status == Status.OK, kind="stable")
    return [origin_of(sources, data) | row for row in records(table, table)]


def of_one_study(sources: Sources, study: str, name: str) -> list[Row]:
    """Return the rows of a table that one study alone has, in the order of its workloads."""
    if study not in sources.run.config.studies:
        return []
    data = sources.dataset_for(study)
    table = in_order(data.study(study).workloads, data.table(name))
    return [origin_of(sources, data) | row for row in records(table, table)]


def causes(sources: Sources) -> list[Row]:
    """Return the gaps between two programs in one compiler, with their causes as far as they were searched."""
    if COMPILERS not in sources.run.config.studies:
        return []
    data = sources.dataset_for(COMPILERS)
    rows = pd.DataFrame(gaps_of(data, COMPILERS), columns=list(schema.CAUSES))
    return [origin_of(sources, data) | _placed(row) for row in records(rows, schema.CAUSES)]


def memory(sources: Sources) -> list[Row]:
    """Return pairs of programs whose memory was compared, the larger one first, with what makes it differ.

    peaks: the largest buffers at the peak of each program by framework, if the folder has the document.
    """
    config = sources.run.config
    if not config.memory:
        return []
    data = sources.dataset_for(config.memory.study)
    table = data.table("causes")
    rows = []
    for row in records(table[table["subject_bytes"].notna()], schema.CAUSES):
        place = row["compiler"] if row["device"] == CPU else row["device"]
        path = data.measured / Point(place, row["workload"]).path
        programs = documents.read(path)["programs"] if path.exists() else {}
        peaks = {name: program["peak"] for name, program in programs.items()}
        rows.append(origin_of(sources, data) | _placed(row) | {"peaks": peaks})
    return rows


def _placed(row: Row) -> Row:
    """Return a gap with its cause, if one was found, in words."""
    if "count" not in row:
        return row
    words = {"what": difference(row["what"]), "places": places(row["what"], row["count"], row.get("kinds", 1))}
    return row | words


def difference(what: str) -> str:
    """Return what differs in a region, for a reader: the arguments whose layouts differ are weights."""
    return what.replace(LAYOUT, "weight layout")


def places(what: str, count: float, kinds: float = 1) -> str:
    """Return how often a cause occurs. kinds: different shapes of weights, or different operations.

    >>> places(LAYOUT, 60, 3), places("operations", 1), places("operations", 3, 2)
    ('60 weights, same cause', '1 place', '3 places, 2 kinds')
    """
    is_layout = what == LAYOUT
    counted = f"{count:.0f} {'weight' if is_layout else 'place'}"
    if count == 1:
        return counted
    return f"{counted}s, same cause" if is_layout or kinds == 1 else f"{counted}s, {kinds:.0f} kinds"


def records(table: pd.DataFrame, columns: Iterable[str]) -> list[Row]:
    """Return these columns as rows of plain values.

    Missing values are left out, numbers have six digits, and a compiler's message, which can be a whole program, has
    500 characters.
    """
    rows = table[list(columns)]
    if "status_detail" in rows.columns:
        rows = rows.assign(status_detail=rows["status_detail"].str.slice(0, 500))
    return [_present(row, row) for row in rows.to_dict("records")]


def _present(row: Row, names: Iterable[str]) -> Row:
    return {name: _plain(row[name]) for name in names if not _is_absent(row[name])}


def _is_absent(value: object) -> bool:
    return value is None or value == "" or (isinstance(value, float) and not math.isfinite(value))


def _plain(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return int(value) if value.is_integer() and abs(value) < 1e15 else shortened(value, 6)
