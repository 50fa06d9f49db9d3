"""values.csv: which programs compute the right values in which compiler, at the preset's sizes and at odd ones.

A row is one program of one check: a process of its own that compiles the program, calls it with both sets of
inputs and compares every output with the expected values (`stackwars.core.judge`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from stackwars.measure import workloads
from stackwars.study.programs import BASE
from stackwars.study.results import schema
from stackwars.study.results.raw import Raw

OUTSIDE = "outside the compiler"
"""Part of the reason of a program whose operations ran in its framework and not in the compiler."""
_OUTCOME = ("status", "status_detail", "wrong", "total", "where", "flaky")


def build(config: dict, raw: Raw) -> pd.DataFrame:
    """Return values.csv, in the order of the workloads and compilers, the preset's sizes first."""
    places = [{name: n for n, name in enumerate(config[what])} for what in ("workloads", "compilers")]
    known = [check for check in raw.checks if check["workload"] in places[0]]
    known.sort(
        key=lambda check: (
            places[0][check["workload"]],
            check["variant"] != BASE,
            len(check["variant"]),
            check["variant"],
            places[1].get(check["compiler"], len(places[1])),
        )
    )
    return schema.table("values", [row for check in known for row in rows(check)])


def rows(check: dict) -> Iterator[dict[str, Any]]:
    """Yield a row for each program of a check.json."""
    where = {key: check[key] for key in ("workload", "variant", "compiler")}
    where |= {
        "title": workloads.load(check["workload"]).TITLE,
        "sizes": " ".join(f"{name}={value}" for name, value in check["sizes"].items()),
    }
    for name, program in check["programs"].items():
        row = where | {"framework": name, **{key: program[key] for key in _OUTCOME}}
        yield row if program["total"] is None else row | {"judge": check["judge"], **errors(program)}


def errors(verdict: dict) -> dict[str, float]:
    """Return both errors of a comparison with expected values; a document has null for an infinite one."""
    named = {"l2": verdict["l2"], "largest_error": verdict["largest"]}
    return {name: math.inf if error is None else error for name, error in named.items()}


def is_fault(row: dict[str, Any], *more: str) -> bool:
    """Return whether a row of values.csv or cells.csv is wrong, crashed or ran outside the compiler, or has one of
    these other statuses."""
    return row["status"] in ("wrong", "crash", *more) or OUTSIDE in row["status_detail"]
