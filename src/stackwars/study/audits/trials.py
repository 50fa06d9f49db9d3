"""Trials: disjoint groups of rounds of one pair, judged as the study judges a ratio without moderation; their audits.

A trial has as many rounds as the study measures of its workload on that device, one after the other. Trials of the same
number and device stand for one run: the correction for the number of comparisons counts them. As
`study.results.comparisons` has it, the intervals that decide have one level, and undisturbed series must agree with the
loops in sign.

A trial's variance comes from its own rounds. Variances can be borrowed within one scale only, and each pair has its
own: on one workload, JAX against itself varies several times as much as eager PyTorch against itself. A prior over
the frameworks of a workload makes the intervals of the noisy ones miss twice as often as they state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stackwars.core.ratio import ALPHA, INCONCLUSIVE, LEVEL, POWER, LogRatio, direction
from stackwars.measure import workloads
from stackwars.study.audits.audit_entries import FAIL, PASS, Entry, entry, not_run_entry
from stackwars.study.audits.pairs import MIXED, SAME
from stackwars.study.results import families
from stackwars.study.results.verdicts import DECIDED

FALSE_CLAIMS = 0.05
"""Largest rate of trials of equal sides that claim a difference."""
WORST = 1.2
"""Largest factor between two trials of one ratio: below the factor between the ratios with near and with far cores of
the workloads where the distance decides most (docs/protocol.md)."""
ALL = "all"
Key = tuple[str, str, int]


@dataclass(frozen=True)
class Trial:
    """A trial of a pair. pair: the result of `paired.measure`. number: in the order of time. rounds: their ratios.
    ratio: with the error that gives its 95 % interval, before the correction for the number of comparisons.
    undisturbed: the mean logarithm of the ratios of the series before the loops. level and verdict: what the study
    prints after the correction.
    """

    pair: dict[str, Any]
    number: int
    rounds: list[float]
    ratio: LogRatio
    undisturbed: float
    level: float
    verdict: str

    @property
    def key(self) -> Key:
        return self.pair["device"], self.pair["name"], self.number

    @property
    def excludes_one(self) -> bool:
        """Return whether the 95 % interval, before the correction, excludes 1."""
        return abs(self.ratio.log) > self.ratio.half_width()

    @property
    def claimed(self) -> bool:
        """Return whether the study would claim a difference."""
        return self.verdict in DECIDED

    @property
    def detectable(self) -> float:
        """Return the difference that the study prints as detectable, as a share of 1."""
        return self.ratio.detectable(self.level)

    @property
    def off(self) -> float:
        """Return how far the ratio is from 1, as a share of the smaller side."""
        return math.expm1(abs(self.ratio.log))

    def detection(self) -> dict[str, Any]:
        """Return whether this trial finds its detectable difference at its level, and the least that it would find.

        Both series are multiplied by 1 plus the difference, and must then be over 1.
        """
        needed = max(self.ratio.half_width(self.level) - self.ratio.log, -self.undisturbed)
        return {
            "workload": _workload(self), "detectable": self.detectable,
            "found": math.log1p(self.detectable) > needed, "needed": math.expm1(needed),
        }  # fmt: skip

    def record(self) -> dict[str, Any]:
        """Return what audits.json has of the trial. low, high: the 95 % interval before the correction."""
        names = {name: self.pair[name] for name in ("workload", "device", "subject", "baseline")}
        value, low, high = self.ratio.estimate()
        return {
            **names, "trial": self.number, "ratio": value, "low": low, "high": high, "rounds": self.rounds,
            "level": self.level, "detectable": self.detectable, "verdict": self.verdict,
        }  # fmt: skip


def groups(ratios: Sequence[float], size: int) -> list[list[float]]:
    """Return disjoint groups of so many rounds, in the order of time; the rest belongs to none."""
    return [list(ratios[at : at + size]) for at in range(0, len(ratios) - size + 1, size)]


def trials(pairs: Sequence[dict]) -> list[Trial]:
    """Return every trial of the pairs that has an interval."""
    runs: dict[tuple[int, str], dict[Key, tuple[dict, list[float], list[float]]]] = {}
    for pair in pairs:
        if pair["rounds"] < 2:
            continue
        series = (groups(pair[name], pair["rounds"]) for name in ("ratios", "undisturbed"))
        for number, (ratios, undisturbed) in enumerate(zip(*series, strict=True)):
            key = pair["device"], pair["name"], number
            runs.setdefault((number, pair["device"]), {})[key] = (pair, ratios, undisturbed)
    result = []
    for _, run in sorted(runs.items()):
        ratios = {key: LogRatio.of_rounds(rounds) for key, (_, rounds, _) in run.items()}
        before = {
            key: float(np.log([one for one in series if one is not None]).mean())
            for key, (_, _, series) in run.items()
        }
        level, verdicts = decide(ratios, before)
        result += [
            Trial(pair, key[2], rounds, ratios[key], before[key], level, verdicts[key])
            for key, (pair, rounds, _) in run.items()
        ]
    return result


def decide(ratios: Mapping[Key, LogRatio], undisturbed: Mapping[Key, float]) -> tuple[float, dict[Key, str]]:
    """Return the level of the intervals of one run's ratios and the verdict on each.

    undisturbed: as `Trial.undisturbed`.
    """
    agrees = {key: ratio.log * undisturbed[key] >= 0 for key, ratio in ratios.items()}

    def word(key: Key, level: float) -> str:
        found = direction(ratios[key].estimate(level))
        return found if agrees[key] or found not in DECIDED else INCONCLUSIVE

    def count_decided(level: float) -> int:
        return sum(word(key, level) != INCONCLUSIVE for key in ratios)

    level = families.level(len(ratios), count_decided)
    return level, {key: word(key, level) for key in ratios}


def rate(count: int, total: int) -> dict[str, Any]:
    """Return {"trials", "count", "rate", "low", "high"}, with the exact binomial 95 % interval (Clopper-Pearson)."""
    from scipy import stats  # takes a second to load, and planning a run loads this module

    low, high = stats.binomtest(count, total).proportion_ci(LEVEL, method="exact")
    return {"trials": total, "count": count, "rate": count / total, "low": float(low), "high": float(high)}


def exceeds(found: dict[str, Any], limit: float, level: float = ALPHA) -> bool:
    """Return whether more trials have it than chance explains at this level if the limit is the true rate."""
    from scipy import stats

    return stats.binomtest(found["count"], found["trials"], limit, "greater").pvalue < level


def falls_short(found: dict[str, Any], limit: float, level: float = ALPHA) -> bool:
    """Return whether fewer trials have it than chance explains at this level if the limit is the true rate."""
    from scipy import stats

    return stats.binomtest(found["count"], found["trials"], limit, "less").pvalue < level


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
    FALSE_CLAIMS is the true rate: in all trials, and in those of each framework and of each device, whose levels are
    divided by their number.
    """
    same = _same(trials(found))
    if not same:
        return not_run_entry("aa", "no pair has two rounds to a trial")
    parts = _grouped(same, lambda one: one.pair["subject"]) | _grouped(same, lambda one: one.pair["device"])
    rates = {name: _equal(members) for name, members in parts.items()}
    total = rates[ALL] = _equal(same)
    wrong = [
        f"too many {what} of {name}"
        for name, one in rates.items()
        for what in ("claims", "intervals")
        if exceeds(one[what], FALSE_CLAIMS, ALPHA if name == ALL else ALPHA / len(parts))
    ]
    detail = (
        f"a difference is claimed in {_rate(total['claims'])}; before the correction for the number of comparisons, "
        f"the 95 % interval excludes 1 in {_rate(total['intervals'])}: "
        + ", ".join(
            f"{name} {one['intervals']['count']} of {one['intervals']['trials']}"
            for name, one in rates.items()
            if name != ALL
        )
        + f"; 95th percentile of |ratio - 1| {100 * total['off_95']:.2g} %"
    )
    figures = {"groups": rates, "trials": [trial.record() for trial in same]}
    missed = _grouped([trial for trial in same if trial.excludes_one], _workload)
    worst = {label: max(trial.off for trial in members) for label, members in missed.items()}
    return _entry("aa", wrong, figures, detail, unresolved(worst))


def power(found: Sequence[dict]) -> Entry:
    """Judge the A/A trials, the ratios of each multiplied by 1 plus its printed `detectable`, at the printed level.

    The noise is the study's and the difference is exact. The study states that it finds this difference in POWER of
    the trials. Fewer than chance explains fail, in all trials or in those of a workload on a device, whose levels are
    divided by their number.
    """
    plain = _same(trials(found))
    if not plain:
        return not_run_entry("power", "no pair has two rounds to a trial")
    return power_entry([trial.detection() for trial in plain])


def power_entry(rows: list[dict]) -> Entry:
    """Return the entry of some trials: {workload, detectable, found: whether it is, needed: what would be}."""
    by_workload = _grouped(rows, lambda row: row["workload"])
    shares = {name: _found(members) for name, members in by_workload.items()}
    total = shares[ALL] = _found(rows)
    wrong = [
        f"the detectable difference of {name} is found too seldom"
        for name, one in shares.items()
        if falls_short(one, POWER, ALPHA if name == ALL else ALPHA / len(by_workload))
    ]
    median = {name: float(np.median([row["detectable"] for row in of])) for name, of in by_workload.items()}
    detail = f"the printed detectable difference is found in {_rate(total)}, {100 * POWER:.0f} % expected: " + (
        ", ".join(
            f"{name} (median {_percent(median[name])} %) {shares[name]['count']} of {shares[name]['trials']}"
            for name in by_workload
        )
    )
    missed = {
        name: float(np.quantile([row["needed"] for row in members], POWER))
        for name, members in by_workload.items()
        if shares[name]["rate"] < POWER
    }
    return _entry("power", wrong, {"found": shares, "trials": rows}, detail, unresolved(missed))


def mixed(found: Sequence[dict]) -> Entry:
    """Judge ratios of two frameworks by quotients of two trials of one pair, whose truth is 1."""
    every = [trial for trial in trials(found) if trial.pair["kind"] == MIXED]
    rows = [
        {"name": one.pair["name"], "workload": _workload(one), "ratio": quotient}
        for members in _grouped(every, lambda trial: trial.pair["name"]).values()
        for one, quotient in zip(members[0::2], quotients(members[0::2], members[1::2]), strict=False)
    ]
    if not rows:
        return not_run_entry("mixed", "no pair of two frameworks has two trials")
    result = mixed_entry(rows)
    result["figures"]["trials"] = [trial.record() for trial in every]
    return result


def mixed_entry(rows: list[dict]) -> Entry:
    """Return the entry of some quotients: {name, workload, ratio: a LogRatio}.

    Three things fail: 95 % intervals that contain 1 less often than chance explains; a quotient whose interval does
    not contain 1 even at the level of the worst of them all (Bonferroni); and one that is off by more than WORST,
    however wide its interval is. The first alone lets one quotient of a few be wrong by any amount.
    """
    level = 1 - ALPHA / len(rows)
    named = []
    for row in rows:
        value, low, high = row["ratio"].estimate()
        off = abs(row["ratio"].log)
        named.append({
            "name": row["name"], "workload": row["workload"], "ratio": value, "low": low, "high": high,
            "off": math.expm1(off), "contained": contains(row["ratio"], 1.0),
            "explained": off <= row["ratio"].half_width(level),
        })  # fmt: skip
    agree = rate(sum(row["contained"] for row in named), len(named))
    worst = max(named, key=lambda row: row["off"])
    wrong = ["intervals contain the truth too seldom"] if falls_short(agree, 1 - ALPHA) else []
    wrong += [f"the interval of {row['workload']} is too narrow" for row in named if not row["explained"]]
    wrong += [
        f"{row['workload']} is off by {_percent(row['off'])} %" for row in named if row["off"] > WORST - 1
    ]
    detail = (
        f"the 95 % interval of a quotient of two trials contains 1 in {_rate(agree)}: "
        + ", ".join(
            f"{row['workload']} {row['ratio']:.3f} ({row['low']:.3f} to {row['high']:.3f})" for row in named
        )
        + f"; the worst is off by {_percent(worst['off'])} % ({worst['workload']}), "
        f"{100 * (WORST - 1):.0f} % is allowed"
    )
    bad = [row for row in named if not row["contained"] or not row["explained"] or row["off"] > WORST - 1]
    off = _grouped(bad, lambda row: row["workload"])
    largest = {label: max(row["off"] for row in members) for label, members in off.items()}
    return _entry("mixed", wrong, {"agree": agree, "quotients": named}, detail, unresolved(largest))


def unresolved(differences: Mapping[str, float]) -> str:
    """Return what a failure means for a reader. differences: {workload: the share up to which one run errs}."""
    parts = [f"{_percent(share)} % on {label}" for label, share in differences.items()]
    return f"Differences below {', '.join(parts)} are not resolved in one run." if parts else ""


def _percent(share: float) -> str:
    """Return a share in percent, rounded up to two digits: it bounds an error."""
    percent = 100 * share
    if percent <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(percent)) - 1)
    return f"{math.ceil(percent / unit - 1e-9) * unit:.4g}"


def _same(every: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in every if trial.pair["kind"] == SAME]


def _workload(trial: Trial) -> str:
    title = workloads.load(trial.pair["workload"]).TITLE
    return f"{title} ({trial.pair['device']})"


def _equal(same: Sequence[Trial]) -> dict[str, Any]:
    return {
        "claims": rate(sum(trial.claimed for trial in same), len(same)),
        "intervals": rate(sum(trial.excludes_one for trial in same), len(same)),
        "off_95": float(np.quantile([abs(math.expm1(trial.ratio.log)) for trial in same], 0.95)),
    }


def _found(rows: Sequence[dict]) -> dict[str, Any]:
    return rate(sum(row["found"] for row in rows), len(rows))


def _grouped(every: Sequence, label: Callable[..., str]) -> dict[str, list]:
    result: dict[str, list] = {}
    for one in every:
        result.setdefault(label(one), []).append(one)
    return result


def _rate(found: dict[str, Any]) -> str:
    return (
        f"{found['count']} of {found['trials']} trials ({100 * found['rate']:.0f} %, 95 % interval "
        f"{100 * found['low']:.0f} to {100 * found['high']:.0f} %)"
    )


def _entry(identity: str, wrong: list[str], figures: dict[str, Any], detail: str, consequence: str) -> Entry:
    if wrong:
        detail += f"; wrong: {'; '.join(wrong)}"
    verdict = FAIL if wrong else PASS
    return entry(identity, verdict, {**figures, "wrong": wrong}, detail, consequence)
