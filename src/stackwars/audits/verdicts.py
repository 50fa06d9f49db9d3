"""Turn the figures of each measured audit into its verdict and one sentence. Pure functions."""

from __future__ import annotations

from typing import Any

from stackwars.audits.audit_entries import FAIL, NOT_RUN, PASS, Entry, entry, not_run_entry
from stackwars.audits.mutant import HONEST
from stackwars.audits.trials import CLAIMS, OFF, Trial, false_claims

AA_INTERLEAVED = "interleaved depth scaling"
OF_RUN = "run, "
RUN_ALL = f"{OF_RUN}all"
FOUND = {5: 0.8, 10: 0.9}
"""{percent more work: share of the trials that must find it}."""
ERROR_POINTS = 1.5
"""The estimate of a trial may be off by so many percentage points."""
SWAPPED = 0.02
"""With the labels swapped, the ratio may differ from the inverse by this share."""


def fences(found: list[dict]) -> Entry:
    """Judge what `fences.audit_fences` returns of each framework on each device."""
    if not found:
        return not_run_entry("fences")
    wrong = [
        f"{subject_label(one)} on {one['device']}: {name}"
        for one in found
        for name, ok in one["ok"].items()
        if not ok
    ]
    left = max(max(one["again_ms"], one["fetch_ms"]) / one["call_ms"] for one in found)
    ratios = [[ms / one["depth_scaling_ms"][0] for ms in one["depth_scaling_ms"][1:]] for one in found]
    twice, four_times = ([r[i] for r in ratios] for i in (0, 1))
    detail = (
        f"{subject_labels(found)}: after a fence at most {percent(left)} of a call is left; twice and four "
        f"times the work takes {_range(twice)} and {_range(four_times)} times as long"
    )
    if wrong:
        detail += f"; failed: {'; '.join(wrong)}"
    figures = {"limits": found[0]["limits"], "by_framework": found}
    return entry("fences", FAIL if wrong else PASS, figures, detail)


def mutants(found: list[dict]) -> Entry:
    """Judge what `mutants.audit_mutants` returns of each framework and replay."""
    if not found:
        return not_run_entry("mutants")
    rows = [(one, row) for one in found for row in one["processes"]]
    broken = [(one, row) for one, row in rows if row["mutant"] != HONEST]
    honest = [(one, row) for one, row in rows if row["mutant"] == HONEST]
    missed = [f"{row['mutant']} of {subject_label(one)}" for one, row in broken if not row["rejected_by"]]
    refused = [f"{subject_label(one)}: {row['problems'][0]}" for one, row in honest if row["rejected_by"]]
    detail = (
        f"{subject_labels(found)}: {len(broken) - len(missed)} of {len(broken)} mutants rejected, "
        f"and {len(refused)} of {len(honest)} honest processes"
    )
    if missed or refused:
        detail += f"; wrong: {'; '.join([*missed, *refused])}"
    ok = bool(broken and honest) and not missed and not refused
    return entry("mutants", PASS if ok else FAIL, {"by_framework": found}, detail)


def aa(of_run: list[Trial], interleaved: list[dict]) -> Entry:
    """Judge A/A trials of the run's own rounds, and interleaved ones of each framework and replay (`power`).

    The size of a ratio counts only in interleaved trials, because the paper's steady ratios are interleaved;
    rounds measured one after the other differ more, and only what is claimed of them counts.
    """
    groups = {
        **{
            f"{OF_RUN}{device}": false_claims([t for t in of_run if t.device == device])
            for device in dict.fromkeys(trial.device for trial in of_run)
        },
        RUN_ALL: false_claims(of_run),
        **{f"{AA_INTERLEAVED}, {subject_label(one)}": one["aa"] for one in interleaved},
    }
    groups = {name: figures for name, figures in groups.items() if figures["trials"]}
    if not groups:
        return not_run_entry("aa", "no cell has the four rounds that a trial needs")
    several = len([name for name in groups if name.startswith(OF_RUN)]) > 2
    parts = [
        f"{name}: {f['count']} of {f['trials']} claimed, 95th percentile of |ratio - 1| {percent(f['off_95'])}"
        for name, f in groups.items()
        if several or name != RUN_ALL  # the same as the only device's
    ]
    few = all(f["ok_claims"] for f in groups.values())
    small = all(f["ok_size"] for name, f in groups.items() if name.startswith(AA_INTERLEAVED))
    figures = {
        "limits": {"claims": CLAIMS, "off": OFF},
        "few": few,
        "small": small,
        "groups": groups,
        "claimed": [f"{t.name} on {t.device}" for t in of_run if t.claimed],
        "trials": [_trial(t) for t in of_run],
    }
    return entry("aa", PASS if few and small else FAIL, figures, "; ".join(parts))


def power(found: list[dict]) -> Entry:
    """Judge what `power.audit_power` returns of each framework and replay."""
    sizes = [(one, size) for one in found for size in one["sizes"]]
    if not found:
        return not_run_entry("power")
    if any(not size["trials"] for _, size in sizes):
        rounds = max(one["rounds"] for one in found)
        why = f"{rounds} rounds, and a trial takes {found[0]['group']}"
        return entry("power", NOT_RUN, {"by_framework": found}, why)
    weak = [
        f"{subject_label(one)}, {size['percent']} %: {problem}"
        for one, size in sizes
        for problem in _weaknesses(size)
    ]
    parts = [
        "; ".join(
            f"{size['percent']} % is found in {size['count']} of {size['trials']} trials, estimated at "
            f"most {size['trial_error_points']:.2f} points off"
            for size in one["sizes"]
        )
        for one in found
    ]
    lines = (f"{subject_labels([one])}: {part}" for one, part in zip(found, parts, strict=True))
    detail = "; ".join(lines)
    if weak:
        detail += f"; wrong: {'; '.join(weak)}"
    limits = {"found": FOUND, "points": ERROR_POINTS, "swapped": SWAPPED}
    figures = {"limits": limits, "by_framework": found}
    return entry("power", FAIL if weak else PASS, figures, detail)


def _weaknesses(size: dict) -> list[str]:
    """Return what is wrong with one size of `power.figures`."""
    problems = {
        "not found often enough": size["rate"] < FOUND.get(size["percent"], 0.0),
        "estimate off": size["trial_error_points"] > ERROR_POINTS,
        "not the inverse with the labels swapped": not (
            abs(size["ratio"] * size["swapped_ratio"] - 1) <= SWAPPED
        ),
    }
    return [problem for problem, result in problems.items() if result]


def independent(found: list[dict]) -> Entry:
    """Judge what `independent.audit_independent` returns of each framework."""
    rows = [(one, row) for one in found for row in one["workloads"]]
    if not rows:
        return not_run_entry("independent")
    parts = [
        f"{row['workload']} in {one['framework']} {row['ratio']:.3f} times {row['harness']}'s"
        for one, row in rows
    ]
    ok = all(row["ok"] for _, row in rows)
    figures = {"limits": {"apart": found[0]["limit"]}, "by_framework": found}
    return entry("independent", PASS if ok else FAIL, figures, "ours: " + "; ".join(parts))


def _trial(trial: Trial) -> dict[str, Any]:
    one = trial.comparison
    return {
        "device": trial.device,
        "name": trial.name,
        "ratio": one.ratio,
        "p": one.p,
        "rounds": one.rounds,
    }


def subject_label(one: dict) -> str:
    """Return the audited framework, or the framework and the compiler that replays its program."""
    return f"{one['framework']} in {one['compiler']}" if "compiler" in one else one["framework"]


def subject_labels(found: list[dict]) -> str:
    """Return what was audited on which devices, each once."""
    names = dict.fromkeys(f"{subject_label(one)} on {one['device']}" for one in found)
    return ", ".join(names)


def percent(share: float) -> str:
    """Format a share of 1 as a percentage with two digits."""
    return f"{100 * share:.2g} %"


def _range(values: list[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"
