"""Findings about the lecture's stacks: its ratios on a GPU beside ours, as directions."""

from __future__ import annotations

import pandas

from stackwars.results.published import DONE
from stackwars.results.verdicts import Finding, agreement, finding


def lecture_findings(stacks: list[Finding], there: pandas.DataFrame) -> list[Finding]:
    """``lecture/<workload>/<subject>/<other>``: whether our direction is the lecture's.

    stacks: findings of which those of ``stack/...`` and ``versus/...`` count; the other of the former is the
    framework that the lecture has and that is none of its subjects. there: lecture.csv.
    """
    times = there[there["what"] == DONE].set_index(["workload", "framework"])["ms"]
    subjects = {f["framework"] for f in stacks if f["id"].startswith("stack/")}
    found = []
    for one in stacks:
        kind, _, rest = one["id"].partition("/")
        workload = rest.partition("/")[0]
        if kind not in ("stack", "versus"):
            continue
        others = [f for w, f in times.index if w == workload and f not in subjects]
        other = one.get("other") or (others[0] if others else "")
        sides = [(workload, one["framework"]), (workload, other)]
        if not all(side in times.index for side in sides):
            continue
        published = times[sides[0]] / times[sides[1]]
        found.append(
            finding(
                f"lecture/{workload}/{one['framework']}/{other}",
                agreement(published, one["verdict"]),
                title=one["title"],
                framework=one["framework"],
                other=other,
                published_ratio=published,
                ratio=one["ratio"],
                low=one["low"],
                high=one["high"],
                here=one["here"],
                ours=one["verdict"],
            )
        )
    return found
