"""The injected faults as tables of the paper."""

from __future__ import annotations

from typing import Any

from stackwars.audits.fault_entries import NOT_TRIED
from stackwars.measure import machine
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.tabular import (
    Float,
    continued,
    picked,
    row,
    span,
    varying,
)

MOST = 110
"""Characters of what the user was told that are shown."""
HEADS = ["Fault", "Outcome", "{Lost}", "{Wrong}", "Told", "{Time (s)}"]
ROWS = 22
"""Faults on a page."""
NOTE = (
    "Lost: finished processes and compilations gone after the fault or after the recovery; what was "
    "damaged and set aside under its own name counts as kept. Wrong: numbers that frame or paper showed "
    "and that were not those on disk, or not valid. Told: the line by which the user knows, cut after "
    f"{MOST} characters. Time: until the run after the fault had ended."
)


def faults_table(document: dict[str, Any]) -> str:
    """Every fault with its outcome, what was lost and wrongly shown, and what the user was told."""
    faults = document["faults"]
    rows = [_cells(fault) for fault in faults]
    kept, same = varying(HEADS, rows, {1: "outcome", 2: "lost", 3: "wrong"})
    lines = [row(picked(cells, kept)) for cells in rows] or [
        row([span(6, "no fault was injected")])
    ]
    pages = [lines[start : start + ROWS] for start in range(0, len(lines), ROWS)]
    where = machine.described(document["machine"])
    at = f"revision {escape(document['revision'])} on {escape(where)}" if faults else "none"
    ragged = r">{\raggedright\arraybackslash}"
    told = 0.46 + 0.06 * (len(HEADS) - len(kept))  # the room of the columns that went
    columns = [
        rf"{ragged}p{{0.25\linewidth}}",
        *("l", "r", "r"),
        rf"{ragged}p{{{told:.2f}\linewidth}}",
        "r",
    ]
    spec = Float(
        label="tab:faults",
        caption="Injected Faults",
        columns="".join(picked(columns, kept)),
        note=f"{same}{NOTE} Origin: {at}.",
        wide=True,
        size=r"\scriptsize",
    )
    return continued(spec, [row(picked(HEADS, kept))], pages)


def _cells(fault: dict[str, Any]) -> list[str]:
    told = (fault["told"] or fault["why"]).removeprefix("[stackwars]").strip()
    told = told if len(told) <= MOST else told[: MOST - 3] + "..."
    tried = fault["outcome"] != NOT_TRIED
    figures = [str(fault["lost"]), str(fault["wrong"])] if tried else ["---", "---"]
    seconds = significant(fault["seconds"], 2) if tried else "---"
    return [escape(fault["title"]), escape(fault["outcome"]), *figures, escape(told), seconds]
