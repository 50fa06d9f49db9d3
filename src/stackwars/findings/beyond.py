"""Findings about what is not one dense forward pass: beside the baseline, form beside form, and training."""

from __future__ import annotations

import math

import pandas

from stackwars.results import verdicts
from stackwars.results.beyond import STAGES, STUDY
from stackwars.results.values import is_missing
from stackwars.results.verdicts import Finding, finding


def beyond_findings(beyond: pandas.DataFrame) -> list[Finding]:
    """Every finding of the section on this study."""
    return [
        _summary(beyond),
        *_beside_the_baseline(beyond),
        *_forms(beyond),
        *_losses(beyond),
        *_unsupported(beyond),
    ]


def _summary(beyond: pandas.DataFrame) -> Finding:
    """``beyond``: how many cells there are, and what became of them."""
    states = beyond["status"].value_counts()
    return finding(
        STUDY,
        verdicts.SOME if len(beyond) else verdicts.NONE,
        ok=int(states.get("ok", 0)),
        total=len(beyond),
        not_run=int(states.get("not run", 0)),
        unsupported=int(states.get("unsupported", 0)),
        frameworks=list(beyond["framework"].drop_duplicates()),
        workloads=beyond["workload"].nunique(),
        parity=beyond["parity_rel_l2"].max(),
        elsewhere=list(beyond.loc[beyond["run"] != "", "title"].drop_duplicates()),
    )


def _beside_the_baseline(beyond: pandas.DataFrame) -> list[Finding]:
    """``beyond_ratio/<workload>/<framework>``: its steady state over the baseline's."""
    return [
        finding(
            f"beyond_ratio/{row.workload}/{row.framework}",
            row.steady_verdict if isinstance(row.steady_verdict, str) else verdicts.NO_DATA,
            title=row.title,
            framework=row.framework,
            ratio=row.steady_ratio,
            low=row.steady_ratio_low,
            high=row.steady_ratio_high,
            here=bool(row.here),
        )
        for row in beyond.itertuples()
        if not is_missing(row.steady_ratio)
    ]


def _forms(beyond: pandas.DataFrame) -> list[Finding]:
    """``form/<workload>/<framework>/<stage>``: a special form of a function over the plain one."""
    titles = dict(zip(beyond["workload"], beyond["title"], strict=True))
    return [
        finding(
            f"form/{row['workload']}/{row['framework']}/{stage}",
            row[f"form_{stage}_verdict"],
            workload=row["workload"],
            stage=stage,
            title=row["title"],
            other=titles[row["form_of"]],
            framework=row["framework"],
            ratio=row[f"form_{stage}_ratio"],
            low=row[f"form_{stage}_low"],
            high=row[f"form_{stage}_high"],
            here=bool(row["here"]),
        )
        for _, row in beyond.dropna(subset=["form_of"]).iterrows()
        for stage in STAGES
        if not is_missing(row[f"form_{stage}_ratio"])
    ]


def _losses(beyond: pandas.DataFrame) -> list[Finding]:
    """``losses/<workload>/<framework>``: how far a training run is from the baseline's after its first steps.

    A run that parted by more than rounding explains is no result: its cell is invalid, has no ratio, and
    differs here. A baseline is compared with nothing: it has a ratio on no workload.
    """
    if "losses_bound" not in beyond:
        # Of runs that were accepted before it was told, which had no parted losses.
        beyond = beyond.assign(losses_bound=math.inf)
    trained = beyond[beyond["losses_apart"].notna()]
    compared = set(beyond[beyond["steady_verdict"].notna()]["framework"])
    return [
        finding(
            f"losses/{row.workload}/{row.framework}",
            verdicts.DIFFERS if row.losses_apart > row.losses_bound else verdicts.AGREES,
            title=row.title,
            framework=row.framework,
            steps=row.loss_steps,
            first=row.loss_first,
            last=row.loss_last,
            apart=row.losses_apart,
            here=bool(row.here),
        )
        for row in trained.itertuples()
        if row.framework in compared
    ]


def _unsupported(beyond: pandas.DataFrame) -> list[Finding]:
    """``no_form/<workload>/<framework>``: what a framework has no form of, and why."""
    return [
        finding(
            f"no_form/{row.workload}/{row.framework}",
            row.status,
            title=row.title,
            framework=row.framework,
            why=row.status_detail,
        )
        for row in beyond[beyond["status"] == "unsupported"].itertuples()
    ]
