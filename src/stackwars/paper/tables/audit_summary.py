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
            label="tab:audits",
            caption="Audits of the Harness",
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


def _origin(entry: dict[str, Any], origin: str) -> str:
    return "---" if entry["verdict"] == NOT_RUN else escape(origin)
