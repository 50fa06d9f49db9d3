"""Tables of what is not one dense forward pass: form beside form, and training."""

from __future__ import annotations

from typing import Any

import pandas

from stackwars.frameworks import title
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.rows import interval, origins_of, whole
from stackwars.paper.tables.tabular import GAP, NO_VALUE, Float, row, span, table, tables
from stackwars.results.beyond import STAGES
from stackwars.results.values import is_missing
from stackwars.results.verdicts import AGREES, DIFFERS, Finding

TRAINING = ("Steps/s", "", "GiB", "Steps", "First", "Last", "Apart", "Bound", "Verdict")
MOST_LINES = 60
"""Of a table on one page."""
HEADS = {"steady": "Steady state", "first": "First run"}


def forms_table(findings: list[Finding], beyond: pandas.DataFrame, origin: str) -> str:
    """A row for each framework that has both forms of a function.

    findings: those of ``form/...``; beyond: beyond.csv; origin: of this run's numbers.
    """
    told = beyond[beyond["graphs"].notna()].set_index(["title", "framework"])
    graphs = {key: _graphs(cell) for key, cell in told.iterrows()}
    known = [f for f in findings if f["id"].startswith("form/")]
    cells = {(f["title"], f["framework"], f["id"].rpartition("/")[2]): f for f in known}
    blocks = []
    for one, other in dict.fromkeys((f["title"], f["other"]) for f in known):
        of = dict.fromkeys(f["framework"] for f in known if f["title"] == one)
        blocks.append(
            [
                row(
                    [
                        "" if number else escape(f"{one} / {other}"),
                        escape(title(framework)),
                        *(
                            text
                            for stage in STAGES
                            for text in _cell(cells.get((one, framework, stage)))
                        ),
                        *graphs.get((one, framework), (NO_VALUE, NO_VALUE)),
                    ]
                )
                for number, framework in enumerate(of)
            ]
        )
    spec = Float(
        label="tab:forms",
        caption="One Function in Two Forms: Time of the One over the Other, in Each Framework",
        columns="llrlrlrr",
        note=r"With its 95\,\% interval over the rounds of both. A framework without a row has not both "
        "forms, or they were not run beside each other. Graphs: of the special form; breaks: between them, "
        "or where a function is left to Python. A dash: not reported, or not counted in an earlier run. "
        + origins_of(known, origin),
        wide=True,
        size=r"\scriptsize",
    )
    stages = [span(2, HEADS[stage]) for stage in STAGES]
    header = [row(["Forms", "Framework", *stages, "{Graphs}", "{Breaks}"])]
    return tables(spec, header, blocks or [[row([span(8, "nothing to compare")])]], MOST_LINES)


def _graphs(cell: pandas.Series) -> tuple[str, str]:
    # Breaks in loops were not counted once; two graphs have one.
    unknown = is_missing(cell["graph_breaks"]) or (cell["graphs"] > 1 and not cell["graph_breaks"])
    return whole(cell["graphs"]), NO_VALUE if unknown else whole(cell["graph_breaks"])


def _cell(found: Finding | None) -> tuple[str, str]:
    if found is None:
        return NO_VALUE, NO_VALUE
    return significant(found["ratio"]), interval(found["low"], found["high"])


def training_table(beyond: pandas.DataFrame, origin: str) -> str:
    """A row for each framework that trains; beyond: beyond.csv; origin: of this run's numbers."""
    lines, previous = [], None
    trained = beyond[beyond["losses_apart"].notna()]
    compared = set(beyond[beyond["steady_verdict"].notna()]["framework"])
    for cell in trained.itertuples():
        if previous not in (None, cell.workload):
            lines.append(GAP)
        # The baseline's is the largest of the others'.
        alone = cell.framework not in compared
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
                    NO_VALUE
                    if alone
                    else DIFFERS
                    if cell.losses_apart > cell.losses_bound
                    else AGREES,
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
