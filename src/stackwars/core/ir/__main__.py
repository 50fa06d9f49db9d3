"""Analyse programs for a process that has no MLIR bindings: `python -m stackwars.core.ir`.

Standard input is JSON: [question, its arguments], the question a key of QUESTIONS. Standard output is a JSON list of
the answers, one for each argument.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from stackwars.core import mlir, program_text
from stackwars.core.documents import Row
from stackwars.core.ir import drawing, structure
from stackwars.core.ir.normalise import normalise

RAW, NORMALISED = "raw", "normalised"  # as in stackwars.study.results.schema, which needs pandas
OK, MISSING, UNREADABLE = "ok", "no program", "unreadable"


def forms(text: str) -> list[Row]:
    """Return the rows of both levels of a program; the normalised one has the four structural forms."""
    try:
        raw = mlir.parse(text)
        settled = normalise(raw)
        rows = [
            {"level": level, "status": OK, **structure.metrics(program)}
            for level, program in ((RAW, raw), (NORMALISED, settled))
        ]
        for row in rows:
            row["operations_by_kind"] = json.dumps(row["operations_by_kind"])
        return [rows[0], rows[1] | structure.decide(settled)]
    except mlir.ProgramError as error:
        missing = program_text.missing_reason(text)
        status, detail = (UNREADABLE, str(error)) if missing is None else (MISSING, missing)
        why = {"status": status, "status_detail": detail}
        claims = dict.fromkeys(structure.CLAIMS, structure.NO_PROGRAM)
        return [{"level": RAW, **why}, {"level": NORMALISED, **why, **claims}]


def normalised(text: str) -> str:
    """Return the program in the one form for all its spellings; if it has none, a line with the reason."""
    try:
        return str(normalise(mlir.parse(text)))
    except mlir.ProgramError as error:
        return f"// not normalised: {error}"


def drawn(paths: dict[str, str]) -> str:
    """Return the text for Graphviz of the programs in these files, by their titles, side by side."""
    return drawing.side_by_side({title: drawing.read(Path(path)) for title, path in paths.items()})


QUESTIONS = {"forms": forms, "normalised": normalised, "drawn": drawn}

if __name__ == "__main__":
    question, arguments = json.load(sys.stdin)
    json.dump([QUESTIONS[question](argument) for argument in arguments], sys.stdout)
