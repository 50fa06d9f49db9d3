"""What `make explain` answered, of the answers that are committed with the reference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stackwars.core.numbers import shortened
from stackwars.explain import answer, console
from stackwars.explain.answer import Answer, Cause, Fault, Option, Question, Region

Row = dict[str, Any]
FOLDER = "explain"
PLANTED = "planted_pairs.json"
"""The file of searches of programs whose difference is known, which is no answer."""


def explained(reference: Path) -> list[Row]:
    """Return the answers of every file in the folder, those about workloads first.

    Each: the answer's name, title, workload and command; kind (cause or fault), compiler, subject and baseline
    (or the other compiler), verdict, sentence, share that is closed and its interval, regions, cures (what
    makes the fault or the gap go away), the program that it was reduced to and the script that reproduces it.
    """
    paths = sorted((reference / FOLDER).glob("*.json"))
    rows = [row for path in paths if path.name != PLANTED for row in _rows(answer.read(Answer, path))]
    return sorted(rows, key=lambda row: not row["workload"])


def _rows(found: Answer) -> Iterator[Row]:
    about = {name: getattr(found, name) for name in ("name", "title", "command")}
    # A file outside the workloads names itself there.
    about["workload"] = "" if "/" in found.workload else found.workload
    answers = {(type(one), one.name): one for one in (*found.causes, *found.faults)}
    for question in found.table.questions:
        one = answers.get((Fault if question.kind == "fault" else Cause, question.id))
        if one:
            yield about | _row(question, one)


def _row(question: Question, found: Cause | Fault) -> Row:
    is_fault = isinstance(found, Fault)
    closed = None if is_fault else found.closed
    return {
        "kind": question.kind,
        "compiler": question.compiler,
        "subject": question.a,
        "baseline": question.b or "",
        "other": question.other or "",
        "verdict": found.verdict,
        "sentence": console.paragraph(found),
        **{name: _digits(closed and getattr(closed, name)) for name in ("share", "low", "high")},
        "regions": [] if is_fault else list(map(_region, found.regions)),
        "cures": found.cures if is_fault else list(map(_cure, found.options)),
        "reduced": found.reduced if is_fault else "",
        "script": found.script if is_fault else "",
    }


def _region(region: Region) -> Row:
    return {
        "what": region.what,
        "count": region.count,
        "subject_line": region.line_a,
        "baseline_line": region.line_b,
        "subject_ms": _digits(region.a_ms),
        "baseline_ms": _digits(region.b_ms),
        "share": _digits(region.share),
        "why": region.reason.sentence,
        "subject": region.a,
        "baseline": region.b,
    }


def _cure(option: Option) -> str:
    """Return an option that changes a gap between compilers, with what it does."""
    return f"{option.flag} ({option.ratio:.3g} times the time in {option.compiler})"


def _digits(value: float | None) -> float | None:
    return None if value is None else shortened(value)
