"""The audits as a table of the paper."""

from __future__ import annotations

from typing import Any

from stackwars.paper.latex import escape
from stackwars.paper.tables.tabular import Float, row, table


def audits_table(audits: list[dict[str, Any]], origin: str) -> str:
    """Every audit with its aim, its verdict and its figures. origin: measured, reference, or which run's."""
    lines = [
        row(
            [
                escape(a["title"]),
                escape(a["aim"]),
                escape(a["verdict"]),
                escape(a["detail"]),
            ]
        )
        for a in audits
    ]
    ragged = r">{\raggedright\arraybackslash}"
    return table(
        Float(
            label="tab:audits-full",
            caption="Audits of the Harness, with Their Figures",
            columns=rf"l{ragged}p{{0.24\linewidth}}l{ragged}p{{0.52\linewidth}}",
            note="A verdict is pass where the figures stay within the limits given in the text. "
            "Ratios are our harness's times over the third party's. "
            f"Origin: {escape(origin)}.",
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Audit", "What it should show", "Verdict", "Figures"])],
        lines,
    )


def brief_audits_table(audits: list[dict[str, Any]], origin: str) -> str:
    """What each audit tries to show, and whether it did: a column wide. origin: as of `audits_table`."""
    ragged = r">{\raggedright\arraybackslash}"
    return table(
        Float(
            label="tab:audits",
            caption="Attempts to Break the Harness",
            columns=rf"l{ragged}p{{0.6\linewidth}}l",
            note=rf"Figures: Table~\ref{{tab:audits-full}}. Origin: {escape(origin)}.",
            size=r"\scriptsize",
        ),
        [row(["Audit", "What it should show", "Verdict"])],
        [row([escape(a["title"]), escape(a["aim"]), escape(a["verdict"])]) for a in audits],
    )
