"""Judge the audits, and write every entry to audits.json: `python -m stackwars.study.audits.report`.

Measurements of the audits come from the files of `--part`, and counts from cells.csv of the run that they belong to,
which refuses what the checks of a process find.

Trials are disjoint groups of rounds of one pair, judged as the study judges a ratio without moderation. A trial has as
many rounds as the study measures of its workload on that device, one after the other. Trials of the same number and
device stand for one run: the correction for the number of comparisons counts them. As `study.results.comparisons` has
it, the intervals that decide have one level, and undisturbed series must agree with the loops in sign.

A trial's variance comes from its own rounds. Variances can be borrowed within one scale only, and each pair has its
own: on one workload, JAX against itself varies several times as much as eager PyTorch against itself. A prior over
the frameworks of a workload makes the intervals of the noisy ones miss twice as often as they state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from stackwars.core import documents, machine
from stackwars.core.outcome import Status
from stackwars.core.ratio import ALPHA, INCONCLUSIVE, LEVEL, POWER, LogRatio, direction
from stackwars.measure.checks import CLOCK, FLOOR, WALL
from stackwars.study import cells
from stackwars.study.audits import audit_entries
from stackwars.study.audits.audit_entries import FAIL, PASS, WORST, Audits, Entry, entry, not_run_entry, percent
from stackwars.study.audits.mutant import HONEST
from stackwars.study.audits.paired import KINDS, MIXED, SAME
from stackwars.study.keys import Config
from stackwars.study.results import pooling, runs, schema
from stackwars.study.results.folder import chosen, parser
from stackwars.study.results.verdicts import DECIDED

PARTS = ("fences", "mutants", "independent", *KINDS)
"""The audits that are measured, each in a folder of this name."""
LISTED = 5
"""Refused cells that a sentence names."""
FALSE_CLAIMS = 0.05
"""Largest rate of trials of equal sides that claim a difference."""
ALL = "all"


def report(config: Config, cells_csv: Path, parts: list[Path], context: dict) -> Audits:
    """Return all audits of a run. parts: files <audit>/<device>/<subject>.json.

    Raises ValueError if a pair was measured on another machine than the run.
    """
    result = {name: [] for name in PARTS}
    for path in parts:
        result[path.parents[1].name].append(documents.read(path))
    pairs = [pair for kind in KINDS for pair in result[kind]]
    expected = machine.described(context["machine"])
    for pair in pairs:
        if (got := machine.described(pair["machine"])) != expected:
            raise ValueError(
                f"{pair['name']}: expected an audit on the machine of the run ({expected}), got one on {got}; fix: "
                "delete the folder audits of the run, and make audits on its machine"
            )
    entries = [
        judge_fences(result["fences"]),
        judge_mutants(result["mutants"]),
        aa(pairs),
        power(pairs),
        mixed(pairs),
        judge_independent(result["independent"]),
        *counts(schema.read(cells_csv), cells.settings(config).matmul_precision),
    ]
    entries.sort(key=lambda one: list(audit_entries.AUDITS).index(one["id"]))
    revisions = sorted({revision for pair in pairs for revision in pair["revisions"]})
    return Audits(entries, runs.identity(context), tuple(revisions), runs.kind(context))


def counts(table: pd.DataFrame, precision: str) -> list[Entry]:
    """Return the audits that cells.csv answers: how many cells each examined, and which it refused.

    precision: the requested one, of every matrix product.
    """
    run = table[
        (table["mode"] == schema.NATIVE) & table["status"].isin([Status.OK, Status.INVALID, Status.WRONG])
    ]
    refused = run["status_detail"].fillna("").astype(str).str.split(":").str[0]
    types = run["dtype"].replace("", None).groupby([run["workload"], run["device"]])
    unlike = (run["status"] == Status.WRONG) | (run["parity_rel_l2"] > run["parity_limit"])
    unlike |= types.transform("nunique") > 1
    unlike |= ~run["precision"].isin([precision.upper(), ""])
    not_first = (run["cache_hits_first"] > 0) | (run["compiles_first"] == 0)
    return [
        _count("floor", run[run["floor_ms"].notna()], refused == FLOOR),
        _count("clock", run, refused.isin([WALL, CLOCK])),
        _count("agreement", run[run["parity_rel_l2"].notna() | unlike], unlike),
        _count("first_run", run[run["compiles_first"].notna()], not_first),
    ]


def _count(identity: str, counted: pd.DataFrame, refused: pd.Series) -> Entry:
    if counted.empty:
        return not_run_entry(identity, "no cell to count")
    names = [
        f"{row.framework} {row.workload} on {row.device}"
        for row in counted[refused.reindex(counted.index)].itertuples()
    ]
    detail = f"{len(counted)} cells, {len(names)} refused"
    if names:
        detail += f": {', '.join(names[:LISTED])}{', ...' if len(names) > LISTED else ''}"
    figures = {"cells": len(counted), "refused": names}
    consequence = f"The numbers of {', '.join(names)} are not usable."
    return entry(identity, FAIL if names else PASS, figures, detail, consequence)


def judge_fences(results: list[dict]) -> Entry:
    """Judge what `fences.audit_fences` returns of each framework on each device."""
    if not results:
        return not_run_entry("fences")
    wrong = [
        f"{subject_label(one)} on {one['device']}: {name}"
        for one in results
        for name, ok in one["ok"].items()
        if not ok
    ]
    left = max(max(one["again_ms"], one["fetch_ms"]) / one["call_ms"] for one in results)
    detail = f"{subject_labels(results)}: after a fence at most {100 * left:.2g} % of a call is left"
    if wrong:
        detail += f"; failed: {'; '.join(wrong)}"
    late = subject_labels([one for one in results if not all(one["ok"].values())])
    consequence = f"Times of {late} can leave out work that is still running."
    return entry("fences", FAIL if wrong else PASS, {"by_framework": results}, detail, consequence)


def judge_mutants(results: list[dict]) -> Entry:
    """Judge what `subjects.audit_mutants` returns of each framework and replay."""
    if not results:
        return not_run_entry("mutants")
    rows = [(one, row) for one in results for row in one["processes"]]
    broken = [(one, row) for one, row in rows if row["mutant"] != HONEST]
    honest = [(one, row) for one, row in rows if row["mutant"] == HONEST]
    missed = [f"{row['mutant']} of {subject_label(one)}" for one, row in broken if not row["rejected_by"]]
    refused = [f"{subject_label(one)}: {row['problems'][0]}" for one, row in honest if row["rejected_by"]]
    detail = (
        f"{subject_labels(results)}: {len(broken) - len(missed)} of {len(broken)} mutants rejected, "
        f"and {len(refused)} of {len(honest)} honest processes"
    )
    if missed or refused:
        detail += f"; wrong: {'; '.join([*missed, *refused])}"
    ok = bool(broken and honest) and not missed and not refused
    consequences = [f"The checks do not notice {', '.join(missed)}."] if missed else []
    consequences += [f"The checks refuse {len(refused)} of {len(honest)} valid processes."] if refused else []
    return entry("mutants", PASS if ok else FAIL, {"by_framework": results}, detail, " ".join(consequences))


def judge_independent(results: list[dict]) -> Entry:
    """Judge the results of `subjects.audit_independent` for each framework."""
    rows = [(one, row) for one in results for row in one["workloads"]]
    if not rows:
        return not_run_entry("independent")
    parts = [
        f"{row['workload']} in {one['framework']} {row['ratio']:.3f} times {row['harness']}'s"
        for one, row in rows
    ]
    apart = [
        f"{row['workload']} in {one['framework']} by {100 * abs(row['ratio'] - 1):.2g} %"
        for one, row in rows
        if not row["ok"]
    ]
    consequence = f"Times are off: {', '.join(apart)}."
    figures = {"by_framework": results}
    return entry("independent", FAIL if apart else PASS, figures, "ours: " + "; ".join(parts), consequence)


def subject_label(one: dict) -> str:
    """Return the audited framework, or the framework and the compiler that replays its program."""
    return f"{one['framework']} in {one['compiler']}" if "compiler" in one else one["framework"]


def subject_labels(results: list[dict]) -> str:
    names = dict.fromkeys(f"{subject_label(one)} on {one['device']}" for one in results)
    return ", ".join(names)


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
        return audit_entries.label(self.pair["workload"], self.pair["device"])

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


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--part", action="append", default=[], type=Path)
    a = arguments.parse_args()
    config, folder = chosen(a)
    context = documents.read(folder["context"])
    audits = report(config, folder["cells"], a.part, context)
    audit_entries.write(audits, folder["audits"])
    for one in audits.entries:
        print(f"[audit] {one['title']}: {one['verdict']}: {one['detail']}")
    print(f"[audit] {audits.state(audits.run)}")


if __name__ == "__main__":
    main()
