"""The verdicts of comparisons.csv, which follow from the ratios of the whole table."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from stackwars import workloads
from stackwars.measure.log_ratio import Comparison, LogRatio, direction, holm, verdict
from stackwars.results import published, schema, verdicts
from stackwars.results.names import generations
from stackwars.results.schema import is_missing
from stackwars.results.verdicts import NO_DATA
from stackwars.setup.device import CPU, ONE_THREAD

Row = dict[str, Any]
"""A row of comparisons.csv; columns may be missing."""


def decide(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with p-values and verdicts, and the rows that compare rows: one core with all cores, and
    two generations of XLA.
    """
    rows = table[~table["quantity"].isin([schema.CORES, schema.REVERSAL])].to_dict("records")
    _correct(rows)
    by_key = {key_of(row): row for row in rows}
    for row in rows:
        if row["quantity"] not in schema.EXACT:
            row |= {"verdict": NO_DATA} if is_missing(row["ratio"]) else _decided(row, by_key)
    rows += [*_cores(rows, by_key), *_reversals(rows)]
    for row in rows:
        workload = workloads.load(row["workload"])
        row |= {"title": workload.TITLE, "kind": workload.KIND}
    return published.compared(schema.table("comparisons", rows))


def key_of(row: Row) -> tuple[str, ...]:
    """Return what identifies a row; columns that it lacks are empty."""
    return tuple(row.get(name, "") for name in schema.COMPARISON_KEYS)


def log_ratio(row: Row) -> LogRatio | None:
    """Return the logarithm of a row's ratio; None if it has none."""
    if is_missing(row.get("ratio")):
        return None
    if is_missing(row["error"]):
        return LogRatio(math.log(row["ratio"]), None, None)
    return LogRatio(math.log(row["ratio"]), row["error"], row["dof"])


def _correct(rows: list[Row]) -> None:
    """Write p, Holm's p and the detectable difference of the times of native calls.

    A family is one stage, table of the paper, device and subject.
    """
    families: dict[tuple, list[Row]] = {}
    for row in rows:
        result = log_ratio(row) if row["quantity"] in schema.STAGES else None
        if result is not None:
            row |= {"p": result.p(), "detectable": result.detectable()}
            table = workloads.load(row["workload"]).TABLE
            families.setdefault((row["quantity"], table, row["device"], row["subject"]), []).append(row)
    for family in families.values():
        for row, p in zip(family, holm([row["p"] for row in family]), strict=True):
            row["p_adjusted"] = p


def _decided(row: Row, by_key: dict[tuple, Row]) -> Row:
    """Return the verdict of a ratio, with the other columns that go with it."""
    quantity, estimate = row["quantity"], log_ratio(row).estimate()
    if quantity == schema.MARGIN:
        return _margin(row, by_key)
    if quantity == schema.CONTROL:
        return _control(row)
    if quantity == schema.SCALING:
        return {"verdict": verdicts.scaling(*(math.log2(row[end]) for end in ("low", "high")))}
    if quantity in schema.STAGES:
        p = None if is_missing(row["p_adjusted"]) else row["p_adjusted"]
        names = ("ratio", "low", "high", "p", "detectable", "error")
        return {"verdict": verdict(Comparison(row["rounds"], *(row[name] for name in names)), p)}
    return {"verdict": direction(estimate)}


def _margin(row: Row, by_key: dict[tuple, Row]) -> Row:
    """Decide which factor does more, in the direction of the native ratio; the program's share of it."""
    calls, replay = (
        by_key.get(key_of({**_where(row), "quantity": quantity}), {})
        for quantity in (schema.NATIVE_CALLS, schema.REPLAY)
    )
    native = log_ratio(calls)
    if native is None:
        return {"verdict": NO_DATA}
    margin, program = log_ratio(row), log_ratio(replay)
    towards = LogRatio(math.copysign(1.0, native.log) * margin.log, margin.error, margin.freedom)
    return {
        "verdict": verdicts.margin(towards.estimate()),
        "native_verdict": direction(native.estimate()),
        "share": program.log / native.log if program and native.log else None,
    }


def _control(row: Row) -> Row:
    """Decide a control, and say how many ms the native call takes more or less than the replay."""
    word = verdicts.control(log_ratio(row).estimate())
    if word not in (verdicts.NATIVE_SLOWER, verdicts.NATIVE_FASTER) or is_missing(row["subject_ms"]):
        return {"verdict": word}
    difference = row["subject_ms"] - row["baseline_ms"]
    side = "more" if difference > 0 else "less"
    return {"verdict": word, "detail": f"the native call takes {abs(difference):.3g} ms {side} than the replay"}


def _where(row: Row) -> Row:
    return {name: row[name] for name in ("workload", "device", "compiler", "subject", "baseline")}


def _cores(rows: list[Row], by_key: dict[tuple, Row]) -> list[Row]:
    """Return whether one core and all cores give the steady ratio one direction."""
    result = []
    for row in rows:
        if (row["quantity"], row["device"]) != (schema.STEADY, ONE_THREAD):
            continue
        every = by_key.get(key_of({**_where(row), "quantity": schema.STEADY, "device": CPU}))
        if every is None:
            continue
        known = NO_DATA not in (row["verdict"], every["verdict"])
        result.append({
            **dict.fromkeys(schema.COMPARISON_KEYS, ""),
            **_where(row),
            "quantity": schema.CORES,
            "ratio": row["ratio"] / every["ratio"] if known else None,
            "verdict": verdicts.same_direction(row["verdict"], every["verdict"]),
        })  # fmt: skip
    return result


def _reversals(rows: list[Row]) -> list[Row]:
    """Return whether the faster program is the slower one in another generation of XLA.

    The newest generation is compared with the oldest.
    """
    replays = [row for row in rows if row["quantity"] == schema.REPLAY]
    order = generations(row["compiler"] for row in replays)
    ends: dict[tuple, dict[str, Row]] = {}
    for row in replays:
        names = tuple(row[name] for name in ("workload", "device", "subject", "baseline"))
        ends.setdefault(names, {})[row["compiler"]] = row
    result = []
    for of_pair in ends.values():
        if len(order) < 2 or not {order[0], order[-1]} <= of_pair.keys():
            continue
        older, newer = of_pair[order[0]], of_pair[order[-1]]
        logs = [log_ratio(row) for row in (newer, older)]
        ratio = logs[0].plus(logs[1], others=-1.0).estimate() if all(logs) else (None, None, None)
        result.append({
            **dict.fromkeys(schema.COMPARISON_KEYS, ""),
            **_where(newer),
            "quantity": schema.REVERSAL,
            "baseline_compiler": older["compiler"],
            **dict(zip(("ratio", "low", "high"), ratio, strict=True)),
            "verdict": verdicts.reversal(older["verdict"], newer["verdict"]),
            "detail": f"{older['verdict']}, then {newer['verdict']}",
        })  # fmt: skip
    return result
