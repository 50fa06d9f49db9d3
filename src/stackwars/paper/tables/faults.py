"""The injected faults as tables of the paper."""

from __future__ import annotations

from typing import Any

from stackwars.audits.fault_entries import NOT_TRIED
from stackwars.measure import machine
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.tabular import Float, row, span, table

MOST = 110
"""Characters of what the user was told that are shown."""
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
    pages = [faults[start : start + ROWS] for start in range(0, len(faults), ROWS)] or [[]]
    where = machine.described(document["machine"])
    at = f"revision {escape(document['revision'])} on {escape(where)}" if faults else "none"
    made = f" Origin: {at}."
    return "\n".join(
        _page(page, f"tab:faults{number or ''}", " (Continued)" if number else "", NOTE + made)
        for number, page in enumerate(pages)
    )


def _page(faults: list[dict[str, Any]], label: str, more: str, note: str) -> str:
    ragged = r">{\raggedright\arraybackslash}"
    return table(
        Float(
            label=label,
            caption=f"Injected Faults{more}",
            columns=rf"{ragged}p{{0.25\linewidth}}lrr{ragged}p{{0.46\linewidth}}r",
            note="" if more else note,
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Fault", "Outcome", "{Lost}", "{Wrong}", "Told", "{Time (s)}"])],
        map(_line, faults) if faults else [row([span(6, "no fault was injected")])],
    )


def _line(fault: dict[str, Any]) -> str:
    told = (fault["told"] or fault["why"]).removeprefix("[stackwars]").strip()
    told = told if len(told) <= MOST else told[: MOST - 3] + "..."
    tried = fault["outcome"] != NOT_TRIED
    figures = [str(fault["lost"]), str(fault["wrong"])] if tried else ["---", "---"]
    seconds = significant(fault["seconds"], 2) if tried else "---"
    return row([escape(fault["title"]), escape(fault["outcome"]), *figures, escape(told), seconds])
