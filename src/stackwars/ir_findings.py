"""The precision of matrix products, from facts.json: workload -> framework -> its program's facts.

The facts are those of :mod:`stackwars.ir.facts`, taken from the programs as emitted.
"""

from __future__ import annotations

import pandas

from stackwars import verdicts
from stackwars.sources import titles
from stackwars.verdicts import Finding, finding


def precision_finding(facts: dict, frame: pandas.DataFrame) -> Finding:
    """``ir/precision``: what matrix products and convolutions ask for, in every program."""
    found = {
        side["precision"]
        for workload in titles(frame)
        for side in facts.get(workload, {}).values()
        if side.get("status") == "ok" and side["precision"]
    }
    verdict = verdicts.NO_DATA if not found else verdicts.MEASURED
    return finding("ir/precision", verdict, precisions=sorted(found))
