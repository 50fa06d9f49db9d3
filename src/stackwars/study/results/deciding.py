"""The intervals and verdicts of comparisons.csv, which follow from the ratios of the whole table.

All intervals of a quantity on a device have one level (`stackwars.study.results.multiplicity`), and they decide.
"""

from __future__ import annotations

import math

import pandas as pd

from stackwars.core.documents import Row
from stackwars.core.ratio import INCONCLUSIVE, LEVEL, LogRatio, direction
from stackwars.measure import workloads
from stackwars.study.results import multiplicity, published, schema, verdicts
from stackwars.study.results.schema import is_missing
from stackwars.study.results.verdicts import DECIDED, NO_DATA, NOT_SEPARATED

SIGNS_DIFFER = "the two estimators differ in sign"
KINDS_DIFFER = "kinds of machine differ in sign"


def add_verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with intervals and verdicts."""
    rows = table.to_dict("records")
    by_key = {key_of(row): row for row in rows}
    families: dict[tuple, list[Row]] = {}
    for row in rows:
        if row["quantity"] not in schema.EXACT:
            families.setdefault(tuple(row[name] for name in multiplicity.FAMILY), []).append(row)
    for family in families.values():
        _decide(family, by_key)
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


def _decide(family: list[Row], by_key: dict[tuple, Row]) -> None:
    """Write the intervals of a family, all at one level, and what they decide."""
    ratios = {number: ratio for number, row in enumerate(family) if (ratio := log_ratio(row))}
    known = {number: ratio for number, ratio in ratios.items() if ratio.error is not None}

    def word(number: int, level: float) -> str:
        return verdict_of(family[number], ratios[number], level, by_key)

    def decided(level: float) -> int:
        return sum(word(number, level) not in (INCONCLUSIVE, NOT_SEPARATED) for number in known)

    level = multiplicity.level(len(known), decided) if known else LEVEL
    for number, row in enumerate(family):
        ratio = ratios.get(number)
        if ratio is None:
            row["verdict"] = NO_DATA
            continue
        row["verdict"] = word(number, level)
        if number in known:
            _, low, high = ratio.estimate(level)
            row |= {"low": low, "high": high, "confidence": level, "detectable": ratio.detectable(level)}
        if row["quantity"] == schema.STEADY and _signs_differ(row, by_key):
            row["detail"] = SIGNS_DIFFER
        elif row.get("opposite") is True and not row["low"] <= 1 <= row["high"]:
            row["detail"] = KINDS_DIFFER
        if row["quantity"] == schema.CONTROL:
            row |= _rest(row)
        if row["quantity"] == schema.MARGIN:
            row |= _of_native(row, by_key)


def verdict_of(row: Row, ratio: LogRatio, level: float, by_key: dict[tuple, Row]) -> str:
    """Return what the interval of a ratio says at a level."""
    quantity = row["quantity"]
    estimate = ratio.estimate(level)
    if quantity == schema.MARGIN:
        native, _ = _factors(row, by_key)
        if native is None:
            return NO_DATA
        towards = LogRatio(math.copysign(1.0, native.log) * ratio.log, ratio.error, ratio.freedom)
        return verdicts.margin(towards.estimate(level))
    if quantity == schema.CONTROL:
        return verdicts.control(estimate)
    if quantity == schema.REMOVAL:
        return verdicts.removal(estimate)
    if quantity == schema.SCALING and estimate.low is not None:
        return verdicts.scaling(math.log2(estimate.low), math.log2(estimate.high))
    found = direction(estimate)
    are_against = row.get("opposite") is True or _signs_differ(row, by_key)
    return INCONCLUSIVE if found in DECIDED and are_against else found


def _signs_differ(row: Row, by_key: dict[tuple, Row]) -> bool:
    """Return whether the undisturbed series of the same processes have their steady ratio on the other side of 1."""
    if row["quantity"] != schema.STEADY:
        return False
    other = log_ratio(by_key.get(key_of({**_where(row), "quantity": schema.UNDISTURBED}), {}))
    return other is not None and other.log * math.log(row["ratio"]) < 0


def _factors(row: Row, by_key: dict[tuple, Row]) -> tuple[LogRatio | None, LogRatio | None]:
    """Return the native ratio that a margin divides, and the replay ratio."""
    found = (
        by_key.get(key_of({**_where(row), "quantity": quantity}), {})
        for quantity in (schema.NATIVE_CALLS, schema.REPLAY)
    )
    native, program = map(log_ratio, found)
    return native, program


def _of_native(row: Row, by_key: dict[tuple, Row]) -> Row:
    """Return the verdict on the native ratio that a margin divides, and the program's share of it."""
    native, program = _factors(row, by_key)
    if native is None:
        return {}
    calls = by_key[key_of({**_where(row), "quantity": schema.NATIVE_CALLS})]
    return {
        "native_verdict": calls["verdict"],
        "share": program.log / native.log if program and native.log else None,
    }


def _rest(row: Row) -> Row:
    """Return how many ms the native call takes more or less than the replay, of a control that does not pass."""
    if row["verdict"] not in (verdicts.NATIVE_SLOWER, verdicts.NATIVE_FASTER) or is_missing(
        row.get("subject_ms")
    ):
        return {}
    difference = row["subject_ms"] - row["baseline_ms"]
    side = "more" if difference > 0 else "less"
    # The tables of accepted runs have this format, with an exponent from 1,000 on.
    return {"detail": f"the native call takes {abs(difference):.3g} ms {side} than the replay"}


def _where(row: Row) -> Row:
    return {name: row[name] for name in ("workload", "device", "compiler", "subject", "baseline")}
