"""Comparisons of several runs pooled, with what one more run is expected to find.

The model is that of `stackwars.results.nested`. Interleaved ratios are never pooled with others, which estimate
something else.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pandas as pd

from stackwars.results import nested, schema
from stackwars.results.nested import Pooled, RunValue
from stackwars.results.schema import is_missing

FAMILY = ("quantity", "device", "compiler", "variant")
"""Ratios that agree in these columns are a family."""
Row = dict[str, object]


class RunTable(NamedTuple):
    """The comparisons of one run: its name, the kind of its machine, and comparisons.csv."""

    run: str
    machine: str
    comparisons: pd.DataFrame


def pool(tables: Sequence[RunTable]) -> pd.DataFrame:
    """Return one row for every comparison that any run has, the ratios with an error over all runs.

    tables: the oldest run first. Intervals and verdicts are not set: that is `deciding.decide`. A ratio that cannot
    be pooled (it is exact, of a single round, or of one run in no family) is that of the newest run that has it.
    """
    rows = {key: _comparable(of_key) for key, of_key in rows_by_key(tables, schema.COMPARISON_KEYS).items()}
    members = {key: values for key, of_key in rows.items() if (values := _values(of_key))}
    found = pool_values(members, _family, _device)
    pooled_rows = []
    for key, of_key in rows.items():
        pooled = found.get(key)
        pooled_rows.append(_columns(pooled, members[key], of_key) if pooled else _newest(of_key))
    return schema.typed(pd.DataFrame(pooled_rows, columns=list(schema.COMPARISONS)))


def pool_values(
    members: dict[tuple, list[RunValue]],
    family_of: Callable[[tuple], object] = lambda key: (),
    device_of: Callable[[tuple], object] = lambda key: (),
) -> dict[tuple, Pooled]:
    """Return what can be pooled of some values, each over its runs, by the model of its family.

    A family in which too few runs are repeated takes the variance between runs of all families of its device.
    """
    families = _models(members, family_of)
    devices = _models(members, device_of)
    found = {}
    for key, values in members.items():
        model = families[family_of(key)]
        model = model._replace(run=model.run or devices[device_of(key)].run)
        found[key] = nested.pool(values, model)
    return {key: pooled for key, pooled in found.items() if pooled}


def _models(
    members: dict[tuple, list[RunValue]], group_of: Callable[[tuple], object]
) -> dict[object, nested.Model]:
    groups: dict[object, list[list[RunValue]]] = {}
    for key, values in members.items():
        groups.setdefault(group_of(key), []).append(values)
    return {group: nested.fit(values) for group, values in groups.items()}


def rows_by_key(tables: Sequence[RunTable], keys: Sequence[str]) -> dict[tuple, list[Row]]:
    """Return, by these columns, the row of each run that has it, with its run and machine."""
    rows: dict[tuple, list[Row]] = {}
    for run, machine, table in tables:
        for row in table.to_dict("records"):
            key = tuple(row[name] for name in keys)
            rows.setdefault(key, []).append(row | {"run": run, "machine": machine})
    return rows


def _comparable(of_key: list[Row]) -> list[Row]:
    """Return the rows that estimate one thing: those with a ratio, interleaved if any is."""
    if of_key[0]["quantity"] in schema.EXACT:
        return of_key
    timed = [row for row in of_key if not is_missing(row["ratio"])] or of_key
    return [row for row in timed if row["interleaved"] is True] or timed


def _values(of_key: list[Row]) -> list[RunValue]:
    return [
        RunValue(row["machine"], math.log(row["ratio"]), row["error"] ** 2, row["rounds"], row["dof"])
        for row in of_key
        if not is_missing(row["ratio"]) and not is_missing(row["error"])
    ]


def _family(key: tuple) -> tuple:
    return tuple(value for name, value in zip(schema.COMPARISON_KEYS, key, strict=True) if name in FAMILY)


def _device(key: tuple) -> object:
    return key[schema.COMPARISON_KEYS.index("device")]


def _columns(pooled: Pooled, values: list[RunValue], of_key: list[Row]) -> Row:
    """Return the columns of a pooled ratio: nothing that one run alone says of it stands beside it."""
    _, low, high = pooled.next_run.estimate()
    known = [row for row in of_key if not is_missing(row["error"])]
    return {
        **{name: known[-1][name] for name in (*schema.COMPARISON_KEYS, "interleaved", "verdict")},
        **{"ratio": math.exp(pooled.mean.log), "error": pooled.mean.error, "dof": pooled.mean.freedom},
        **{"rounds": sum(value.rounds for value in values), "runs": len(values)},
        **{"machines": len(nested.by_kind(values)), "opposite": nested.on_both_sides(values)},
        **{"predicted_low": low, "predicted_high": high},
        # The share of a margin follows from pooled ratios; what is removed, from those of each run.
        "share": _mean(known, "share") if known[-1]["quantity"] == schema.REMOVAL else None,
        "contended": _any(known, "contended"),
    }


def _mean(rows: list[Row], column: str) -> float | None:
    found = [row[column] for row in rows if not is_missing(row[column])]
    return statistics.fmean(found) if found else None


def _any(rows: list[Row], column: str) -> object:
    flags = [row[column] for row in rows if row[column] in (True, False)]
    return any(flags) if flags else None


def _newest(of_key: list[Row]) -> Row:
    """Return the row of the newest run that has a ratio, or else a verdict."""
    known = [row for row in of_key if not is_missing(row["ratio"])]
    return (known or [row for row in of_key if row["verdict"] != "no data"] or of_key)[-1]
