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
    reason, status = program_text.missing_reason(text), MISSING
    if reason is None:
        try:
            raw = mlir.parse(text)
            settled = normalise(raw)
            return [
                {"level": RAW, "status": OK, **_counted(raw)},
                {"level": NORMALISED, "status": OK, **_counted(settled), **structure.decide(settled)},
            ]
        except mlir.ProgramError as error:
            reason, status = str(error), UNREADABLE
    rows = [{"level": at, "status": status, "status_detail": reason} for at in (RAW, NORMALISED)]
    return [rows[0], rows[1] | dict.fromkeys(structure.CLAIMS, structure.NO_PROGRAM)]


def _counted(program: mlir.ir.Module) -> Row:
    result = structure.metrics(program)
    return result | {"operations_by_kind": json.dumps(result["operations_by_kind"])}


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
