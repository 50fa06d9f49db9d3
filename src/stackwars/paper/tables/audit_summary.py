"""The audits as a table of the paper."""

from __future__ import annotations

from typing import Any

from stackwars.audits.audit_entries import NOT_RUN
from stackwars.paper.latex import escape
from stackwars.paper.tables.tabular import Float, row, table


def audits_table(audits: list[dict[str, Any]], origin: str) -> str:
    """Every audit with its aim, its verdict and its figures. origin: measured or reference."""
    lines = [
        row(
            [
                escape(a["title"]),
                escape(a["aim"]),
                escape(a["verdict"]),
                escape(a["detail"]),
                _origin(a, origin),
            ]
        )
        for a in audits
    ]
    ragged = r">{\raggedright\arraybackslash}"
    return table(
        Float(
            label="tab:audits-full",
            caption="Audits of the Harness, with Their Figures",
            columns=rf"l{ragged}p{{0.24\linewidth}}l{ragged}p{{0.47\linewidth}}l",
            note="A verdict is pass where the figures stay within the limits given in the text. "
            "Ratios are our harness's times over the third party's. Origin: measured (this machine) or "
            "reference (the committed run).",
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Audit", "What it should show", "Verdict", "Figures", "Origin"])],
        lines,
    )


def brief_audits_table(audits: list[dict[str, Any]]) -> str:
    """What each audit tries to show, and whether it did: a column wide."""
    ragged = r">{\raggedright\arraybackslash}"
    return table(
        Float(
            label="tab:audits",
            caption="Attempts to Break the Harness",
            columns=rf"l{ragged}p{{0.6\linewidth}}l",
            note=r"Figures: Table~\ref{tab:audits-full}.",
            size=r"\scriptsize",
        ),
        [row(["Audit", "What it should show", "Verdict"])],
        [row([escape(a["title"]), escape(a["aim"]), escape(a["verdict"])]) for a in audits],
    )


def _origin(entry: dict[str, Any], origin: str) -> str:
    return "---" if entry["verdict"] == NOT_RUN else escape(origin)
