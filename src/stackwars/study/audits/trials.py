"""Trials: disjoint groups of rounds of one pair, judged as the study judges a ratio of one run, and their audits.

A trial has as many rounds as the study measures of its workload, one after the other. Trials of the same number, of
all pairs, stand for one run: its ratios are a family, whose variance between rounds moderates each ratio's own, and
which the correction for the number of comparisons counts. As `study.results.comparisons` has it, the intervals that
decide have one level, and undisturbed series must agree with the loops in sign.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stackwars.core.ratio import ALPHA, INCONCLUSIVE, LEVEL, SLOWER, LogRatio, direction
from stackwars.study.audits.audit_entries import FAIL, PASS, Entry, entry, not_run_entry
from stackwars.study.audits.pairs import MIXED, SAME
from stackwars.study.results import families
from stackwars.study.results.verdicts import DECIDED

FALSE_CLAIMS = 0.05
"""Largest rate of trials of equal sides that claim a difference."""
FOUND = {5: 0.95, 3: 0.8}
"""{percent of difference: the least share of trials that must find it}."""
ALL = "all"


@dataclass(frozen=True)
class Trial:
    """A trial of a pair. pair: the result of `paired.measure`. ratio: with the error that gives its 95 % interval,
    before the correction for the number of comparisons. verdict: what the study says after it.
    """

    pair: dict[str, Any]
    ratio: LogRatio
    verdict: str

    @property
    def excludes_one(self) -> bool:
        """Return whether the 95 % interval, before the correction, excludes 1."""
        return abs(self.ratio.log) > self.ratio.half_width()

    @property
    def claimed(self) -> bool:
        """Return whether the study would claim a difference."""
        return self.verdict in DECIDED

    @property
    def found(self) -> bool:
        """Return whether the study would say that the subject is slower."""
        return self.verdict == SLOWER


def groups(ratios: Sequence[float], size: int) -> list[list[float]]:
    """Return disjoint groups of so many rounds, in the order of time; the rest belongs to none."""
    return [list(ratios[at : at + size]) for at in range(0, len(ratios) - size + 1, size)]


def trials(pairs: Sequence[dict], factor: float = 1.0) -> list[Trial]:
    """Return every trial of the pairs that has an interval. factor: what every ratio is multiplied by."""
    by_name = {pair["name"]: pair for pair in pairs if pair["rounds"] > 1}
    alternating, undisturbed = (
        {name: groups([factor * one for one in pair[key]], pair["rounds"]) for name, pair in by_name.items()}
        for key in ("ratios", "undisturbed")
    )
    result = []
    for number in range(max(map(len, alternating.values()), default=0)):
        names = [name for name, of_it in alternating.items() if len(of_it) > number]
        ratios = moderated({name: alternating[name][number] for name in names})
        decided = decide(ratios, {name: undisturbed[name][number] for name in names})
        result += [Trial(by_name[name], ratios[name], decided[name]) for name in names]
    return result


def moderated(rounds: Mapping[str, Sequence[float]]) -> dict[str, LogRatio]:
    """Return each ratio of one run from the ratios of its rounds, two at least, with its moderated error."""
    plain = {name: LogRatio.of_rounds(ratios) for name, ratios in rounds.items()}
    rows = [
        {"error": one.error, "dof": one.freedom, "rounds": len(rounds[name])} for name, one in plain.items()
    ]
    return {
        name: LogRatio(one.log, row["error"], row["dof"])
        for (name, one), row in zip(plain.items(), families.shrink_errors(rows), strict=True)
    }


def decide(ratios: Mapping[str, LogRatio], undisturbed: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """Return what the study says of the ratios of one run. undisturbed: the ratios of the series before the loops."""
    agrees = {name: ratio.log * np.log(undisturbed[name]).mean() >= 0 for name, ratio in ratios.items()}

    def word(name: str, level: float) -> str:
        found = direction(ratios[name].estimate(level))
        return found if agrees[name] or found not in DECIDED else INCONCLUSIVE

    def count_decided(level: float) -> int:
        return sum(word(name, level) != INCONCLUSIVE for name in ratios)

    level = families.level(len(ratios), count_decided)
    return {name: word(name, level) for name in ratios}


def rate(count: int, total: int) -> dict[str, Any]:
    """Return {"trials", "count", "rate", "low", "high"}, with the exact binomial 95 % interval (Clopper-Pearson)."""
    from scipy import stats  # takes a second to load, and planning a run loads this module

    low, high = stats.binomtest(count, total).proportion_ci(LEVEL, method="exact")
    return {"trials": total, "count": count, "rate": count / total, "low": float(low), "high": float(high)}


def exceeds(found: dict[str, Any], limit: float, level: float = ALPHA) -> bool:
    """Return whether more trials have it than chance explains at this level if the limit is the true rate."""
    from scipy import stats

    return stats.binomtest(found["count"], found["trials"], limit, "greater").pvalue < level


def falls_short(found: dict[str, Any], limit: float) -> bool:
    """Return whether fewer trials have it than chance explains if the limit is the true rate."""
    from scipy import stats

    return stats.binomtest(found["count"], found["trials"], limit, "less").pvalue < ALPHA


def quotients(numerators: Sequence[Trial], denominators: Sequence[Trial]) -> list[LogRatio]:
    """Return the quotients of trials of other rounds, with the errors of both."""
    both = zip(numerators, denominators, strict=False)
    return [one.ratio.plus(other.ratio, others=-1.0) for one, other in both]


def contains(ratio: LogRatio, truth: float) -> bool:
    """Return whether the 95 % interval contains a ratio."""
    return abs(ratio.log - math.log(truth)) <= ratio.half_width()


def aa(found: Sequence[dict]) -> Entry:
    """Judge trials of frameworks against themselves.

    Neither what the study claims nor what 95 % intervals say may differ from 1 in more trials than chance explains if
    FALSE_CLAIMS is the true rate: in all trials, and in those of each framework, whose levels are divided by the number
    of frameworks.
    """
    same = [trial for trial in trials(found) if trial.pair["kind"] == SAME]
    if not same:
        return not_run_entry("aa", "no pair has two rounds to a trial")
    groups = {name: _equal(of_it) for name, of_it in _by_framework(same).items()}
    total = groups[ALL] = _equal(same)
    wrong = [
        f"too many {what} of {name}"
        for name, one in groups.items()
        for what in ("claims", "intervals")
        if exceeds(one[what], FALSE_CLAIMS, ALPHA if name == ALL else ALPHA / (len(groups) - 1))
    ]
    detail = (
        f"a difference is claimed in {_rate(total['claims'])}; before the correction for the number of comparisons, "
        f"the 95 % interval excludes 1 in {_rate(total['intervals'])}: "
        + ", ".join(
            f"{name} {one['intervals']['count']} of {one['intervals']['trials']}"
            for name, one in groups.items()
            if name != ALL
        )
        + f"; 95th percentile of |ratio - 1| {100 * total['off_95']:.2g} %"
    )
    return _entry("aa", wrong, {"groups": groups}, detail)


def power(found: Sequence[dict]) -> Entry:
    """Judge the A/A trials with every ratio multiplied: the noise of the study, with a difference of arithmetic."""
    same = [pair for pair in found if pair["kind"] == SAME]
    sizes = []
    for percent in FOUND:
        multiplied = trials(same, 1 + percent / 100)
        if not multiplied:
            return not_run_entry("power", "no pair has two rounds to a trial")
        share = rate(sum(one.found for one in multiplied), len(multiplied))
        sizes.append({"percent": percent, "workloads": share})
    return power_entry(sizes)


def power_entry(sizes: list[dict]) -> Entry:
    """Return the entry of {percent, workloads: the rate of trials that find it} of each size of a difference."""
    wrong = [
        f"{size['percent']} % is found too seldom"
        for size in sizes
        if size["workloads"]["rate"] < FOUND[size["percent"]]
    ]
    detail = "; ".join(f"{size['percent']} % is found in {_rate(size['workloads'])}" for size in sizes)
    return _entry("power", wrong, {"sizes": sizes}, detail)


def mixed(found: Sequence[dict]) -> Entry:
    """Judge ratios of two frameworks by quotients of two trials of one pair, whose truth is 1.

    An interval that contains the truth less often than chance explains if it should in 95 % of the quotients fails.
    """
    every = [trial for trial in trials(found) if trial.pair["kind"] == MIXED]
    of_pair = {
        name: [t for t in every if t.pair["name"] == name] for name in {t.pair["name"]: None for t in every}
    }
    rows = [
        _quotient(name, one) for name, of_it in of_pair.items() for one in quotients(of_it[0::2], of_it[1::2])
    ]
    return mixed_entry(rows) if rows else not_run_entry("mixed", "no pair of two frameworks has two trials")


def mixed_entry(rows: list[dict]) -> Entry:
    """Return the entry of some quotients: {name, ratio, low, high, contained: whether the interval contains 1}."""
    agree = rate(sum(row["contained"] for row in rows), len(rows))
    wrong = ["intervals contain the truth too seldom"] if falls_short(agree, 1 - ALPHA) else []
    detail = f"the 95 % interval of a quotient of two trials contains 1 in {_rate(agree)}: " + ", ".join(
        f"{row['name']} {row['ratio']:.3f} ({row['low']:.3f} to {row['high']:.3f})" for row in rows
    )
    return _entry("mixed", wrong, {"agree": agree, "quotients": rows}, detail)


def _quotient(name: str, ratio: LogRatio) -> dict[str, Any]:
    value, low, high = ratio.estimate()
    return {"name": name, "ratio": value, "low": low, "high": high, "contained": contains(ratio, 1.0)}


def _equal(same: Sequence[Trial]) -> dict[str, Any]:
    off = [abs(math.expm1(trial.ratio.log)) for trial in same]
    return {
        "claims": rate(sum(trial.claimed for trial in same), len(same)),
        "intervals": rate(sum(trial.excludes_one for trial in same), len(same)),
        "off_95": float(np.quantile(off, 0.95)),
    }


def _by_framework(every: Sequence[Trial]) -> dict[str, list[Trial]]:
    result: dict[str, list[Trial]] = {}
    for trial in every:
        result.setdefault(trial.pair["subject"], []).append(trial)
    return result


def _rate(found: dict[str, Any]) -> str:
    return (
        f"{found['count']} of {found['trials']} trials ({100 * found['rate']:.0f} %, 95 % interval "
        f"{100 * found['low']:.0f} to {100 * found['high']:.0f} %)"
    )


def _entry(identity: str, wrong: list[str], figures: dict[str, Any], detail: str) -> Entry:
    if wrong:
        detail += f"; wrong: {'; '.join(wrong)}"
    return entry(identity, FAIL if wrong else PASS, {**figures, "wrong": wrong}, detail)
