"""Turn the figures of fences, mutants and independent harnesses into verdicts and one sentence each. Pure functions."""

from __future__ import annotations

from stackwars.study.audits.audit_entries import FAIL, PASS, Entry, entry, not_run_entry
from stackwars.study.audits.mutant import HONEST


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
    detail = f"{subject_labels(found)}: after a fence at most {100 * left:.2g} % of a call is left"
    if wrong:
        detail += f"; failed: {'; '.join(wrong)}"
    return entry("fences", FAIL if wrong else PASS, {"by_framework": found}, detail)


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
    return entry("independent", PASS if ok else FAIL, {"by_framework": found}, "ours: " + "; ".join(parts))


def subject_label(one: dict) -> str:
    """Return the audited framework, or the framework and the compiler that replays its program."""
    return f"{one['framework']} in {one['compiler']}" if "compiler" in one else one["framework"]


def subject_labels(found: list[dict]) -> str:
    """Return what was audited on which devices, each once."""
    names = dict.fromkeys(f"{subject_label(one)} on {one['device']}" for one in found)
    return ", ".join(names)
