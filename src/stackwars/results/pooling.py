"""Comparisons of several runs pooled, with what one more run is expected to find.

Rounds of one run say how well that run knows its ratio, not how far the next run's will be. So the unit is
the run; and if the runs are of several kinds of machine, the kind, for two runs of one machine say as
little of another as two rounds of one run say of another run. There are few units and many ratios, so the
variance between units is moderated: each ratio's own is drawn towards that of all ratios of its family
(Smyth, Stat. Appl. Genet. Mol. Biol. 3:1, 2004). The interval of Hartung and Knapp, which statsmodels has
(`combine_effects`), rests on each ratio's own alone: from two kinds it is t(1), 12.7 standard errors wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from stackwars.measure.log_ratio import LogRatio
from stackwars.results import schema
from stackwars.results.schema import is_missing

FAMILY = ("quantity", "device", "compiler", "variant")
"""Ratios that agree in these columns are a family."""
_FEWEST = 3
"""Ratios without which a family has no variance of its own to moderate by."""


class RunRatio(NamedTuple):
    """One run's estimate of a ratio: the kind of its machine, the logarithm and its standard error."""

    machine: str
    log: float
    error: float


class Units(NamedTuple):
    """A ratio's logarithms by unit, and how many runs and kinds of machine they are of.

    within: mean variance of a run's logarithm over its rounds.
    """

    logs: list[float]
    runs: int
    machines: int
    within: float

    @property
    def dof(self) -> int:
        """Degrees of freedom of the variance between the units."""
        return len(self.logs) - 1

    @property
    def variance(self) -> float:
        """Variance between the units; only if there are two."""
        return float(np.var(self.logs, ddof=1))


class Family(NamedTuple):
    """The variance between units that the ratios of a family have in common, and its degrees of freedom."""

    variance: float
    dof: float


def units(found: Sequence[RunRatio]) -> Units:
    """Return the kinds of machine of some runs, each the mean of its runs; the runs if there is one kind."""
    kinds: dict[str, list[float]] = {}
    for one in found:
        kinds.setdefault(one.machine, []).append(one.log)
    logs = [float(np.mean(logs)) for logs in kinds.values()]
    within = float(np.mean([one.error**2 for one in found]))
    return Units(logs if len(kinds) > 1 else [one.log for one in found], len(found), len(kinds), within)


def family(members: Iterable[Units]) -> Family | None:
    """Return what the ratios of a family say of the variance between units; None of too few.

    Smyth's estimate of a scaled inverse chi-squared prior from the logarithms of the variances, by moments.
    """
    known = [one for one in members if one.dof]
    if len(known) < _FEWEST:
        return None
    dof = np.array([one.dof for one in known], dtype=float)
    variances = np.array([one.variance for one in known])
    # Units that agree by chance to many digits would count for more than they can know.
    variances = np.maximum(variances, 1e-5 * np.median(variances) + 1e-12)
    logs = np.log(variances) - special.digamma(dof / 2) + np.log(dof / 2)
    excess = float(np.var(logs, ddof=1) - special.polygamma(1, dof / 2).mean())
    most = float(dof.sum())
    if excess <= special.polygamma(1, most / 2):
        return Family(float((dof * variances).sum() / most), most)
    from scipy import optimize  # takes time to load, and few steps come here

    half = optimize.brentq(lambda x: special.polygamma(1, x) - excess, 1e-3, most / 2)
    prior = math.exp(logs.mean() + special.digamma(half) - math.log(half))
    return Family(prior, 2 * half)


def combine(found: Units, prior: Family | None) -> dict[str, object] | None:
    """Return the columns of comparisons.csv of a ratio over its units; None of one unit in no family.

    The units' mean, unweighted: their errors are of few rounds, and small beside what is between them. Its
    variance is (d0 s0^2 + d s^2) / (d0 + d), and never under that within a run. spread, in logarithms, is between
    units. Prediction interval: t s sqrt(1 + 1/k), for another estimate and not another true ratio.
    """
    count = len(found.logs)
    parts = [(found.dof, found.variance)] if found.dof else []
    parts += [(prior.dof, prior.variance)] if prior else []
    if not parts:
        return None
    dof = sum(free for free, _ in parts)
    total = max(sum(free * variance for free, variance in parts) / dof, found.within)
    mean, error = float(np.mean(found.logs)), math.sqrt(total / count)
    ratio = LogRatio(mean, error, dof).estimate()
    reach = LogRatio(mean, math.sqrt(total * (1 + 1 / count)), dof).estimate()
    return {
        **{"ratio": ratio.value, "low": ratio.low, "high": ratio.high, "error": error, "dof": dof},
        **{"runs": found.runs, "machines": found.machines, "spread": math.sqrt(total)},
        **{"predicted_low": reach.low, "predicted_high": reach.high, "run": ""},
    }


class RunTable(NamedTuple):
    """The comparisons of one run: its name, the kind of its machine, and comparisons.csv."""

    run: str
    machine: str
    comparisons: pd.DataFrame


def pool(tables: Sequence[RunTable]) -> pd.DataFrame:
    """Return one row for every comparison that any run has, the ratios with an error over all runs.

    tables: the oldest run first. Verdicts are not decided: that is `comparisons.decide`. A ratio that cannot be
    pooled (it is exact, of a single round, or of one run in no family) is that of the newest run that has it.
    """
    rows = _rows_by_key(tables)
    members = {key: units(result) for key, of_key in rows.items() if (result := _ratios(of_key))}
    families: dict[tuple, list[Units]] = {}
    for key, one in members.items():
        families.setdefault(_family(key), []).append(one)
    priors = {group: family(of_it) for group, of_it in families.items()}
    pooled_rows = []
    for key, of_key in rows.items():
        pooled = combine(members[key], priors[_family(key)]) if key in members else None
        pooled_rows.append(_newest(of_key) | (pooled or {}))
    return schema.typed(pd.DataFrame(pooled_rows, columns=list(schema.COMPARISONS)))


def _rows_by_key(tables: Sequence[RunTable]) -> dict[tuple, list[tuple[str, dict]]]:
    """Return, for every comparison, what each run has of it: the kind of its machine and the row."""
    rows: dict[tuple, list[tuple[str, dict]]] = {}
    for run, machine, table in tables:
        for row in table.to_dict("records"):
            key = tuple(row[name] for name in schema.COMPARISON_KEYS)
            rows.setdefault(key, []).append((machine, row | {"run": run}))
    return rows


def _ratios(of_key: list[tuple[str, dict]]) -> list[RunRatio]:
    return [
        RunRatio(machine, math.log(row["ratio"]), row["error"])
        for machine, row in of_key
        if not is_missing(row["ratio"]) and not is_missing(row["error"])
    ]


def _family(key: tuple) -> tuple:
    return tuple(value for name, value in zip(schema.COMPARISON_KEYS, key, strict=True) if name in FAMILY)


def _newest(of_key: list[tuple[str, dict]]) -> dict:
    """Return the row of the newest run that has a ratio, or else a verdict; rounds are those of the run with
    most."""
    rows = [row for _, row in of_key]
    known = [row for row in rows if not is_missing(row["ratio"])]
    chosen = (known or [row for row in rows if row["verdict"] != "no data"] or rows)[-1]
    most = max((row["rounds"] for row in rows if not is_missing(row["rounds"])), default=math.nan)
    return {**chosen, "rounds": most}
