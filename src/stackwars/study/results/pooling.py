"""Comparisons and effects of several runs pooled; of comparisons, with what one more run is expected to find.

The model is that of `stackwars.study.results.nested`. Interleaved ratios are never pooled with others, which estimate
something else.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from stackwars.core.documents import Row
from stackwars.study.results import nested, schema
from stackwars.study.results.nested import Pooled, RunValue
from stackwars.study.results.schema import is_missing

FAMILY = ("quantity", "device", "compiler", "variant")
"""Ratios that agree in these columns are a family."""


class RunTable(NamedTuple):
    """A table of one run: its name, the kind of its machine, and comparisons.csv or effects.csv."""

    run: str
    machine: str
    table: pd.DataFrame


def pool(tables: Sequence[RunTable]) -> pd.DataFrame:
    """Return one row for every comparison that any run has, the ratios with an error over all runs.

    tables: the oldest run first. `deciding.add_verdicts` sets intervals and verdicts afterwards. A ratio that cannot be
    pooled (it is exact, of a single round, or of one run in no family) is that of the newest run that has it.
    """
    return _pooled(tables, "comparisons", _comparable, _log_ratio, _columns, _newest, _family, _device)


def pool_effects(tables: Sequence[RunTable]) -> pd.DataFrame:
    """Return one row for every effect of a workload; intervals are not set: that is `effects.decided`.

    tables: effects.csv of each run without the means over the workloads, the oldest run first. Blocks of other sizes
    have other effects: the largest block counts, in all runs that have it. Few workloads of the matrix have two runs,
    so all shares are one family, and its runs are those of one kind of machine.
    """
    return _pooled(tables, "effects", _largest_block, _share, _effect, lambda rows: rows[-1])


def _pooled(
    tables: Sequence[RunTable],
    name: str,
    comparable: Callable[[list[Row]], list[Row]],
    value: Callable[[Row], RunValue],
    columns: Callable[[Pooled, list[RunValue], list[Row]], Row],
    newest: Callable[[list[Row]], Row],
    *groups: Callable[[tuple], object],
) -> pd.DataFrame:
    """Return the table of this name with a row for every key that any run has.

    comparable: selects the rows of a key that estimate one thing. value: of a row with an error. columns: of a pooled
    row, from its values and their rows. newest: the row of a key that cannot be pooled. groups: those of `pool_values`.
    """
    by_key = rows_by_key(tables, schema.KEYS[name])
    rows = {key: comparable(every) for key, every in by_key.items()}
    known = {key: [row for row in some if not is_missing(row["error"])] for key, some in rows.items()}
    members = {key: [value(row) for row in some] for key, some in known.items() if some}
    found = pool_values(members, *groups)
    result = [
        columns(found[key], members[key], known[key]) if key in found else newest(some)
        for key, some in rows.items()
    ]
    return schema.typed(pd.DataFrame(result, columns=list(schema.TABLES[name])))


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


def _log_ratio(row: Row) -> RunValue:
    return RunValue(row["machine"], math.log(row["ratio"]), row["error"] ** 2, row["rounds"], row["dof"])


def _family(key: tuple) -> tuple:
    return tuple(value for name, value in zip(schema.COMPARISON_KEYS, key, strict=True) if name in FAMILY)


def _device(key: tuple) -> object:
    return key[schema.COMPARISON_KEYS.index("device")]


def _columns(pooled: Pooled, values: list[RunValue], known: list[Row]) -> Row:
    """Return the columns of a pooled ratio: nothing that one run alone says of it stands beside it."""
    _, low, high = pooled.next_run.estimate()
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


def _largest_block(of_key: list[Row]) -> list[Row]:
    block = max((row["frontends"] * row["compilers"], row["frontends"]) for row in of_key)
    return [row for row in of_key if (row["frontends"] * row["compilers"], row["frontends"]) == block]


def _share(row: Row) -> RunValue:
    return RunValue("", row["share"], row["error"] ** 2, row["rounds"], row["dof"])


def _effect(pooled: Pooled, values: list[RunValue], known: list[Row]) -> Row:
    return {
        **{name: known[-1][name] for name in (*schema.KEYS["effects"], "frontends", "compilers")},
        **{"share": pooled.mean.log, "error": pooled.mean.error, "dof": pooled.mean.freedom},
        "factor": math.exp(math.sqrt(np.mean([math.log(row["factor"]) ** 2 for row in known]))),
        **{"rounds": sum(value.rounds for value in values), "runs": len(values)},
        **{
            "machines": len({row["machine"] for row in known}),
            "run": known[-1]["run"] if len(values) == 1 else "",
        },
    }
