"""Tables of the cost of compiling: the points of short series, and what a new shape costs."""

from __future__ import annotations

from collections.abc import Callable

import pandas

from stackwars.frameworks import title
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.rows import runs_of, whole
from stackwars.paper.tables.tabular import GAP, Float, row, span, table
from stackwars.results.values import is_missing
from stackwars.results.verdicts import Finding

FEW = 3
"""Points of a series that its fitted line says little about, so that they are listed."""


def slope_text(found: Finding) -> str:
    """The slope of a ``growth/...`` in ms, with its 95 % interval where there is one."""
    ends = [found["slope_low"], found["slope_high"]]
    text = _signed(found["slope"])
    return text if any(map(is_missing, ends)) else f"{text} [{', '.join(map(_signed, ends))}]"


def _signed(value: float) -> str:
    return significant(value) if value >= 0 else f"-{significant(-value)}"


def series_table(growth: pandas.DataFrame) -> str:
    """A row for each framework of each series of FEW values. growth: growth.csv."""
    lines, previous, listed = [], None, []
    ok = growth[growth["status"] == "ok"]
    for (workload, framework), rows in ok.groupby(["workload", "framework"], sort=False):
        rows = rows.sort_values("value")
        if len(rows) > FEW:
            continue
        listed += rows.to_dict("records")
        values = ", ".join(f"{value:.0f}" for value in rows["value"])
        head = f"{rows['title'].iloc[0]}, {rows['size'].iloc[0]} {values}"
        if previous not in (None, workload):
            lines.append(GAP)
        lines.append(
            row(
                [
                    escape(head) if workload != previous else "",
                    escape(title(framework)),
                    _each(rows["operations"], whole),
                    _each(rows["compile_cost_ms"] / 1e3),
                    _each(rows["steady_ms"]),
                ]
            )
        )
        previous = workload
    return table(
        Float(
            label="tab:series",
            caption="Size of the Program, Cost of Compiling and Steady State against Length",
            columns="llrrr",
            note="For each length. Operations: of the StableHLO; a dash where there is none. Compiling: "
            "what the first call takes longer than a steady one. One process each. "
            + runs_of(listed),
            wide=True,
            size=r"\scriptsize",
        ),
        [row(["Workload", "Framework", "{Operations}", "{Compiling (s)}", "{Steady (ms)}"])],
        lines or [row([span(5, "no series of so few values was measured")])],
    )


def _each(values: pandas.Series, text: Callable[[float], str] = significant) -> str:
    return "---" if values.isna().all() else ", ".join(map(text, values))


def shapes_table(findings: list[Finding]) -> str:
    """A row for each framework that was called with several shapes; findings: those of ``shapes/...``."""
    known = [one for one in findings if one["id"].startswith("shapes/")]
    lines, previous = [], None
    for one in known:
        lines.append(
            row(
                [
                    escape(one["title"]) if one["title"] != previous else "",
                    escape(title(one["framework"])),
                    str(int(one["shapes"])),
                    str(int(one["compiles"] + one["again"])),
                    significant(one["later_ms"]),
                    significant(one["repeated_ms"]),
                ]
            )
        )
        previous = one["title"]
    return table(
        Float(
            label="tab:distinct-shapes",
            caption="Programs for a Loop over Several Shapes",
            columns="llrrrr",
            note="Called with each shape in turn, twice. Programs: compiled in both turns. New: median (ms) of "
            "the first call of every shape but the first; repeated: of the second call. "
            + runs_of(known),
            size=r"\scriptsize",
        ),
        [
            row(
                [
                    "Workload",
                    "Framework",
                    *(f"{{{h}}}" for h in ("Shapes", "Programs", "New", "Repeated")),
                ]
            )
        ],
        lines or [row([span(6, "nothing was called with several shapes")])],
    )
