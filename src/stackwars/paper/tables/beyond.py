"""Tables of what is not one dense forward pass: form beside form, and training."""

from __future__ import annotations

from stackwars.frameworks import title
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.rows import interval, origins_of
from stackwars.paper.tables.tabular import Float, picked, row, span, table, varying
from stackwars.results.beyond import STAGES
from stackwars.results.verdicts import Finding

HEADS = {"steady": "Steady state", "first": "First run"}


def forms_table(findings: list[Finding], origin: str) -> str:
    """A row for each special form, quantity and framework.

    findings: those of ``form/...``; origin: of this run's numbers.
    """
    known = [f for f in findings if f["id"].startswith("form/")]
    frameworks = list(dict.fromkeys(f["framework"] for f in known))
    forms = list(dict.fromkeys((f["title"], f["other"]) for f in known))
    cells = {(f["title"], f["framework"], f["id"].rpartition("/")[2]): f for f in known}
    lines = [
        row(
            [
                escape(f"{one} / {other}") if stage == STAGES[0] else "",
                HEADS[stage],
                *(_cell(cells.get((one, framework, stage))) for framework in frameworks),
            ]
        )
        for one, other in forms
        for stage in STAGES
    ]
    return table(
        Float(
            label="tab:forms",
            caption="One Function in Two Forms: Time of the One over the Other, in Each Framework",
            columns="ll" + "l" * len(frameworks),
            note=r"With its 95\,\% interval over the rounds of both. A dash: one of the two is not supported, "
            "or was not run beside the other. " + origins_of(known, origin),
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Forms", "", *(f"{{{escape(title(name))}}}" for name in frameworks or [])])],
        lines or [row([span(2, "nothing to compare")])],
    )


def _cell(found: Finding | None) -> str:
    if found is None:
        return "---"
    return f"{significant(found['ratio'])} {interval(found['low'], found['high'])}"


def training_table(findings: list[Finding], origin: str) -> str:
    """A row for each framework of each training workload.

    findings: those of ``losses/...``; origin: of this run's numbers.
    """
    known = [f for f in findings if f["id"].startswith("losses/")]
    rows, previous = [], None
    for one in known:
        rows.append(
            [
                escape(one["title"]) if one["title"] != previous else "",
                escape(title(one["framework"])),
                str(int(one["steps"])),
                significant(one["first"], 4),
                significant(one["last"], 4),
                f"{one['apart']:.1e}",
                escape(one["verdict"]),
            ]
        )
        previous = one["title"]
    heads = ["Workload", "Framework", "{Steps}", "{First}", "{Last}", "{Apart}", "Verdict"]
    kept, same = varying(heads, rows, {2: "steps", 6: "verdict"})
    return table(
        Float(
            label="tab:training",
            caption="Training: Losses from the Same Weights and Batches",
            columns="".join(picked("llrrrrl", kept)),
            note="Apart: the largest relative difference of a step's loss to the baseline's. It agrees where "
            "it is within the bound that rounding allows (docs/numbers.md). "
            + same
            + origins_of(known, origin),
            size=r"\scriptsize",
        ),
        [row(picked(heads, kept))],
        [row(picked(cells, kept)) for cells in rows] or [row([span(7, "nothing was trained")])],
    )
