"""Comparisons and effects of several runs pooled; of comparisons, with what one more run is expected to find.

The model of a quantity is nested: kinds of machine, runs of a kind, rounds of a run.
value = mean + kind + run + round. Each level has a mean square: of rounds about their run, of runs about their kind, of
kinds about their mean. There are few of each and many values, so each is moderated within its family
(`results.families`). The mean square of runs is a multiple of the rounds', because a value that varies more from
round to round varies more from run to run. The components are differences of mean squares (Searle, Casella & McCulloch,
Variance Components, 1992, ch. 3), and sums of them have the degrees of freedom of Satterthwaite, Biometrics Bull. 2
(1946).

Interleaved ratios are never pooled with others, which estimate something else.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from stackwars.core.documents import Row
from stackwars.core.ratio import LogRatio
from stackwars.study.results import families, schema
from stackwars.study.results.families import SAME_VARIANCE, Prior
from stackwars.study.results.schema import is_missing
from stackwars.study.results.verdicts import NO_DATA


class RunTable(NamedTuple):
    """A table of one run: its name, the kind of its machine, and comparisons.csv or effects.csv."""

    run: str
    machine: str
    table: pd.DataFrame


def pool(tables: Sequence[RunTable]) -> pd.DataFrame:
    """Return one row for every comparison that any run has, the ratios with an error over all runs.

    tables: the oldest run first. `comparisons.add_verdicts` sets intervals and verdicts afterwards. A ratio that cannot
    be pooled (it is exact, of a single round, or of one run in no family) is that of the newest run that has it.
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
    row, from its values and their rows. newest: the row of a key that cannot be pooled. groups: for `pool_values`.
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
    by_family = _models(members, family_of)
    devices = _models(members, device_of)
    found = {}
    for key, values in members.items():
        model = by_family[family_of(key)]
        model = model._replace(run=model.run or devices[device_of(key)].run)
        found[key] = pool_runs(values, model)
    return {key: pooled for key, pooled in found.items() if pooled}


def _models(members: dict[tuple, list[RunValue]], group_of: Callable[[tuple], object]) -> dict[object, Model]:
    groups: dict[object, list[list[RunValue]]] = {}
    for key, values in members.items():
        groups.setdefault(group_of(key), []).append(values)
    return {group: fit_model(values) for group, values in groups.items()}


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
    return tuple(
        value for name, value in zip(schema.COMPARISON_KEYS, key, strict=True) if name in SAME_VARIANCE
    )


def _device(key: tuple) -> object:
    return key[schema.COMPARISON_KEYS.index("device")]


def _columns(pooled: Pooled, values: list[RunValue], known: list[Row]) -> Row:
    """Return the columns of a pooled ratio; columns about a single run stay empty."""
    _, low, high = pooled.next_run.estimate()
    return {
        **{name: known[-1][name] for name in (*schema.COMPARISON_KEYS, "interleaved", "verdict")},
        **{"ratio": math.exp(pooled.mean.log), "error": pooled.mean.error, "dof": pooled.mean.freedom},
        **{"rounds": sum(value.rounds for value in values), "runs": len(values)},
        **{"machines": len(by_kind(values)), "opposite": on_both_sides(values)},
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


def _newest(of_key: list[Row]) -> Row:
    """Return the row of the newest run that has a ratio, or else a verdict."""
    known = [row for row in of_key if not is_missing(row["ratio"])]
    return (known or [row for row in of_key if row["verdict"] != NO_DATA] or of_key)[-1]


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


class RunValue(NamedTuple):
    """One run's estimate of a value: the kind of its machine, and what its rounds say of its variance.

    variance: of the mean of its rounds; dof: degrees of freedom of that variance.
    """

    kind: str
    value: float
    variance: float
    rounds: float
    dof: float


class Model(NamedTuple):
    """The priors of a family: the variance of runs of a kind, in units of a round's, and that between kinds."""

    run: Prior | None
    kind: Prior | None


class Pooled(NamedTuple):
    """A value over the kinds of machine measured, and the prediction of one more run, of any kind."""

    mean: LogRatio
    next_run: LogRatio


def fit_model(members: Sequence[Sequence[RunValue]]) -> Model:
    """Return the model of a family from the runs of each member."""
    repeated = [runs for runs in members if _freedom(runs)]
    several = [kinds for kinds in map(by_kind, members) if len(kinds) > 1]
    relative = [_of_runs(runs) / max(_of_a_round(runs), 1e-12) for runs in repeated]
    return Model(
        families.fit_prior(relative, [_freedom(runs) for runs in repeated]),
        families.fit_prior([_of_kinds(kinds) for kinds in several], [len(kinds) - 1 for kinds in several]),
    )


def pool_runs(runs: Sequence[RunValue], model: Model) -> Pooled | None:
    """Return a value over its runs; None of one run in a family that says nothing of other runs.

    The mean is that of the kinds of machine measured, which count equally, as do the runs of a kind: two or three kinds
    say little about all kinds, and a reader's machine is what the next run is predicted for. That run is of any kind,
    with as many rounds as these. A run varies at least as its rounds make it vary.
    """
    kinds = by_kind(runs)
    run, kind = _run_variance(runs, model), _kind_variance(kinds, model)
    if run is None and kind is None:
        return None
    within = run or Prior(_within(runs), sum(one.dof for one in runs))
    share = sum(1 / len(of_kind) for of_kind in kinds) / len(kinds)
    between = max(0.0, kind.variance - within.variance * share) if kind else 0.0
    mean = sum(map(_mean, kinds)) / len(kinds)

    def log_ratio(kind_part: float, run_part: float) -> LogRatio:
        """Return the mean with the error of these numbers of components."""
        if not between:
            return _satterthwaite(mean, [(run_part, within)])
        return _satterthwaite(mean, [(kind_part, kind), (run_part - kind_part * share, within)])

    # With a single run of each kind, runs and kinds cannot be separated: the variance of kinds includes that of runs.
    of_kinds, of_runs = 1 / len(kinds), share / len(kinds)
    return Pooled(log_ratio(0.0 if run else of_kinds, of_runs), log_ratio(1 + of_kinds, 1 + of_runs))


def by_kind(runs: Sequence[RunValue]) -> list[list[RunValue]]:
    """Return the runs of each kind of machine."""
    kinds: dict[str, list[RunValue]] = {}
    for one in runs:
        kinds.setdefault(one.kind, []).append(one)
    return list(kinds.values())


def on_both_sides(runs: Sequence[RunValue]) -> bool:
    """Return whether some kinds of machine have the value above 0 and others below."""
    means = list(map(_mean, by_kind(runs)))
    return min(means) < 0 < max(means)


def _run_variance(runs: Sequence[RunValue], model: Model) -> Prior | None:
    """Return the moderated variance of runs of a kind; None if neither these nor the family have two of one kind."""
    freedom, unit = _freedom(runs), _of_a_round(runs)
    prior = Prior(model.run.variance * unit, model.run.dof) if model.run else None
    if prior is None and not freedom:
        return None
    found = families.shrink(_of_runs(runs) if freedom else 0.0, freedom, prior)
    return Prior(max(found.variance, _within(runs)), found.dof)


def _kind_variance(kinds: list[list[RunValue]], model: Model) -> Prior | None:
    if len(kinds) == 1:
        return model.kind
    return families.shrink(_of_kinds(kinds), len(kinds) - 1, model.kind)


def _satterthwaite(mean: float, parts: list[tuple[float, Prior]]) -> LogRatio:
    terms = [(factor * prior.variance, prior.dof) for factor, prior in parts]
    variance = sum(term for term, _ in terms)
    if variance <= 0:
        return LogRatio(mean, 0.0, min(dof for _, dof in terms))
    return LogRatio(mean, math.sqrt(variance), variance**2 / sum(term**2 / dof for term, dof in terms))


def _freedom(runs: Sequence[RunValue]) -> int:
    return len(runs) - len(by_kind(runs))


def _of_runs(runs: Sequence[RunValue]) -> float:
    """Return the mean square of runs about their kinds."""
    kinds = by_kind(runs)
    squares = sum((one.value - _mean(of_kind)) ** 2 for of_kind in kinds for one in of_kind)
    return squares / (len(runs) - len(kinds))


def _of_kinds(kinds: list[list[RunValue]]) -> float:
    """Return the variance of the means of the kinds."""
    return float(np.var([_mean(of_kind) for of_kind in kinds], ddof=1))


def _of_a_round(runs: Sequence[RunValue]) -> float:
    """Return the variance of a single round: the mean over the runs."""
    return sum(one.variance * one.rounds for one in runs) / len(runs)


def _within(runs: Sequence[RunValue]) -> float:
    """Return the variance of a run that its rounds explain: the mean over the runs."""
    return sum(one.variance for one in runs) / len(runs)


def _mean(runs: Sequence[RunValue]) -> float:
    return sum(one.value for one in runs) / len(runs)
