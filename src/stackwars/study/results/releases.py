"""releases.csv: the outcome and the time of a program in each release of a compiler, and what the release changed."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

import pandas as pd

from stackwars.core.outcome import Status
from stackwars.measure import workloads
from stackwars.study.results import schema
from stackwars.study.results.raw import Raw

_OUTCOME = ("version", "status", "status_detail", "ms")
_VERDICT = ("wrong", "total", "where")


def build(raw: Raw) -> pd.DataFrame:
    """Return releases.csv, in the order of the grid; the releases of a program newest first."""
    return schema.table("releases", [row for document in raw.releases for row in rows(document)])


def rows(document: dict) -> Iterator[dict[str, Any]]:
    """Yield a row for each release of a document that `stackwars.study.releases` wrote."""
    where = {key: document[key] for key in ("project", "workload", "framework", "stablehlo")}
    where["title"] = workloads.load(document["workload"]).TITLE
    changes = {change["newer"]: change for change in document["changes"]}
    for release in document["releases"]:
        ratio, compiled = release["ratio"] or {}, release.get("compile_rounds_s")
        row = where | {
            **{key: release[key] for key in _OUTCOME},
            **{key: release.get(key) for key in _VERDICT},
            "compile_s": statistics.median(compiled) if compiled else release.get("compile_s"),
            **{"ratio": ratio.get("value"), "low": ratio.get("low"), "high": ratio.get("high")},
        }
        if document["reason"]:
            row |= {"status": Status.UNSUPPORTED, "status_detail": document["reason"]}
        yield row | _change(changes.get(release["version"]))


def _change(change: dict | None) -> dict[str, Any]:
    if change is None:
        return {}
    ratio = change["ratio"] or (None, None, None)
    # Schema 1 has a list.
    value, low, high = ratio.values() if isinstance(ratio, dict) else ratio
    numbers = {"change_ratio": value, "change_low": low, "change_high": high}
    return {"change": change["kind"], "previous": change["older"], **numbers}
