"""Table of the lecture's ratios on a GPU beside ours."""

from __future__ import annotations

from stackwars.frameworks import title
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.rows import interval
from stackwars.paper.tables.tabular import Float, row, span, table
from stackwars.results.verdicts import Finding


def lecture_table(findings: list[Finding]) -> str:
    """A row for each of the lecture's pairs; findings: those of `stackwars.findings.lecture`."""
    lines, previous = [], None
    for one in findings:
        ours = "---" if one["ratio"] is None else significant(one["ratio"])
        lines.append(
            row(
                [
                    escape(one["title"]) if one["title"] != previous else "",
                    escape(f"{title(one['framework'])} / {title(one['other'])}"),
                    significant(one["published_ratio"]),
                    f"{ours} {interval(one['low'], one['high'])}",
                    escape(one["verdict"]),
                ]
            )
        )
        previous = one["title"]
    return table(
        Float(
            label="tab:lecture",
            caption="A Lecture's Stacks on a GPU, beside Ours on a CPU",
            columns="llrll",
            note=r"Steady state of the one over the other. The lecture~\cite{lecture} has an A100 and its "
            r"frameworks' default precisions; ours with 95\,\% interval. Only directions are compared: its MLP "
            "has 256 sequences of 1024 positions, which would take a CPU seconds, and ours fewer and shorter "
            "ones (docs/numbers.md). Origin: published, and this build's.",
            size=r"\scriptsize",
        ),
        [row(["Workload", "Stacks", "{Lecture}", "Ours", "Direction"])],
        lines or [row([span(5, "nothing to compare")])],
    )
