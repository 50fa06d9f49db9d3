"""From what every process of a run shows (`whole_run`) to verdicts and sentences. Pure functions."""

from __future__ import annotations

from stackwars.audits.audit_entries import FAIL, PASS, entry, not_run_entry
from stackwars.audits.verdicts import Entry, percent


def floor(figures: dict) -> Entry:
    """As `whole_run.floors` gives it."""
    if not figures["processes"]:
        return not_run_entry("floor", "no process was measured on a device with a measured peak")
    detail = f"{figures['processes']} processes"
    if figures["closest"] is not None:
        detail += f", the closest at {figures['closest']:.2f} times its floor ({figures['closest_process']})"
    if not figures["ok"]:
        detail += f"; below: {'; '.join(figures['below'][:3])}"
    return entry("floor", PASS if figures["ok"] else FAIL, figures, detail)


def clock(figures: dict) -> Entry:
    """As `whole_run.clocks` gives it."""
    if not figures["processes"]:
        return not_run_entry("clock", "no process was measured")
    detail = (
        f"{figures['processes']} processes report {figures['reported_s']:.0f} s of calls in "
        f"{figures['wall_s']:.0f} s; at most {percent(figures['largest_share'])} of one process"
    )
    if not figures["ok"]:
        detail += f"; wrong: {'; '.join(figures['wrong'][:3])}"
    return entry("clock", PASS if figures["ok"] else FAIL, figures, detail)


def agreement(figures: dict) -> Entry:
    """As `whole_run.agreement` gives it."""
    if not figures["cells"]:
        return not_run_entry("agreement", "there is no pair of cells to compare")
    detail = (
        f"{figures['cells']} cells: the relative L2 error nearest to its limit is {figures['worst']:.1e} "
        f"({figures['worst_cell']}), allowed {figures['limit']:.0e}; every product at {figures['precision']}"
    )
    if not figures["ok"]:
        detail = f"wrong: {'; '.join([*figures['apart'], *figures['other_precision']][:5])}"
    return entry("agreement", PASS if figures["ok"] else FAIL, figures, detail)


def first_run(figures: dict) -> Entry:
    """As `whole_run.first_runs` gives it."""
    if not figures["processes"]:
        return not_run_entry("first_run", "no process was measured")
    detail = (
        f"{figures['processes']} processes: {figures['cache_hits']} cache hits and at least "
        f"{figures['min_compiles']} compilation in the first run"
    )
    if not figures["ok"]:
        detail += f"; not a first run: {'; '.join(figures['not_first'][:5])}"
    return entry("first_run", PASS if figures["ok"] else FAIL, figures, detail)
