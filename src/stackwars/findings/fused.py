"""Findings about what two compilers fuse of the same workload: found by rule, from fused.csv."""

from __future__ import annotations

import pandas

from stackwars.compilers.fused import APART, FUSED
from stackwars.results import verdicts
from stackwars.results.verdicts import Finding, finding


def fused_findings(fused: pandas.DataFrame) -> list[Finding]:
    """``fused``, and ``fused/<workload>/<operation>`` for each kind of operation that both programs have.

    They differ where one compiler fuses every such operation and the other none: `fuses` is the
    framework of the one, `other` that of the other.
    """
    found = []
    for (workload, operation), rows in fused.groupby(["workload", "operation"], sort=False):
        by = dict(zip(rows["verdict"], rows["framework"], strict=True))
        if len(rows) > 1:
            found.append(
                finding(
                    f"fused/{workload}/{operation}",
                    verdicts.DIFFERS if {FUSED, APART} <= set(by) else verdicts.AGREES,
                    title=rows["title"].iloc[0],
                    operation=operation,
                    fuses=by.get(FUSED),
                    other=by.get(APART),
                )
            )
    summary = finding(
        "fused",
        verdicts.SOME if found else verdicts.NONE,
        compared=len(found),
        titles=list(dict.fromkeys(one["title"] for one in found)),
    )
    return [summary, *found]
