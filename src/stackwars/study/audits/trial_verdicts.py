"""Judge the audits that are made of trials of pairs. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stackwars.core.ratio import ALPHA, LogRatio
from stackwars.study.audits.audit_entries import FAIL, PASS, Entry, entry, not_run_entry
from stackwars.study.audits.pairs import MIXED, SAME
from stackwars.study.audits.trials import Trial, contains, exceeds, falls_short, quotients, rate, trials

FALSE_CLAIMS = 0.05
"""Largest rate of trials of equal sides that claim a difference."""
FOUND = {5: 0.95, 3: 0.8}
"""{percent of difference: the least share of trials that must find it}."""
ALL = "all"


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
