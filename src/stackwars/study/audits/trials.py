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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from stackwars.core.ratio import ALPHA, INCONCLUSIVE, LEVEL, POWER, LogRatio, direction
from stackwars.study.audits.audit_entries import FAIL, PASS, WORST, Entry, entry, label, not_run_entry, percent
from stackwars.study.audits.paired import MIXED, SAME
from stackwars.study.results import pooling
from stackwars.study.results.verdicts import DECIDED

FALSE_CLAIMS = 0.05
"""Largest rate of trials of equal sides that claim a difference."""
ALL = "all"


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
    def workload(self) -> str:
        return label(self.pair["workload"], self.pair["device"])

    @property
    def excludes_one(self) -> bool:
        """Return whether the 95 % interval, before the correction, excludes 1."""
        return abs(self.ratio.log) > self.ratio.half_width()

    @property
    def claimed(self) -> bool:
        return self.verdict in DECIDED

    def detection(self) -> dict[str, Any]:
        """Return whether this trial finds its detectable difference at its level, and the least that it would find.

        Both series are multiplied by 1 plus the difference, and must then be over 1.
        """
        needed = max(self.ratio.half_width(self.level) - self.ratio.log, -self.undisturbed)
        detectable = self.ratio.detectable(self.level)
        result = {"detectable": detectable, "found": math.log1p(detectable) > needed}
        return {"workload": self.workload, **result, "needed": math.expm1(needed)}

    def record(self) -> dict[str, Any]:
        """Return what audits.json has of the trial. low, high: the 95 % interval before the correction."""
        names = {name: self.pair[name] for name in ("workload", "device", "subject", "baseline")}
        value, low, high = self.ratio.estimate()
        printed = {"detectable": self.ratio.detectable(self.level), "verdict": self.verdict}
        numbers = {"trial": self.number, "ratio": value, "low": low, "high": high, "rounds": self.rounds}
        return {**names, **numbers, "level": self.level, **printed}


def trials(pairs: Sequence[dict]) -> list[Trial]:
    """Return every trial of the pairs that has an interval; rounds that fill no trial belong to none."""
    runs: dict[tuple[int, str], list[tuple[dict, list[float], LogRatio, float]]] = {}
    for pair in pairs:
        size = pair["rounds"]
        for number in range(len(pair["ratios"]) // size if size > 1 else 0):
            rounds, series = (pair[name][number * size :][:size] for name in ("ratios", "undisturbed"))
            undisturbed = float(np.log([one for one in series if one is not None]).mean())
            of_run = runs.setdefault((number, pair["device"]), [])
            of_run.append((pair, rounds, LogRatio.of_rounds(rounds), undisturbed))
    result = []
    for (number, _), run in sorted(runs.items()):
        ratios = [one[2:] for one in run]

        def count_decided(level: float, ratios: list = ratios) -> int:
            return sum(_verdict(*both, level) != INCONCLUSIVE for both in ratios)

        level = pooling.level(len(run), count_decided)
        result += [
            Trial(pair, number, rounds, *both, level, _verdict(*both, level))
            for (pair, rounds, *_), both in zip(run, ratios, strict=True)
        ]
    return result


def _verdict(ratio: LogRatio, undisturbed: float, level: float) -> str:
    verdict = direction(ratio.estimate(level))
    return INCONCLUSIVE if verdict in DECIDED and ratio.log * undisturbed < 0 else verdict


def rate(count: int, total: int) -> dict[str, Any]:
    """Return {"trials", "count", "rate", "low", "high"}, with the exact binomial 95 % interval (Clopper-Pearson)."""
    low, high = stats.binomtest(count, total).proportion_ci(LEVEL, method="exact")
    return {"trials": total, "count": count, "rate": count / total, "low": float(low), "high": float(high)}


def unlikely(counts: dict[str, Any], limit: float, side: str, level: float = ALPHA) -> bool:
    """Return whether so many trials (side: greater), or so few (less), are unlikely if the limit is the true rate."""
    return stats.binomtest(counts["count"], counts["trials"], limit, side).pvalue < level


def aa(pairs: Sequence[dict]) -> Entry:
    """Judge trials of frameworks against themselves.

    Neither what the study claims nor what 95 % intervals say may differ from 1 in more trials than chance explains if
    FALSE_CLAIMS is the true rate: in all trials, and in those of each framework and of each device, whose levels are
    divided by their number.
    """
    same = [trial for trial in trials(pairs) if trial.pair["kind"] == SAME]
    if not same:
        return not_run_entry("aa", "no pair has two rounds to a trial")
    parts = _grouped(same, lambda one: one.pair["subject"]) | _grouped(same, lambda one: one.pair["device"])
    rates = {name: _equal(members) for name, members in (parts | {ALL: same}).items()}
    wrong = [
        f"too many {what} of {name}"
        for name, one in rates.items()
        for what in ("claims", "intervals")
        if unlikely(one[what], FALSE_CLAIMS, "greater", ALPHA if name == ALL else ALPHA / len(parts))
    ]
    total = rates[ALL]
    counts = {name: rates[name]["intervals"] for name in parts}
    detail = (
        f"a difference is claimed in {_rate(total['claims'])}; before the correction for the number of comparisons, "
        f"the 95 % interval excludes 1 in {_rate(total['intervals'])}: {_counts(counts)}"
        f"; 95th percentile of |ratio - 1| {100 * total['off_95']:.2g} %"
    )
    return _entry("aa", wrong, {"groups": rates, "trials": [trial.record() for trial in same]}, detail)


def power(pairs: Sequence[dict]) -> Entry:
    """Judge the A/A trials, the ratios of each multiplied by 1 plus its printed `detectable`, at the printed level.

    The noise is the study's and the difference is exact. The study states that it finds this difference in POWER of
    the trials. Fewer than chance explains fail, in all trials or in those of a workload on a device, whose levels are
    divided by their number.
    """
    plain = [trial for trial in trials(pairs) if trial.pair["kind"] == SAME]
    if not plain:
        return not_run_entry("power", "no pair has two rounds to a trial")
    return power_entry([trial.detection() for trial in plain])


def power_entry(rows: list[dict]) -> Entry:
    """Return the entry of some trials: {workload, detectable, found: whether it is, needed: what would be}."""
    parts = _grouped(rows, lambda row: row["workload"])
    shares = {
        name: rate(sum(row["found"] for row in members), len(members))
        for name, members in (parts | {ALL: rows}).items()
    }
    wrong = [
        f"the detectable difference of {name} is found too seldom"
        for name, one in shares.items()
        if unlikely(one, POWER, "less", ALPHA if name == ALL else ALPHA / len(parts))
    ]
    medians = {
        name: float(np.median([row["detectable"] for row in members])) for name, members in parts.items()
    }
    counts = {f"{name} (median {percent(median)} %)": shares[name] for name, median in medians.items()}
    detail = (
        f"the printed detectable difference is found in {_rate(shares[ALL])}, {100 * POWER:.0f} % expected: "
        f"{_counts(counts)}"
    )
    return _entry("power", wrong, {"found": shares, "trials": rows}, detail)


def mixed(pairs: Sequence[dict]) -> Entry:
    """Judge ratios of two frameworks by quotients of two trials of one pair, whose truth is 1."""
    mixed_trials = [trial for trial in trials(pairs) if trial.pair["kind"] == MIXED]
    rows = [
        {"name": one.pair["name"], "workload": one.workload, "ratio": one.ratio.plus(other.ratio, others=-1.0)}
        for members in _grouped(mixed_trials, lambda trial: trial.pair["name"]).values()
        for one, other in zip(members[0::2], members[1::2], strict=False)
    ]
    if not rows:
        return not_run_entry("mixed", "no pair of two frameworks has two trials")
    result = mixed_entry(rows)
    result["figures"]["trials"] = [trial.record() for trial in mixed_trials]
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
            "off": math.expm1(off), "contained": off <= row["ratio"].half_width(),
            "explained": off <= row["ratio"].half_width(level),
        })  # fmt: skip
    agree = rate(sum(row["contained"] for row in named), len(named))
    worst = max(named, key=lambda row: row["off"])
    wrong = ["intervals contain the truth too seldom"] if unlikely(agree, 1 - ALPHA, "less") else []
    wrong += [f"the interval of {row['workload']} is too narrow" for row in named if not row["explained"]]
    wrong += [f"{row['workload']} is off by {percent(row['off'])} %" for row in named if row["off"] > WORST - 1]
    quotients = [
        f"{row['workload']} {row['ratio']:.3f} ({row['low']:.3f} to {row['high']:.3f})" for row in named
    ]
    detail = (
        f"the 95 % interval of a quotient of two trials contains 1 in {_rate(agree)}: {', '.join(quotients)}; the "
        f"worst is off by {percent(worst['off'])} % ({worst['workload']}), {100 * (WORST - 1):.0f} % is allowed"
    )
    return _entry("mixed", wrong, {"agree": agree, "quotients": named}, detail)


def _equal(same: Sequence[Trial]) -> dict[str, Any]:
    return {
        "claims": rate(sum(trial.claimed for trial in same), len(same)),
        "intervals": rate(sum(trial.excludes_one for trial in same), len(same)),
        "off_95": float(np.quantile([abs(math.expm1(trial.ratio.log)) for trial in same], 0.95)),
    }


def _grouped(members: Sequence, key: Callable[..., str]) -> dict[str, list]:
    result: dict[str, list] = {}
    for one in members:
        result.setdefault(key(one), []).append(one)
    return result


def _counts(shares: dict[str, dict]) -> str:
    return ", ".join(f"{name} {one['count']} of {one['trials']}" for name, one in shares.items())


def _rate(share: dict[str, Any]) -> str:
    return (
        f"{_counts({'': share}).strip()} trials ({100 * share['rate']:.0f} %, 95 % interval "
        f"{100 * share['low']:.0f} to {100 * share['high']:.0f} %)"
    )


def _entry(identity: str, wrong: list[str], figures: dict[str, Any], detail: str) -> Entry:
    if wrong:
        detail += f"; wrong: {'; '.join(wrong)}"
    return entry(identity, FAIL if wrong else PASS, {**figures, "wrong": wrong}, detail)
