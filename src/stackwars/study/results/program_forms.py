"""Counts and structure of every program, as text and normalised: ``python -m stackwars.study.results.program_forms``.

Runs in the jax environment, whose MLIR bindings read the text of every framework, and writes
program_forms.json for programs.csv. A program that is missing or cannot be read gives rows that say so."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from stackwars.core import documents, program_text
from stackwars.core.documents import Row
from stackwars.setup.environments import why_unavailable
from stackwars.study import programs
from stackwars.study.keys import Config
from stackwars.study.results.folder import Folder, command

if not why_unavailable():
    from stackwars.core import mlir
    from stackwars.core.ir import structure
    from stackwars.core.ir.normalise import normalise

RAW, NORMALISED = "raw", "normalised"  # as in stackwars.study.results.schema, which needs pandas
OK, MISSING, UNREADABLE = "ok", "no program", "unreadable"


def analyse(text: str) -> list[Row]:
    """Return the rows of both levels of one program; the normalised one has the four structural forms."""
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


def build(config: Config, folder: Folder) -> None:
    """Write program_forms.json: a list of rows with workload, framework and the digest of the text."""
    rows: list[Row] = []
    for program in [] if why_unavailable() else programs.base_programs(config):
        path = Path(folder.measured) / program.path / "program.mlir.gz"
        if path.exists():
            text = program_text.read(path)
            names = {"workload": program.workload, "framework": program.framework}
            digest = hashlib.sha256(text.encode()).hexdigest()
            rows += [{**names, "sha256": digest, **row} for row in analyse(text)]
    documents.write(folder["program_forms"], rows)


if __name__ == "__main__":
    command(build, ValueError)
