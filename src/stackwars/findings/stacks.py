"""Findings about the stacks: beside the baseline, the best and each other, and when a call returns."""

from __future__ import annotations

import math

import pandas

from stackwars.measure.comparison import direction
from stackwars.results import verdicts
from stackwars.results.combined import log_ratio
from stackwars.results.values import is_missing
from stackwars.results.verdicts import Finding, finding

EARLY = 0.5
"""A call returns early where it has returned after less than this share of its time."""
TIE = 1.05
"""Stacks within this factor of the best are named beside it."""


def stack_findings(stacks: pandas.DataFrame, pairs: list[list[str]]) -> list[Finding]:
    """Every finding of the section on stacks.

    pairs: of stacks that are compared with each other, the numerator first.
    """
    return [
        _summary(stacks),
        *_beside_the_baseline(stacks),
        *beside_each_other(stacks, pairs),
        *_best(stacks),
        *_dispatch(stacks),
    ]


def _summary(stacks: pandas.DataFrame) -> Finding:
    """``stacks``: how many cells there are, and what became of them."""
    ok = int((stacks["status"] == "ok").sum())
    return finding(
        "stacks",
        verdicts.SOME if len(stacks) else verdicts.NONE,
        ok=ok,
        total=len(stacks),
        frameworks=list(stacks["framework"].drop_duplicates()),
        workloads=stacks["workload"].nunique(),
        not_run=int((stacks["status"] == "not run").sum()),
        elsewhere=list(stacks.loc[stacks["run"] != "", "title"].drop_duplicates()),
    )


def _beside_the_baseline(stacks: pandas.DataFrame) -> list[Finding]:
    """``stack/<workload>/<framework>``: its steady state over the baseline's."""
    return [
        finding(
            f"stack/{row.workload}/{row.framework}",
            row.steady_verdict if isinstance(row.steady_verdict, str) else verdicts.NO_DATA,
            title=row.title,
            kind=row.kind,
            framework=row.framework,
            ratio=row.steady_ratio,
            low=row.steady_ratio_low,
            high=row.steady_ratio_high,
            over_best=row.steady_over_best,
            here=bool(row.here),
        )
        for row in stacks.itertuples()
        if not is_missing(row.steady_ratio)
    ]


def beside_each_other(stacks: pandas.DataFrame, pairs: list[list[str]]) -> list[Finding]:
    """Every pair on every workload that has both."""
    return [one for pair in pairs for one in _versus(stacks, *pair)]


def _versus(stacks: pandas.DataFrame, subject: str, other: str) -> list[Finding]:
    """``versus/<workload>/<subject>/<other>``: from both ratios to the baseline."""
    found = []
    for workload, rows in stacks.groupby("workload", sort=False):
        known = rows.set_index("framework")
        if not {subject, other} <= set(known.index):
            continue
        ratios = [log_ratio(known.loc[name], "steady") for name in (subject, other)]
        estimate = ratios[0].plus(ratios[1], others=-1.0).estimate() if all(ratios) else None
        found.append(
            finding(
                f"versus/{workload}/{subject}/{other}",
                direction(estimate) if estimate else verdicts.NO_DATA,
                title=known["title"].iloc[0],
                kind=known["kind"].iloc[0],
                here=bool(known["here"].iloc[0]),
                framework=subject,
                other=other,
                ratio=estimate.value if estimate else None,
                low=estimate.low if estimate else None,
                high=estimate.high if estimate else None,
            )
        )
    return found


def _best(stacks: pandas.DataFrame) -> list[Finding]:
    """``best/<workload>``: the stack with the smallest steady state, those near it, and the worst."""
    found = []
    for workload, rows in stacks.groupby("workload", sort=False):
        known = rows.dropna(subset=["steady_over_best"]).sort_values("steady_over_best")
        if known.empty:
            continue
        near = known[known["steady_over_best"] <= TIE]
        found.append(
            finding(
                f"best/{workload}",
                verdicts.MEASURED,
                title=rows["title"].iloc[0],
                framework=near["framework"].iloc[0],
                near=list(near["framework"]),
                worst=known["framework"].iloc[-1],
                spread=known["steady_over_best"].iloc[-1],
                stacks=len(known),
            )
        )
    return found


def _dispatch(stacks: pandas.DataFrame) -> list[Finding]:
    """``dispatch/<workload>/<framework>``: when a steady call has returned: ms, and share of its time."""
    found = []
    for row in stacks.itertuples():
        if is_missing(row.returned_ms) or is_missing(row.steady_ms):
            continue
        share = min(1.0, row.returned_ms / row.steady_ms)
        found.append(
            finding(
                f"dispatch/{row.workload}/{row.framework}",
                verdicts.RETURNS_EARLY if share < EARLY else verdicts.RETURNS_DONE,
                title=row.title,
                here=bool(row.here),
                framework=row.framework,
                returned_ms=row.returned_ms,
                share=share if math.isfinite(share) else None,
            )
        )
    return found
