"""Findings about the matrix: how much of the time is the frontend, the compiler, or both, and what failed."""

from __future__ import annotations

import pandas

from stackwars.results import verdicts
from stackwars.results.compiler_verdicts import NOT_SEPARATED
from stackwars.results.matrix import BOTH, COMPILER, FRONTEND, SHOWN, STUDY
from stackwars.results.values import is_missing
from stackwars.results.verdicts import Finding, finding
from stackwars.results.whole_study import that_ran

ALL = "all"


def matrix_findings(
    matrix: pandas.DataFrame, effects: pandas.DataFrame, subsets: pandas.DataFrame
) -> list[Finding]:
    """Every finding of the section on the matrix."""
    return [
        _summary(matrix),
        *_failures(matrix),
        *_over_previous(matrix),
        *_effects(effects),
        *_largest(effects),
        *subset_findings(subsets),
    ]


def _summary(matrix: pandas.DataFrame) -> Finding:
    """``matrix``: its size, how many of its cells are ok, which workloads this run did not measure, and of
    which too few cells were run for the figure."""
    shown = that_ran(matrix, "workload", SHOWN)["workload"]
    ok = matrix[matrix["status"] == "ok"]
    worst = ok["over_best"].max() if len(ok) else None
    return finding(
        STUDY,
        verdicts.SOME if len(matrix) else verdicts.NONE,
        frontends=list(matrix["framework"].drop_duplicates()),
        compilers=list(matrix["compiler"].drop_duplicates()),
        workloads=matrix["workload"].nunique(),
        ok=len(ok),
        not_run=int((matrix["status"] == "not run").sum()),
        total=len(matrix),
        worst=worst,
        parity=ok["parity_rel_l2"].max() if len(ok) else None,
        left_out=list(matrix.loc[~matrix["workload"].isin(shown), "title"].drop_duplicates()),
        elsewhere=list(matrix.loc[matrix["run"] != "", "title"].drop_duplicates()),
    )


def _failures(matrix: pandas.DataFrame) -> list[Finding]:
    """``matrix_failed/<compiler>/<status>``: what a compiler did not give, and whose programs."""
    failed = matrix[~matrix["status"].isin(["ok", "not run"])]
    return [
        finding(
            f"matrix_failed/{compiler}/{status}",
            status,
            compiler=compiler,
            titles=list(rows["title"].drop_duplicates()),
            frameworks=list(rows["framework"].drop_duplicates()),
            number=len(rows),
        )
        for (compiler, status), rows in failed.groupby(["compiler", "status"], sort=False)
    ]


def _over_previous(matrix: pandas.DataFrame) -> list[Finding]:
    """``previous/<workload>/<framework>/<compiler>``: its time over that in the compiler before it."""
    return [
        finding(
            f"previous/{row.workload}/{row.framework}/{row.compiler}",
            row.previous_verdict,
            title=row.title,
            framework=row.framework,
            compiler=row.compiler,
            ratio=row.previous_ratio,
            low=row.previous_low,
            high=row.previous_high,
            here=bool(row.here),
        )
        for row in matrix[matrix["previous_ratio"].notna()].itertuples()
    ]


def _effects(effects: pandas.DataFrame) -> list[Finding]:
    """``matrix_effect/<workload or all>/<effect>``: its share of the variance, and the factor of a time."""
    return [
        finding(
            f"matrix_effect/{row.workload}/{row.effect}",
            verdicts.MEASURED,
            workload=row.workload,
            effect=row.effect,
            share=row.share,
            low=row.share_low,
            high=row.share_high,
            factor=row.factor,
        )
        for row in effects.itertuples()
    ]


def _largest(effects: pandas.DataFrame) -> list[Finding]:
    """``matrix_largest/<workload or all>``: the effect whose interval lies above those of the others."""
    found = []
    for workload, rows in effects.groupby("workload", sort=False):
        first, verdict = _first(rows)
        found.append(
            finding(
                f"matrix_largest/{workload}",
                verdict,
                workload=workload,
                here=bool(first.here) and workload != ALL,
                effect=first.effect,
                share=first.share,
                factor=first.factor,
            )
        )
    return found


def _first(rows: pandas.DataFrame) -> tuple[pandas.Series, str]:
    """Of a workload's three effects the largest, and which one is separated from the others, if one is."""
    ordered = rows.sort_values("share", ascending=False)
    first, others = ordered.iloc[0], ordered.iloc[1:]
    if is_missing(first.share_low):
        return first, verdicts.NOT_DECIDED
    separate = bool((others["share_high"] < first.share_low).all())
    return first, first.effect if separate else NOT_SEPARATED


def subset_findings(subsets: pandas.DataFrame) -> list[Finding]:
    """``matrix_subset/<subset>``: on how many workloads each effect is the largest, with part of the matrix.

    Of the workloads that the claims of this build rest on, where there are any.
    """
    found = []
    of_all = subsets[subsets["workload"] != ALL]
    for subset, rows in of_all.groupby("subset", sort=False):
        own = rows[rows["here"]] if rows["here"].any() else rows
        largest = [_first(effects)[1] for _, effects in own.groupby("workload", sort=False)]
        found.append(
            finding(
                f"matrix_subset/{subset.replace(' ', '_')}",
                verdicts.MEASURED,
                subset=subset,
                workloads=len(largest),
                frontends=int(own["frontends"].max()),
                compilers=int(own["compilers"].max()),
                **{
                    name: largest.count(effect)
                    for name, effect in (
                        ("by_frontend", FRONTEND),
                        ("by_compiler", COMPILER),
                        ("by_both", BOTH),
                    )
                },
            )
        )
    return found
