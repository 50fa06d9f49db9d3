"""Tables of what is not one dense forward pass: form beside form, and training."""

from __future__ import annotations

from typing import Any

import pandas

from stackwars.frameworks import title
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.rows import interval, origins_of, whole
from stackwars.paper.tables.tabular import GAP, NO_VALUE, Float, row, span, table
from stackwars.results.beyond import STAGES
from stackwars.results.values import is_missing
from stackwars.results.verdicts import AGREES, DIFFERS, Finding

TRAINING = ("Steps/s", "", "GiB", "Steps", "First", "Last", "Apart", "Bound", "Verdict")
HEADS = {"steady": "Steady state", "first": "First run"}


def forms_table(findings: list[Finding], beyond: pandas.DataFrame, origin: str) -> str:
    """Rows for each special form, a column a framework.

    findings: those of ``form/...``; beyond: beyond.csv; origin: of this run's numbers.
    """
    told = beyond[beyond["graphs"].notna()].set_index(["title", "framework"])
    graphs = {key: _graphs(cell) for key, cell in told.iterrows()}
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
    for place, (one, _) in reversed(list(enumerate(forms, start=1))):
        of = [graphs.get((one, framework), "---") for framework in frameworks]
        lines.insert(place * len(STAGES), row(["", "Graphs; breaks", *of]))
    return table(
        Float(
            label="tab:forms",
            caption="One Function in Two Forms: Time of the One over the Other, in Each Framework",
            columns="ll" + "l" * len(frameworks),
            note=r"With its 95\,\% interval over the rounds of both. A dash: one of the two is not supported, "
            "or was not run beside the other. Graphs: of the special form; breaks: between them, or where "
            "a function is left to Python; not counted in an earlier run. "
            + origins_of(known, origin),
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Forms", "", *(f"{{{escape(title(name))}}}" for name in frameworks or [])])],
        lines or [row([span(2, "nothing to compare")])],
    )


def _graphs(cell: pandas.Series) -> str:
    # Breaks in loops were not counted once; two graphs have one.
    unknown = is_missing(cell["graph_breaks"]) or (cell["graphs"] > 1 and not cell["graph_breaks"])
    return f"{whole(cell['graphs'])}; {'not counted' if unknown else whole(cell['graph_breaks'])}"


def _cell(found: Finding | None) -> str:
    if found is None:
        return "---"
    return f"{significant(found['ratio'])} {interval(found['low'], found['high'])}"


def training_table(beyond: pandas.DataFrame, origin: str) -> str:
    """A row for each framework that trains; beyond: beyond.csv; origin: of this run's numbers."""
    lines, previous = [], None
    trained = beyond[beyond["losses_apart"].notna()]
    for cell in trained.itertuples():
        if previous not in (None, cell.workload):
            lines.append(GAP)
        # The baseline's is the largest of the others'.
        alone = is_missing(cell.steady_verdict)
        lines.append(
            row(
                [
                    escape(cell.title) if cell.workload != previous else "",
                    escape(title(cell.framework)),
                    *_speed(cell),
                    str(int(cell.loss_steps)),
                    significant(cell.loss_first, 4),
                    significant(cell.loss_last, 4),
                    NO_VALUE if alone else _power(cell.losses_apart),
                    _power(cell.losses_bound),
                    NO_VALUE if alone else AGREES if cell.status == "ok" else DIFFERS,
                ]
            )
        )
        previous = cell.workload
    return table(
        Float(
            label="tab:training",
            caption="Training: Speed, Memory, and Losses from the Same Weights and Batches",
            columns="llrlrrrrrrl",
            note=r"Steps/s: at the steady state, with the 95\,\% interval over the rounds. GiB: peak of the "
            "resident set. Apart: the largest relative difference of a step's loss to the baseline's. Bound: "
            "by how much rounding lets two trainings differ (docs/protocol.md); it agrees where it is within. "
            "A dash: nothing to compare with, or no time. "
            + origins_of(trained.to_dict("records"), origin),
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Workload", "Framework", *(f"{{{head}}}" for head in TRAINING)])],
        lines or [row([span(2 + len(TRAINING), "nothing was trained")])],
    )


def _speed(cell: Any) -> list[str]:
    """Steps a second with their interval, and GiB; dashes for a cell without times."""
    if is_missing(cell.steady_ms):
        return ["---"] * 3
    ends = (1e3 / cell.steady_high_ms, 1e3 / cell.steady_low_ms)
    return [
        significant(1e3 / cell.steady_ms),
        interval(*ends),
        significant(cell.peak_rss_bytes / 2**30),
    ]


def _power(value: float) -> str:
    return f"{value:.1e}"
