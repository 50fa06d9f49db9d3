"""Families of ratios share a variance and a level; runs of one kind of machine are pooled.

Variances of a family. Each ratio has few degrees of freedom. G. K. Smyth, Linear models and empirical Bayes methods,
Stat. Appl. Genet. Mol. Biol. 3:1 (2004): the true variances of a family follow a scaled inverse chi-squared
distribution, whose two parameters are estimated from the logarithms of the observed ones, by moments.

Level of a family. Among many ratios some intervals at 95 % miss the true ratio, and those are the ones that are
reported. Of the intervals that decide, at most 5 % may: Benjamini & Yekutieli, False discovery rate-adjusted multiple
confidence intervals, J. Am. Stat. Assoc. 100 (2005). If R of m decide at the level 1 - 0.05 R / m, all m are printed
at that level; R is the largest such number, as in Benjamini & Hochberg's procedure.

Several runs. A run is one number, and a kind of machine is a fixed population: value = kind + run. The variance
between runs of a kind is shared by all kinds of a value and moderated within its family as a multiple of the variance
between rounds, because a value that varies more from round to round varies more from run to run. It is never under what
the rounds explain. Interleaved ratios are never pooled with others, which estimate something else.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from stackwars.core.documents import Row
from stackwars.core.ratio import ALPHA, LogRatio
from stackwars.study.results import schema
from stackwars.study.results.schema import is_missing
from stackwars.study.results.verdicts import NO_DATA

SAME_VARIANCE = ("quantity", "device", "compiler", "variant")
"""Ratios of a run that agree in these columns share a prior of their variances over rounds."""
SAME_LEVEL = ("quantity", "device")
"""Ratios that agree in these columns share the level of their intervals, and the variance between runs."""
FEWEST_RUNS = 2
"""Runs of a kind without which the next one is not predicted: a single run's variance is borrowed, and too small."""


class Prior(NamedTuple):
    """The variance that a family has in common, and its degrees of freedom."""

    variance: float
    dof: float


def fit_prior(variances: Sequence[float], dofs: Sequence[float]) -> Prior | None:
    """Return the prior of a family from its variances with degrees of freedom; None if there are fewer than three."""
    if len(variances) < 3:
        return None
    observed, dof = np.array(variances, dtype=float), np.array(dofs, dtype=float)
    # Values that agree by chance to many digits would count for more than they can know.
    observed = np.maximum(observed, 1e-3 * np.median(observed) + 1e-12)
    logs = np.log(observed) - special.digamma(dof / 2) + np.log(dof / 2)
    excess = float(np.var(logs, ddof=1) - special.polygamma(1, dof / 2).mean())
    most = float(dof.sum())
    if excess <= special.polygamma(1, most / 2):
        return Prior(float((dof * observed).sum() / most), most)
    from scipy import optimize  # takes time to load, and few steps come here

    half = optimize.brentq(lambda x: special.polygamma(1, x) - excess, 1e-3, most / 2, xtol=1e-12)
    return Prior(math.exp(logs.mean() + special.digamma(half) - math.log(half)), 2 * half)


def shrink(variance: float, dof: float, prior: Prior | None) -> Prior:
    """Return a variance drawn towards its family's, with the degrees of freedom of both."""
    if prior is None:
        return Prior(variance, dof)
    total = dof + prior.dof
    return Prior((dof * variance + prior.dof * prior.variance) / total, total)


def shrink_errors(rows: list[dict], *family: str) -> list[dict]:
    """Return rows with their `error` and `dof` by the variance that their family lends.

    family: the columns in which its rows agree. error: of the mean of `rounds` values; rows without one stay.
    """
    families: dict[tuple, list[dict]] = {}
    for row in rows:
        if not is_missing(row.get("error")):
            families.setdefault(tuple(row.get(name, "") for name in family), []).append(row)
    for members in families.values():
        variances = [row["error"] ** 2 * row["rounds"] for row in members]
        prior = fit_prior(variances, [row["dof"] for row in members])
        for row, variance in zip(members, variances, strict=True):
            moderated = shrink(variance, row["dof"], prior)
            row |= {"error": math.sqrt(moderated.variance / row["rounds"]), "dof": moderated.dof}
    return rows


def level(total: int, count_decided: Callable[[float], int]) -> float:
    """Return the level of the intervals of a family of so many ratios.

    count_decided: returns how many of them decide at a level; not more of them at a higher one.
    """
    decided = total
    while True:
        result = 1 - ALPHA * max(decided, 1) / total
        count = count_decided(result)
        if count >= decided:
            return result
        decided = count


@dataclass(frozen=True)
class RunTable:
    """A table of one run: its name, the kind of its machine, and the table."""

    run: str
    machine: str
    table: pd.DataFrame

    @cached_property
    def rows(self) -> list[tuple[tuple, Row]]:
        """Rows of the table by their keys, with the run and the machine: made once for every pool that has the run."""
        places = {"run": self.run, "machine": self.machine}
        return [(schema.key_of(row), row | places) for row in self.table.to_dict("records")]


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


def pool(tables: Sequence[RunTable]) -> pd.DataFrame:
    """Return a row for every comparison that any run has and every kind of machine that has it.

    tables: the oldest run first. `comparisons.add_verdicts` sets intervals and verdicts afterwards. A ratio that cannot
    be pooled (it is exact, of a single round, or of one run of each kind in no family) follows `_newest`.
    """
    by_key: dict[tuple, list[Row]] = {}
    for table in tables:
        for key, row in table.rows:
            by_key.setdefault(key, []).append(row)
    rows = {key: _comparable(of_key) for key, of_key in by_key.items()}
    known = {key: [row for row in some if not is_missing(row["error"])] for key, some in rows.items()}
    values = {
        key: [
            RunValue(row["machine"], math.log(row["ratio"]), row["error"] ** 2, row["rounds"]) for row in some
        ]
        for key, some in known.items()
    }
    families: dict[tuple, list[list[RunValue]]] = {}
    for key, members in values.items():
        if members:
            families.setdefault(_family(key), []).append(members)
    priors = {family: fit_runs(members) for family, members in families.items()}
    result = []
    for key, some in rows.items():
        pooled_kinds = pool_runs(values[key], priors[_family(key)]) if values[key] else {}
        result += [] if pooled_kinds else _newest(some)
        for kind, pooled in pooled_kinds.items():
            of_kind = [row for row in known[key] if row["machine"] == kind]
            result.append({"machines": len(pooled_kinds)} | _columns(pooled, of_kind))
    return schema.typed(pd.DataFrame(result, columns=list(schema.COMPARISONS)))


def _comparable(of_key: list[Row]) -> list[Row]:
    """Return the rows that estimate one thing: those with a ratio, interleaved if any is."""
    if of_key[0]["quantity"] in schema.EXACT:
        return of_key
    timed = [row for row in of_key if not is_missing(row["ratio"])] or of_key
    return [row for row in timed if row["interleaved"] is True] or timed


def _family(key: tuple) -> tuple:
    return tuple(value for name, value in zip(schema.COMPARISON_KEYS, key, strict=True) if name in SAME_LEVEL)


def _columns(pooled: Pooled, rows: list[Row]) -> Row:
    """Return the columns of a ratio pooled over the runs of a kind; columns about a single run stay empty."""
    _, low, high = pooled.next_run.estimate()
    shares = [row["share"] for row in rows if not is_missing(row["share"])]
    flags = [row["contended"] for row in rows if row["contended"] in (True, False)]
    return {
        **{name: rows[-1][name] for name in (*schema.COMPARISON_KEYS, "interleaved", "verdict", "machine")},
        **{"ratio": math.exp(pooled.mean.log), "error": pooled.mean.error, "dof": pooled.mean.freedom},
        **{"rounds": sum(row["rounds"] for row in rows), "runs": len(rows)},
        **({"predicted_low": low, "predicted_high": high} if len(rows) >= FEWEST_RUNS else {}),
        # The share of a margin follows from pooled ratios; the share that is removed, from each run's.
        "share": statistics.fmean(shares) if shares and rows[-1]["quantity"] == schema.REMOVAL else None,
        "contended": any(flags) if flags else None,
    }


def _newest(of_key: list[Row]) -> list[Row]:
    """Return the row of the newest run that has a ratio, or else a verdict; counts are of no kind of machine.

    CPU time, which few runs have, is from the newest run of each kind.
    """
    known = [row for row in of_key if not is_missing(row["ratio"])]
    newest = (known or [row for row in of_key if row["verdict"] != NO_DATA] or of_key)[-1]
    if newest["quantity"] in schema.EXACT:
        return [newest | {"machine": ""}]
    if newest["quantity"] not in schema.CPU_TIMES:
        return [newest]
    kinds = {row["machine"]: row for row in known or [newest]}
    return [row | {"machines": len(kinds)} for row in kinds.values()]


def fit_runs(members: Sequence[Sequence[RunValue]]) -> Prior | None:
    """Return the prior of a family, of the variance between runs of a kind in units of a round's variance."""
    spreads = [between_runs(runs) for runs in members]
    repeated = [
        (spread, _of_a_round(runs)) for spread, runs in zip(spreads, members, strict=True) if spread.dof
    ]
    return fit_prior(
        [spread.variance / unit for spread, unit in repeated], [spread.dof for spread, _ in repeated]
    )


def pool_runs(runs: Sequence[RunValue], prior: Prior | None) -> dict[str, Pooled]:
    """Return a value for each kind of machine, over its runs, which count equally.

    prior: of `fit_runs`. Nothing if neither these runs nor their family have two of one kind.
    """
    spread = between_runs(runs)
    if prior is None and not spread.dof:
        return {}
    shrunk = shrink(*spread, prior and Prior(prior.variance * _of_a_round(runs), prior.dof))
    variance = max(shrunk.variance, sum(one.variance for one in runs) / len(runs))
    result = {}
    for kind, values in by_kind(runs).items():
        errors = (math.sqrt(variance * part) for part in (1 / len(values), 1 + 1 / len(values)))
        result[kind] = Pooled(*(LogRatio(statistics.fmean(values), error, shrunk.dof) for error in errors))
    return result


def by_kind(runs: Sequence[RunValue]) -> dict[str, list[float]]:
    kinds: dict[str, list[float]] = {}
    for one in runs:
        kinds.setdefault(one.kind, []).append(one.value)
    return kinds


def between_runs(runs: Sequence[RunValue]) -> Prior:
    """Return the mean square of runs about their kinds, with its degrees of freedom; 0 if there are none."""
    kinds = by_kind(runs)
    freedom, squares = len(runs) - len(kinds), 0.0
    for values in kinds.values():
        mean = statistics.fmean(values)
        squares += sum((value - mean) ** 2 for value in values)
    return Prior(squares / freedom if freedom else 0.0, freedom)


def _of_a_round(runs: Sequence[RunValue]) -> float:
    """Return the variance of a single round: the mean over the runs."""
    return max(statistics.fmean(one.variance * one.rounds for one in runs), 1e-12)  # is divided by
