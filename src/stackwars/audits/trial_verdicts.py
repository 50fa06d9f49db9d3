"""Judge the audits that are made of trials of pairs, and the estimator. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stackwars.audits import estimator
from stackwars.audits.audit_entries import FAIL, PASS, Entry, entry, not_run_entry
from stackwars.audits.depth_scaling import NAME as DEPTH_SCALING
from stackwars.audits.estimator import Agreement
from stackwars.audits.pairs import LAYERS, MIXED, MORE, SAME, known_ratio
from stackwars.audits.trials import Trial, contains, exceeds, falls_short, quotients, rate, trials
from stackwars.core.ratio import ALPHA, LogRatio

FALSE_CLAIMS = 0.05
"""Largest rate of trials of equal sides that claim a difference."""
FOUND = {5: 0.95, 3: 0.8}
"""{percent more work: the least share of trials that must find it}."""
ERROR_POINTS = 1.5
"""The estimate over all trials of a pair may be off by so many percentage points."""
ALL = "all"


def aa(found: Sequence[dict]) -> Entry:
    """Judge trials of frameworks against themselves, in families of the study's workloads alone.

    Neither what the study claims nor what 95 % intervals say may differ from 1 in more trials than chance explains if
    FALSE_CLAIMS is the true rate: in all trials, and in those of each framework, whose levels are divided by the number
    of frameworks.
    """
    same = [trial for trial in trials(study_pairs(found)) if trial.pair["kind"] == SAME]
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


def study_pairs(found: Sequence[dict]) -> list[dict]:
    """Return the pairs of the study's workloads: those of layers vary less between rounds."""
    return [pair for pair in found if pair["workload"] != DEPTH_SCALING]


def power(found: Sequence[dict]) -> Entry:
    """Judge trials of more layers against fewer, and the A/A trials with every ratio multiplied by as much.

    The first have a real difference, with the noise of one workload; the second have the noise of the study's
    workloads, with a difference of arithmetic.
    """
    more = [trial for trial in trials(found) if trial.pair["kind"] == MORE]
    same = [pair for pair in found if pair["kind"] == SAME]
    sizes = []
    for percent in LAYERS:
        real = [trial for trial in more if trial.pair["percent"] == percent]
        multiplied = trials(same, 1 + percent / 100)
        if not real or not multiplied:
            return not_run_entry("power", "no pair has two rounds to a trial")
        ratio = math.exp(np.mean([trial.ratio.log for trial in real]))
        errors = {name: _error(of_it, percent) for name, of_it in _by_framework(real).items()}
        sizes.append(
            {
                **{"percent": percent, "known_ratio": known_ratio(percent), "ratio": ratio},
                "layers": rate(sum(one.found for one in real), len(real)),
                "workloads": rate(sum(one.found for one in multiplied), len(multiplied)),
                "error_points": errors,
            }
        )
    wrong = [f"{size['percent']} %: {problem}" for size in sizes for problem in _weaknesses(size)]
    detail = "; ".join(
        f"{size['percent']} % is found in {_rate(size['layers'])} of more layers, and in "
        f"{_rate(size['workloads'])} of the study's workloads; {100 * (size['known_ratio'] - 1):.2f} % more layers "
        f"take {100 * (size['ratio'] - 1):.2f} % longer"
        for size in sizes
    )
    return _entry("power", wrong, {"sizes": sizes}, detail)


def _weaknesses(size: dict) -> list[str]:
    limit = FOUND[size["percent"]]
    problems = {
        "found too seldom of layers": size["layers"]["rate"] < limit,
        "found too seldom of the study's workloads": size["workloads"]["rate"] < limit,
        "the estimate is off": any(abs(one) > ERROR_POINTS for one in size["error_points"].values()),
    }
    return [problem for problem, is_so in problems.items() if is_so]


def mixed(found: Sequence[dict]) -> Entry:
    """Judge ratios of two frameworks by quotients of two trials: of equal work, and of more work in one.

    An interval that contains the truth less often than chance explains if it should in 95 % of the quotients fails.
    """
    every = [trial for trial in trials(found) if trial.pair["kind"] == MIXED]
    pairs = {trial.pair["name"]: trial.pair for trial in every}
    of_pair = {name: [trial for trial in every if trial.pair["name"] == name] for name in pairs}
    plain = {pair["workload"]: of_pair[name] for name, pair in pairs.items() if not pair["percent"]}
    equal, more = [], []
    for name, pair in pairs.items():
        others = plain.get(pair["workload"], [])
        if pair["percent"]:
            more += [(name, pair["percent"], one) for one in quotients(of_pair[name], others)]
        else:
            equal += [(name, 0, one) for one in quotients(others[0::2], others[1::2])]
    if not equal:
        return not_run_entry("mixed", "no pair of two frameworks has two trials")
    rows = [_quotient(*one) for one in [*equal, *more]]
    agree = rate(sum(row["contained"] for row in rows), len(rows))
    wrong = ["intervals contain the truth too seldom"] if falls_short(agree, 1 - ALPHA) else []
    detail = (
        f"the 95 % interval of a quotient of two trials contains the truth in {_rate(agree)}: "
        + ", ".join(
            f"{row['name']} {row['ratio']:.3f} ({row['low']:.3f} to {row['high']:.3f}, truth {row['truth']:.3f})"
            for row in rows
        )
    )
    return _entry("mixed", wrong, {"agree": agree, "quotients": rows}, detail)


def _quotient(name: str, percent: int, ratio: LogRatio) -> dict[str, Any]:
    truth = known_ratio(percent) if percent else 1.0
    value, low, high = ratio.estimate()
    contained = contains(ratio, truth)
    return {"name": name, "truth": truth, "ratio": value, "low": low, "high": high, "contained": contained}


def judge_estimator(found: Sequence[dict], brief: Sequence[dict]) -> Entry:
    """Judge the estimator by the agreement of every process of these pairs.

    A framework's mean must be within the limit; in brief pairs, of few processes, its interval must reach the limit.
    """
    many, few = (
        estimator.figures(Agreement(*one) for pair in pairs for one in pair["agreements"])
        for pairs in (found, brief)
    )
    every = [*many, *few]
    if not every:
        return not_run_entry("estimator", "no pair was measured")
    far = [one for one in many if not one["ok"]] + [one for one in few if one["off"]]
    wrong = [f"{one['framework']} is off by more than {100 * estimator.LIMIT:g} %" for one in far]
    workloads = [(one["framework"], *each) for one in every for each in one["workloads"].items()]
    framework, workload, ratio = max(workloads, key=lambda each: abs(math.log(each[2])))
    detail = f"alternating loops over loops in a row: {', '.join(map(_mean, every))}; farthest from 1: {workload} in "
    detail += f"{framework} {ratio:.3f}"
    return _entry("estimator", wrong, {"by_framework": every}, detail)


def _mean(one: dict) -> str:
    interval = "" if one["low"] is None else f" ({one['low']:.3f} to {one['high']:.3f})"
    return f"{one['framework']} {one['value']:.3f}{interval} in {one['processes']} processes"


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


def _error(of_pair: Sequence[Trial], percent: int) -> float:
    """Return by how many percentage points the mean of some trials is off the ratio of the layers."""
    return 100 * (math.exp(np.mean([trial.ratio.log for trial in of_pair])) - known_ratio(percent))


def _rate(found: dict[str, Any]) -> str:
    return (
        f"{found['count']} of {found['trials']} trials ({100 * found['rate']:.0f} %, 95 % interval "
        f"{100 * found['low']:.0f} to {100 * found['high']:.0f} %)"
    )


def _entry(identity: str, wrong: list[str], figures: dict[str, Any], detail: str) -> Entry:
    if wrong:
        detail += f"; wrong: {'; '.join(wrong)}"
    return entry(identity, FAIL if wrong else PASS, {**figures, "wrong": wrong}, detail)
