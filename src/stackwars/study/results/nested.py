"""The nested model of one quantity: kinds of machine, runs of a kind, rounds of a run.

value = mean + kind + run + round. Each level has a mean square: of rounds about their run, of runs about their kind, of
kinds about their mean. There are few of each and many values, so each is moderated within its family
(`results.moderation`); that of runs as a multiple of that of rounds, because what varies more from round to
round varies more from run to run. The components are differences of mean squares (Searle, Casella & McCulloch,
Variance Components, 1992, ch. 3), and sums of them have the degrees of freedom of Satterthwaite, Biometrics Bull. 2
(1946).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stackwars.core.ratio import LogRatio
from stackwars.study.results import moderation
from stackwars.study.results.moderation import Prior


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
    """The priors of a family: of the variance of runs of a kind, in units of that of a round, and of kinds."""

    run: Prior | None
    kind: Prior | None


class Pooled(NamedTuple):
    """A value over the kinds of machine measured, and the prediction of one more run, of any kind."""

    mean: LogRatio
    next_run: LogRatio


def fit(members: Sequence[Sequence[RunValue]]) -> Model:
    """Return the model of a family from the runs of each member."""
    repeated = [runs for runs in members if _freedom(runs)]
    several = [kinds for kinds in map(by_kind, members) if len(kinds) > 1]
    relative = [_of_runs(runs) / max(_of_a_round(runs), 1e-12) for runs in repeated]
    return Model(
        moderation.fit(relative, [_freedom(runs) for runs in repeated]),
        moderation.fit([_of_kinds(kinds) for kinds in several], [len(kinds) - 1 for kinds in several]),
    )


def pool(runs: Sequence[RunValue], model: Model) -> Pooled | None:
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
    found = moderation.shrink(_of_runs(runs) if freedom else 0.0, freedom, prior)
    return Prior(max(found.variance, _within(runs)), found.dof)


def _kind_variance(kinds: list[list[RunValue]], model: Model) -> Prior | None:
    if len(kinds) == 1:
        return model.kind
    return moderation.shrink(_of_kinds(kinds), len(kinds) - 1, model.kind)


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
