"""The table of outcomes, and the questions that it raises.

Made from what `outcomes` and `native` wrote: `python -m stackwars.explain.table --job FILE --output FILE`.
"""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import Any

from stackwars.explain import console
from stackwars.explain.outcomes import CRASH, HANG, NATIVE, REFUSED, WRONG
from stackwars.explain.plan import Plan
from stackwars.measure import documents, judge, machine
from stackwars.measure.agreement import agreement

SCHEMA = 1
FAULTS = (CRASH, WRONG, HANG, REFUSED)
"""Outcomes that a search explains, most urgent first."""


def build(plan: Plan) -> dict[str, Any]:
    """Return the document of table.json."""
    outcomes = {name: documents.read(plan.outcomes(name)) for name in plan.compilers}
    natives = {name: documents.read(plan.native(name)) for name in plan.natives}
    judges = [documents.read(Path(folder) / "expected.json") for folder in plan.expected_folders]
    cells = [
        {"program": program, "compiler": compiler, **document["programs"][program], "ratio": None}
        for compiler, document in outcomes.items()
        for program in plan.labels
    ] + [
        {"program": name, "compiler": NATIVE, **document["programs"][name], "ratio": None}
        for name, document in natives.items()
    ]
    known = [cell["ms"] for cell in cells if cell["ms"] is not None]
    for cell in cells:
        if cell["ms"] is not None:
            cell["ratio"] = cell["ms"] / min(known)
    return {
        "schema": SCHEMA,
        "name": plan.name,
        "title": plan.title,
        "programs": [*plan.labels, *natives],
        "compilers": list(outcomes),
        "judge": _joined(one["judge"] for one in judges if not one["reason"]),
        "judge_reason": _joined(one["reason"] for one in judges if one["reason"]),
        "apart": apart(plan),
        "cells": cells,
        "questions": questions(plan, cells, outcomes),
        "not_tried": plan.not_tried,
        "settings": {key: plan.settings[key] for key in ("bound", "compiler_gap", "questions")},
        "versions": {name: document["versions"] for name, document in (outcomes | natives).items()},
        "machine": machine.record(),
        "source": machine.revision(),
    }


def apart(plan: Plan) -> str:
    """Return how the programs of a question about files compute different things; "" if they do not.

    Each is judged by its own operations, so all may be right and still not be one computation.
    """
    known = [
        (label, expected)
        for label, expected in zip(plan.labels, map(judge.read, map(Path, plan.expected_folders)), strict=False)
        if not expected.reason
    ]
    for label, expected in known[1:]:
        first_label, first = known[0]
        for key, right in first.values.items():
            limit = 2 * max(first.limits[key], expected.limits.get(key, 0.0))
            found = (
                agreement(expected.values[key], right, limit) if key in expected.values else f"no result {key}"
            )
            if isinstance(found, str) or not found.right:
                return f"{label} and {first_label} compute different things: {key}: {found}"
    return ""


def _joined(texts: Any) -> str:
    return "; ".join(dict.fromkeys(text for text in texts if text))


def questions(plan: Plan, cells: list[dict], outcomes: dict[str, dict]) -> list[dict[str, Any]]:
    """Return what is worth explaining: the largest gaps, and the faults of each family of compilers."""
    most = plan.settings["questions"]
    gaps = sorted(_program_gaps(plan, cells) + _compiler_gaps(plan, cells), key=lambda gap: -gap["gap"])
    return gaps[:most] + _faults(cells, outcomes)[:most]


def _program_gaps(plan: Plan, cells: list[dict]) -> list[dict[str, Any]]:
    """Return for every compiler the slowest of its programs against the fastest, if that is over the bound."""
    result = []
    for compiler in plan.compilers:
        mine = (c for c in cells if c["compiler"] == compiler)
        timed = sorted((c for c in mine if c["ms"] is not None), key=itemgetter("ms"))
        if len(timed) > 1 and (gap := timed[-1]["ms"] / timed[0]["ms"]) > 1 + plan.settings["bound"]:
            result.append(_gap(gap, compiler, timed[-1]["program"], timed[0]["program"], None))
    return result


def _compiler_gaps(plan: Plan, cells: list[dict]) -> list[dict[str, Any]]:
    """Return for every program its slowest compiler against its fastest, if that is over the bound.

    Of the programs with the same two compilers, the one with the largest gap.
    """
    result: dict[tuple[str, str], dict[str, Any]] = {}
    for program in plan.labels:
        mine = (c for c in cells if c["program"] == program and c["compiler"] != NATIVE)
        timed = sorted((c for c in mine if c["ms"] is not None), key=itemgetter("ms"))
        if len(timed) > 1 and (gap := timed[-1]["ms"] / timed[0]["ms"]) > plan.settings["compiler_gap"]:
            slow, fast = timed[-1]["compiler"], timed[0]["compiler"]
            if gap > result.get((slow, fast), {"gap": 0.0})["gap"]:
                result[slow, fast] = _gap(gap, slow, program, None, fast)
    return list(result.values())


def _gap(gap: float, compiler: str, a: str, b: str | None, other: str | None) -> dict[str, Any]:
    names = [compiler, a, b or "", other or ""]
    return {
        "kind": "cause",
        "id": ".".join(name for name in names if name),
        "compiler": compiler,
        "a": a,
        "b": b,
        "other": other,
        "gap": gap,
    }


def _faults(cells: list[dict], outcomes: dict[str, dict]) -> list[dict[str, Any]]:
    """Return one question for every program and family of compilers in which it fails in one way.

    A family is a compiler's module, and what is tried is its last member: the newest, as the configuration has them.
    """
    result: dict[tuple[str, str, str], dict[str, Any]] = {}
    for cell in cells:
        # A program that its frontend does not emit is refused by no compiler.
        if cell["status"] not in FAULTS or cell["compiler"] == NATIVE or not cell["emitted"]:
            continue
        key = (cell["program"], outcomes[cell["compiler"]]["module"], cell["status"])
        result[key] = {
            "kind": "fault",
            "id": f"{cell['compiler']}.{cell['program']}",
            **{name: cell[name] for name in ("compiler", "program", "status", "detail")},
        }
    return sorted(result.values(), key=lambda question: FAULTS.index(question["status"]))


def main() -> None:
    options = documents.parse_arguments(__doc__, "job", "output")
    table = build(Plan.load(documents.read(options.job)))
    documents.write(options.output, table)
    print(console.logged(console.lines(table)))


if __name__ == "__main__":
    main()
