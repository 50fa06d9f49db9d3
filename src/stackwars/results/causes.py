"""causes.csv: why two programs differ in time in one compiler, as far as it was searched.

A row is one gap between two replayed programs (`stackwars.explain.gaps`), with the answer of its search. Pairs
without a gap have no row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from stackwars import workloads
from stackwars.results import schema
from stackwars.results.raw import Raw

CAUSE, SPREAD, NOT_SEPARABLE = "cause", "spread", "not separable"
NO_GAP, DIFFERENT, FAILED, UNSUPPORTED = "no gap", "different values", "failed", "unsupported"
"""Verdicts of a search."""
LAYOUT, OPERATIONS = "argument layout", "operations"
"""What a cause is made of."""
_NAME = re.compile(r"\b(?:stablehlo|chlo)\.(\w+)")
_TYPE = re.compile(r"tensor<[^>]*>(?!.*tensor<)")


def build(config: dict, raw: Raw) -> pd.DataFrame:
    """Return causes.csv, in the order of the workloads and the compilers."""
    places = [list(config[what]) for what in ("workloads", "compilers")]
    known = sorted(
        raw.causes, key=lambda one: (places[0].index(one["workload"]), places[1].index(one["compiler"]))
    )
    return schema.table("causes", [row for document in known for row in rows(document)])


def rows(document: dict) -> Iterator[dict[str, Any]]:
    """Yield a row for each gap of a causes.json."""
    where = {key: document[key] for key in ("workload", "compiler", "device")}
    where |= {"title": workloads.load(document["workload"]).TITLE}
    for gap in document["gaps"]:
        if not gap["is_gap"]:
            continue
        row = where | {"subject": gap["subject"], "baseline": gap["baseline"]}
        value, low, high = (gap["ratio"][key] for key in ("value", "low", "high"))
        row |= {"ratio": value, "low": low, "high": high}
        if gap["cause"] is None:
            yield row | {"verdict": document["status"], "detail": document["status_detail"]}
        else:
            yield row | _answer(gap["cause"])


def _answer(cause: dict) -> dict[str, Any]:
    """Return the columns of a cause.json; the keys that a failed search lacks are empty."""
    regions, closed = cause.get("regions", []), cause.get("closed", {})
    kinds = dict.fromkeys(region["what"] for region in regions)
    found = {
        "kinds": len(regions),
        "count": sum(region["count"] for region in regions),
        **{name: closed.get(key) for name, key in _CLOSED.items()},
        "what": " and ".join(sorted(kinds)),
        **{
            f"{side}_operations": "; ".join(shortened(region, letter) for region in regions)
            for side, letter in (("subject", "a"), ("baseline", "b"))
        },
        "lines": "; ".join(
            f"{region.get('line_a', '')} | {region.get('line_b', '')}".strip(" |") for region in regions
        ),
        "reason": " ".join(
            dict.fromkeys(said for region in regions if (said := region.get("reason", {}).get("sentence", "")))
        ),
    }
    return {
        "verdict": cause["verdict"],
        "detail": cause["detail"],
        **(found if regions else {}),
        **{name: cause.get(key) for name, key in _TIMES.items()},
        "tried": tried(cause.get("tried", {})),
        "seconds": cause.get("seconds"),
    }


_CLOSED = {"closed": "share", "closed_low": "low", "closed_high": "high"}
_TIMES = {"subject_ms": "a_ms", "baseline_ms": "b_ms", "left_ms": "left_ms"}


def shortened(region: dict, side: str) -> str:
    """Return a region's operations of one side, with the type of the last result.

    >>> shortened({"what": "operations", "count": 1, "a": ["stablehlo.exp %0 : tensor<2x3xf32>"]}, "a")
    'exp 2x3xf32'
    """
    texts = region[side]
    if region["what"] == LAYOUT and texts:
        return f"argument {_type(texts[0])}"
    names = dict.fromkeys(name[1] for text in texts if (name := _NAME.search(text)))
    return f"{', '.join(names)} {_type(texts[-1])}".strip() if texts else "none"


def _type(text: str) -> str:
    found = _TYPE.search(text)
    return found[0].removeprefix("tensor<").removesuffix(">") if found else ""


def tried(document: dict) -> str:
    """Return what a search went through, in words.

    >>> tried({"operations": [3, 4], "classes": 2, "kinds": 2, "curve": {"1": 0.5}})
    '3 and 4 operations, 2 classes of values, 2 kinds of regions; closed by the best 1: 50 %'
    """
    if "operations" not in document:
        return ""
    one, other = document["operations"]
    text = f"{one} and {other} operations, {document['classes']} classes of values"
    text += f", {document['kinds']} kinds of regions"
    curve = ", ".join(f"{count}: {100 * share:.0f} %" for count, share in document.get("curve", {}).items())
    return f"{text}; closed by the best {curve}" if curve else text
