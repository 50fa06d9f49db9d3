"""Comparisons of several runs: a row for each kind of machine, and what one more run of that kind is expected to find.

A run is one number, and a kind of machine is a fixed population: value = kind + run. The variance between runs of a
kind is shared by all kinds of a value and moderated within its family (`results.families`) as a multiple of the
variance between rounds, because a value that varies more from round to round varies more from run to run. It is never
under what the rounds explain.

Interleaved ratios are never pooled with others, which estimate something else.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pandas as pd

from stackwars.core.documents import Row
from stackwars.core.ratio import LogRatio
from stackwars.study.results import families, schema
from stackwars.study.results.families import SAME_LEVEL, Prior
from stackwars.study.results.schema import is_missing
from stackwars.study.results.verdicts import NO_DATA

LEAST = 1e-12
"""The least variance that is divided by."""


class RunTable(NamedTuple):
    """A table of one run: its name, the kind of its machine, and the table."""

    run: str
    machine: str
    table: pd.DataFrame


def pool(tables: Sequence[RunTable]) -> pd.DataFrame:
    """Return a row for every comparison that any run has and every kind of machine that has it.

    tables: the oldest run first. `comparisons.add_verdicts` sets intervals and verdicts afterwards. A ratio that cannot
    be pooled (it is exact, of a single round, or of one run of each kind in no family) is as `_newest` says.
    """
    rows = {key: _comparable(every) for key, every in rows_by_key(tables).items()}
    known = {key: [row for row in some if not is_missing(row["error"])] for key, some in rows.items()}
    members = {key: [_log_ratio(row) for row in some] for key, some in known.items() if some}
    found = pool_values(members, _family)
    result = []
    for key, some in rows.items():
        if key not in found:
            result += _newest(some)
            continue
        pairs = list(zip(members[key], known[key], strict=True))
        for kind, pooled in found[key].items():
            values, of_kind = zip(*[pair for pair in pairs if pair[0].kind == kind], strict=True)
            result.append({"machines": len(found[key])} | _columns(pooled, list(values), list(of_kind)))
    return schema.typed(pd.DataFrame(result, columns=list(schema.COMPARISONS)))


def pool_values(
    members: dict[tuple, list[RunValue]], family_of: Callable[[tuple], object] = lambda key: ()
) -> dict[tuple, dict[str, Pooled]]:
    """Return what can be pooled of some values: by key and kind of machine, each over its runs."""
    groups: dict[object, list[list[RunValue]]] = {}
    for key, values in members.items():
        groups.setdefault(family_of(key), []).append(values)
    priors = {family: fit_runs(values) for family, values in groups.items()}
    found = {key: pool_runs(values, priors[family_of(key)]) for key, values in members.items()}
    return {key: kinds for key, kinds in found.items() if kinds}


def rows_by_key(tables: Sequence[RunTable]) -> dict[tuple, list[Row]]:
    """Return, by the columns that identify a comparison, the row of each run that has it, with its run and machine."""
    rows: dict[tuple, list[Row]] = {}
    for run, machine, table in tables:
        for row in table.to_dict("records"):
            key = tuple(row[name] for name in schema.COMPARISON_KEYS)
            rows.setdefault(key, []).append(row | {"run": run, "machine": machine})
    return rows


def _comparable(of_key: list[Row]) -> list[Row]:
    """Return the rows that estimate one thing: those with a ratio, interleaved if any is."""
    if of_key[0]["quantity"] in schema.EXACT:
        return of_key
    timed = [row for row in of_key if not is_missing(row["ratio"])] or of_key
    return [row for row in timed if row["interleaved"] is True] or timed


def _log_ratio(row: Row) -> RunValue:
    return RunValue(row["machine"], math.log(row["ratio"]), row["error"] ** 2, row["rounds"])


def _family(key: tuple) -> tuple:
    return tuple(value for name, value in zip(schema.COMPARISON_KEYS, key, strict=True) if name in SAME_LEVEL)


def _columns(pooled: Pooled, values: list[RunValue], known: list[Row]) -> Row:
    """Return the columns of a ratio pooled over the runs of a kind; columns about a single run stay empty."""
    _, low, high = pooled.next_run.estimate()
    return {
        **{name: known[-1][name] for name in (*schema.COMPARISON_KEYS, "interleaved", "verdict", "machine")},
        **{"ratio": math.exp(pooled.mean.log), "error": pooled.mean.error, "dof": pooled.mean.freedom},
        **{"rounds": sum(value.rounds for value in values), "runs": len(values)},
        **{"predicted_low": low, "predicted_high": high},
        # The share of a margin follows from pooled ratios; the share that is removed, from each run's.
        "share": _mean_of(known, "share") if known[-1]["quantity"] == schema.REMOVAL else None,
        "contended": _any(known, "contended"),
    }


def _mean_of(rows: list[Row], column: str) -> float | None:
    found = [row[column] for row in rows if not is_missing(row[column])]
    return statistics.fmean(found) if found else None


def _any(rows: list[Row], column: str) -> object:
    flags = [row[column] for row in rows if row[column] in (True, False)]
    return any(flags) if flags else None


def _newest(of_key: list[Row]) -> list[Row]:
    """Return the row of the newest run that has a ratio, or else a verdict; counts are of no kind of machine.

    Of CPU time, which few runs have: that of the newest run of each kind.
    """
    known = [row for row in of_key if not is_missing(row["ratio"])]
    newest = (known or [row for row in of_key if row["verdict"] != NO_DATA] or of_key)[-1]
    if newest["quantity"] in schema.EXACT:
        return [newest | {"machine": ""}]
    if newest["quantity"] not in schema.CPU_TIMES:
        return [newest]
    kinds = {row["machine"]: row for row in known or [newest]}
    return [row | {"machines": len(kinds)} for row in kinds.values()]


class RunValue(NamedTuple):
    """One run's estimate of a value: the kind of its machine, and what its rounds say of its variance.

    variance: of the mean of its rounds.
    """

    kind: str
    value: float
    variance: float
    rounds: float


class Pooled(NamedTuple):
    """A value over the runs of a kind of machine, and the prediction of one more run of that kind."""

    mean: LogRatio
    next_run: LogRatio


def fit_runs(members: Sequence[Sequence[RunValue]]) -> Prior | None:
    """Return the prior of a family, of the variance between runs of a kind in units of a round's variance."""
    repeated = [runs for runs in members if _freedom(runs)]
    relative = [_between_runs(runs) / max(_of_a_round(runs), LEAST) for runs in repeated]
    return families.fit_prior(relative, [_freedom(runs) for runs in repeated])


def pool_runs(runs: Sequence[RunValue], prior: Prior | None) -> dict[str, Pooled]:
    """Return a value for each kind of machine, over its runs, which count equally.

    prior: of `fit_runs`. Nothing if neither these runs nor their family have two of one kind.
    """
    freedom, unit = _freedom(runs), max(_of_a_round(runs), LEAST)
    if prior is None and not freedom:
        return {}
    scaled = prior and Prior(prior.variance * unit, prior.dof)
    found = families.shrink(_between_runs(runs) if freedom else 0.0, freedom, scaled)
    variance = max(found.variance, sum(one.variance for one in runs) / len(runs))
    result = {}
    for kind, of_kind in by_kind(runs).items():
        mean, share = statistics.fmean(one.value for one in of_kind), 1 / len(of_kind)
        errors = (math.sqrt(variance * part) for part in (share, 1 + share))
        result[kind] = Pooled(*(LogRatio(mean, error, found.dof) for error in errors))
    return result


def by_kind(runs: Sequence[RunValue]) -> dict[str, list[RunValue]]:
    """Return the runs of each kind of machine."""
    kinds: dict[str, list[RunValue]] = {}
    for one in runs:
        kinds.setdefault(one.kind, []).append(one)
    return kinds


def _freedom(runs: Sequence[RunValue]) -> int:
    return len(runs) - len(by_kind(runs))


def _between_runs(runs: Sequence[RunValue]) -> float:
    """Return the mean square of runs about their kinds."""
    squares = 0.0
    for of_kind in by_kind(runs).values():
        mean = statistics.fmean(one.value for one in of_kind)
        squares += sum((one.value - mean) ** 2 for one in of_kind)
    return squares / _freedom(runs)


def _of_a_round(runs: Sequence[RunValue]) -> float:
    """Return the variance of a single round: the mean over the runs."""
    return statistics.fmean(one.variance * one.rounds for one in runs)
