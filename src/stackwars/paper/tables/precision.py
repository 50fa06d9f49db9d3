"""Table of what the default precision of products changes in bytes."""

from __future__ import annotations

from stackwars.frameworks import title
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.tabular import Float, row, span, table
from stackwars.results.read_compilers import TARGET, target_title
from stackwars.results.verdicts import Finding

AMOUNTS = ("ratio", "temporaries")


def precision_table(findings: list[Finding], origin: str) -> str:
    """A row per workload: each framework's bytes at the default precision over those at the one asked for.

    findings: those of `stackwars.findings.precision`; origin: measured or reference.
    """
    known = [f for f in findings if any(f[amount] is not None for amount in AMOUNTS)]
    frameworks = list(dict.fromkeys(f["framework"] for f in known))
    by_place = {(f["title"], f["framework"]): f for f in known}
    lines = [
        row(
            [
                escape(name),
                *(
                    _number(by_place.get((name, framework), {}).get(amount))
                    for framework in frameworks
                    for amount in AMOUNTS
                ),
            ]
        )
        for name in dict.fromkeys(f["title"] for f in known)
    ]
    where = "the reference" if origin == "reference" else "this run"
    width = 1 + len(AMOUNTS) * max(1, len(frameworks))
    heads = [span(len(AMOUNTS), title(framework)) for framework in frameworks]
    return table(
        Float(
            label="tab:precision",
            caption=f"Products at the Default Precision: Bytes on a {target_title(TARGET)}",
            columns="l" + "r" * (width - 1),
            note="The program with its products at the default precision over the same one with them at the "
            r"highest. HBM: arguments + outputs + temporaries $-$ aliases; Temp.: temporaries. A dash: no "
            f"data. Origin: {escape(origin)}.",
            size=r"\scriptsize",
        ),
        [
            row(["", *(heads or [span(len(AMOUNTS), "")])]),
            row(["Workload", *("{HBM}", "{Temp.}") * max(1, len(frameworks))]),
        ],
        lines or [row([span(width, f"not measured in {where}")])],
    )


def _number(value: float | None) -> str:
    return "---" if value is None else significant(value, 4)
