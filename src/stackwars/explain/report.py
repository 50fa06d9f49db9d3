"""What was found, as one document: explain.json. The page and the text are made from it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from stackwars.explain import console
from stackwars.explain.gap import NO_GAP, NOT_SEPARABLE
from stackwars.explain.outcomes import FAILED, NATIVE, RIGHT, UNJUDGED
from stackwars.explain.plan import Plan
from stackwars.measure import documents

SCHEMA = 1
OK, NOT_RIGHT, SLOWER = 0, 1, 2
"""Exit statuses of `stackwars explain`."""
REPRODUCER, REDUCED = "reproduce.py", "reduced.mlir"


def report(plan: Plan, table: dict[str, Any], paths: Iterable[Path]) -> dict[str, Any]:
    """Return the document of explain.json. paths: of the cause.json and fault.json that were found."""
    rows = {(row["kind"], row["id"]): row for row in table["questions"]}
    answers = []
    for path in paths:
        row = rows[path.stem, path.parent.name]
        found = documents.read(path)
        answers.append({
            "row": row,
            "folder": str(path.parent),
            "text": console.paragraph(row["kind"], found),
            "found": found,
            **{key: _text(path.parent / name) for key, name in (("reduced", REDUCED), ("script", REPRODUCER))},
        })  # fmt: skip
    fields = ("name", "title", "workload", "sizes", "seed", "inputs", "command")
    return {
        "schema": SCHEMA,
        **{name: getattr(plan, name) for name in fields},
        "programs": {label: plan.files.get(label, plan.side(label).program) for label in plan.labels},
        "headline": headline(table, answers),
        "exit_status": exit_status(table, answers),
        "table": table,
        "answers": answers,
    }


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def exit_status(table: dict[str, Any], answers: list[dict[str, Any]]) -> int:
    """Return 1 if a program is not right or they compute different things, 2 if the first is slower than the second by
    more than the bound, else 0.
    """
    cells = [cell for cell in table["cells"] if cell["compiler"] != NATIVE]
    if table["apart"] or any(cell["status"] != RIGHT for cell in cells):
        return NOT_RIGHT
    return SLOWER if any(_is_slower(compiler, table, answers) for compiler in table["compilers"]) else OK


def _is_slower(compiler: str, table: dict[str, Any], answers: list[dict[str, Any]]) -> bool:
    times = {cell["program"]: cell["ms"] for cell in table["cells"] if cell["compiler"] == compiler}
    a, *others = times
    if not others or times[others[0]] is None or times[a] is None:
        return False
    found = [
        answer["found"]
        for answer in answers
        if answer["row"]["kind"] == "cause"
        and answer["row"]["compiler"] == compiler
        and answer["row"]["a"] == a
    ]
    is_over = times[a] / times[others[0]] > 1 + table["settings"]["bound"]
    return is_over and not any(map(_has_no_gap, found))


def _has_no_gap(cause: dict[str, Any]) -> bool:
    """Return whether fresh processes showed no difference in time: the cause of a clear one can be uncertain too."""
    if cause["verdict"] != NOT_SEPARABLE:
        return cause["verdict"] == NO_GAP
    ratio = cause.get("ratio")
    return ratio is None or ratio["low"] is None or ratio["low"] <= 1 <= ratio["high"]


def headline(table: dict[str, Any], answers: list[dict[str, Any]]) -> str:
    """Return the answer in one sentence."""
    bad = [cell for cell in table["cells"] if cell["status"] not in (RIGHT, UNJUDGED)]
    statuses = dict.fromkeys(cell["status"] for cell in bad)
    parts = [
        f"{status} in {sum(cell['status'] == status for cell in bad)} of {len(table['cells'])} tries"
        for status in statuses
        if status != FAILED
    ]
    causes = [answer["found"] for answer in answers if answer["row"]["kind"] == "cause"]
    explained = [cause for cause in causes if not _has_no_gap(cause)]
    parts += [table["apart"]] if table["apart"] else []
    parts += [console.question_text(cause) for cause in explained[:1]]
    if not parts:
        gap = f"no gap beyond {100 * table['settings']['bound']:.0f} %"
        return f"Right wherever it ran, {gap}." if table["judge"] else f"Not judged, {gap}."
    text = "; ".join(parts)
    # A program's name keeps its small letter.
    return f"{text[0].upper()}{text[1:]}." if text.split()[0] in statuses else f"{text}."


def write(document: dict[str, Any], folder: Path) -> None:
    """Write explain.json, and beside it the reproducer and the reduced program of the first fault that has them."""
    documents.write(folder / "explain.json", document)
    for name, key in ((REPRODUCER, "script"), (REDUCED, "reduced")):
        (folder / name).unlink(missing_ok=True)
        with_one = [answer for answer in document["answers"] if answer[key]]
        if with_one:
            shutil.copyfile(Path(with_one[0]["folder"], name), folder / name)
