"""Differences between this run and the reference: verdicts, ratios that were not expected, statuses."""

from __future__ import annotations

from stackwars.core.documents import Row
from stackwars.study.claims.compare import NOT_REPRODUCED
from stackwars.study.claims.verdicts import NOT_TESTABLE


def against(document: Row) -> Row | None:
    """Return what differs, of a document of `claims.compare`; None if nothing was compared.

    {"summary", "machines", "claims": those that the run tests and gives another verdict, the contradicting ones first,
    "untested": how many it does not test, "ratios": those outside the prediction interval, the furthest first,
    "cells": those with another status, "counts": [how many of each were compared]}.
    """
    if not document.get("ratios") and not document.get("cells"):
        return None
    tested = [one for one in document["claims"] if one["run"] != NOT_TESTABLE]
    claims = [one for one in tested if one["run"] != one["reference"]]
    ratios = [one for one in document["ratios"] if one["inside"] is False]
    return {
        "summary": document["summary"],
        "machines": [document["run"]["machine"], document["reference"]["machines"]],
        "claims": sorted(claims, key=lambda one: one["outcome"] != NOT_REPRODUCED),
        "untested": len(document["claims"]) - len(tested),
        "ratios": sorted(ratios, key=_beyond, reverse=True),
        "cells": [one for one in document["cells"] if one["run"] != one["reference"]],
        "counts": [len(document[name]) for name in ("claims", "ratios", "cells")],
    }


def _beyond(ratio: Row) -> float:
    """Return by what factor a ratio lies outside its prediction interval."""
    low, high = ratio["predicted"]
    return max(low / ratio["run"], ratio["run"] / high)
