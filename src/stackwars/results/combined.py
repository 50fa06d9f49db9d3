"""Ratios of several runs combined, with what one more run is expected to find.

Rounds of one run say how well that run knows its ratio, not how far the next run's will be. So the unit is
the run; and where the runs are of several kinds of machine, the kind, for two runs of one machine say as
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
from stackwars.results.runs import Run
from stackwars.results.values import is_missing

RATIO_KEYS = ["workload", "device", "framework", "baseline"]
SPLIT_KEYS = ["workload", "framework", "baseline", "compiler", "device"]
REPLAY_KEYS = ["workload", "framework", "compiler", "device"]
FAMILY = ("device", "compiler")
"""Ratios of one name, device and compiler are a family."""
OF_A_RATIO: dict[str, str] = {
    "{}_error": "standard error of its logarithm",
    "{}_freedom": "degrees of freedom of that error",
    "{}_runs": "runs that it is combined over",
    "{}_machines": "kinds of machine among them",
    "{}_spread": "standard deviation of its logarithm between them (kinds of machine, or runs of one kind)",
    "{}_predicted_low": "lower end of the 95 % prediction interval: where one more run is expected",
    "{}_predicted_high": "upper end",
}
"""The columns that say over how many runs a ratio is combined; of a run alone 1, 1 and nothing."""
_FEWEST = 3
"""Ratios without which a family has no variance of its own to moderate by."""


class RunRatio(NamedTuple):
    """What one run says of a ratio: the kind of its machine, the logarithm and its standard error."""

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
    def freedom(self) -> int:
        """Degrees of freedom of the variance between the units."""
        return len(self.logs) - 1

    @property
    def variance(self) -> float:
        """Variance between the units; only where there are two."""
        return float(np.var(self.logs, ddof=1))


class Family(NamedTuple):
    """The variance between units that the ratios of a family have in common, and how much it is worth."""

    variance: float
    freedom: float


class Combined(NamedTuple):
    """A ratio over several runs; spread, in logarithms, is between its units."""

    ratio: LogRatio
    units: Units
    spread: float
    predicted_low: float
    predicted_high: float


def units(found: Sequence[RunRatio]) -> Units:
    """The kinds of machine of some runs, each the mean of its runs; the runs where there is one kind."""
    kinds: dict[str, list[float]] = {}
    for one in found:
        kinds.setdefault(one.machine, []).append(one.log)
    logs = [float(np.mean(logs)) for logs in kinds.values()]
    within = float(np.mean([one.error**2 for one in found]))
    return Units(
        logs if len(kinds) > 1 else [one.log for one in found], len(found), len(kinds), within
    )


def family(members: Iterable[Units]) -> Family | None:
    """What the ratios of a family say of the variance between units; None of too few.

    Smyth's estimate of a scaled inverse chi-squared prior from the logarithms of the variances, by moments.
    """
    known = [one for one in members if one.freedom]
    if len(known) < _FEWEST:
        return None
    freedom = np.array([one.freedom for one in known], dtype=float)
    variances = np.array([one.variance for one in known])
    # Units that agree by chance to many digits would count for more than they can know.
    variances = np.maximum(variances, 1e-5 * np.median(variances) + 1e-12)
    logs = np.log(variances) - special.digamma(freedom / 2) + np.log(freedom / 2)
    excess = float(np.var(logs, ddof=1) - special.polygamma(1, freedom / 2).mean())
    most = float(freedom.sum())
    if excess <= special.polygamma(1, most / 2):
        return Family(float((freedom * variances).sum() / most), most)
    from scipy import optimize  # takes time to load, and few steps come here

    half = optimize.brentq(lambda x: special.polygamma(1, x) - excess, 1e-3, most / 2)
    prior = math.exp(logs.mean() + special.digamma(half) - math.log(half))
    return Family(prior, 2 * half)


def combine(found: Units, prior: Family | None) -> Combined | None:
    """A ratio over its units; None of one unit in no family.

    The units' mean, unweighted: their errors are of few rounds, and small beside what is between them. Its
    variance is (d0 s0^2 + d s^2) / (d0 + d), and never under that within a run. Prediction interval:
    t s sqrt(1 + 1/k), for another estimate and not another true ratio.
    """
    count, freedom = len(found.logs), found.freedom
    if prior is None and not freedom:
        return None
    parts = [(found.freedom, found.variance)] if freedom else []
    parts += [(prior.freedom, prior.variance)] if prior else []
    freedom = sum(free for free, _ in parts)
    total = max(sum(free * variance for free, variance in parts) / freedom, found.within)
    mean = float(np.mean(found.logs))
    ratio = LogRatio(mean, math.sqrt(total / count), freedom)
    reach = LogRatio(mean, math.sqrt(total * (1 + 1 / count)), freedom).estimate()
    return Combined(ratio, found, math.sqrt(total), reach.low, reach.high)


def over_runs(
    table: pd.DataFrame,
    runs: Iterable[tuple[Run, pd.DataFrame]],
    keys: list[str],
    names: dict[str, bool],
) -> pd.DataFrame:
    """The table with its ratios combined over the runs that have them.

    table: of one run, a row for each combination of the keys. runs: the tables of all. names: of each ratio
    the beginning of its columns, and whether it has a p. A row that no run has stays what it was.
    """
    known = [(run.machine, rows.set_index(keys)) for run, rows in runs]
    everything = dict.fromkeys(key for _, rows in known for key in rows.index)
    made = table.copy()
    for name, has_p in names.items():
        said = {key: _said(known, key, name) for key in everything}
        members = {key: units(found) for key, found in said.items() if found}
        # Of all that the runs have, so that a table of some of it says the same.
        families: dict[tuple, list[Units]] = {}
        for key, one in members.items():
            families.setdefault(_family(key, keys), []).append(one)
        priors = {group: family(of_it) for group, of_it in families.items()}
        for index, row in table.iterrows():
            key = tuple(row[keys])
            found = combine(members[key], priors[_family(key, keys)]) if key in members else None
            for column, value in columns(name, found, has_p).items() if found else ():
                made.loc[index, column] = value
    return made


def _family(key: tuple, keys: list[str]) -> tuple:
    return tuple(value for name, value in zip(keys, key, strict=True) if name in FAMILY)


def _said(known: list[tuple[str, pd.DataFrame]], key: tuple, name: str) -> list[RunRatio]:
    """What each run that has a ratio with an error says of it."""
    rows = [(machine, table.loc[key]) for machine, table in known if key in table.index]
    values = [(m, row.get(f"{name}_ratio"), row.get(f"{name}_error")) for m, row in rows]
    return [
        RunRatio(m, math.log(ratio), error)
        for m, ratio, error in values
        if not is_missing(ratio) and not is_missing(error)
    ]


def columns(name: str, found: Combined, has_p: bool) -> dict[str, float | None]:
    """The columns of a combined ratio, by the beginning of their names."""
    return {
        **of_one_run(name, found.ratio),
        f"{name}_runs": found.units.runs,
        f"{name}_machines": found.units.machines,
        f"{name}_spread": found.spread,
        f"{name}_predicted_low": found.predicted_low,
        f"{name}_predicted_high": found.predicted_high,
        **(
            {f"{name}_p": found.ratio.p(), f"{name}_detectable": found.ratio.detectable()}
            if has_p
            else {}
        ),
    }


def of_one_run(name: str, ratio: LogRatio | None) -> dict[str, float | None]:
    """The same columns of a ratio that one run has measured; nothing where it has not."""
    if ratio is None:
        return {}
    found = ratio.estimate()
    return {
        f"{name}_ratio": found.value,
        f"{name}_ratio_low": found.low,
        f"{name}_ratio_high": found.high,
        f"{name}_error": ratio.error,
        f"{name}_freedom": ratio.freedom,
        f"{name}_runs": 1,
        f"{name}_machines": 1,
    }


def log_ratio(row: pd.Series, name: str) -> LogRatio | None:
    """A ratio of a table, from its columns; None where it has none."""
    ratio, error = row[f"{name}_ratio"], row[f"{name}_error"]
    if is_missing(ratio):
        return None
    if is_missing(error):
        return LogRatio(math.log(ratio), None, None)
    return LogRatio(math.log(ratio), error, row[f"{name}_freedom"])
