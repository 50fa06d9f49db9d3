"""Tables of the programs: numbers at every level, and the four structural claims decided.

Runs in the jax environment, whose MLIR bindings read the text of every framework. The optimised
level comes from what the compile-ahead cells counted in the compiler's own output. A program or a
compile that there is none of gives a row that says so.
"""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

from stackwars import workloads
from stackwars.ir import metrics, module, structure
from stackwars.ir.normalise import normalise
from stackwars.measure import documents
from stackwars.results.folder import Folder, command
from stackwars.study import programs

RAW, NORMALISED, OPTIMISED = "raw", "normalised", "optimised:"
OK, MISSING, UNREADABLE = "ok", "no program", "unreadable"
NOT_COMPILED = "not compiled"
MEASURES = (
    *("operations", "operations_by_kind", "reshapes", "transposes", "broadcasts"),
    *("layout_bytes", "depth", "canonical_hash"),
)
KEYS = ("workload", "title", "framework", "level", "status", "reason")
COLUMNS = (*KEYS, *MEASURES, "origin")
STRUCTURE_COLUMNS = ("workload", "title", "claim", "framework", "verdict", "evidence")
_NO_OPERATION = ("constant", "parameter")  # in HLO's words

Key = tuple[str, str]  # workload and framework
Row = dict[str, object]


def analyse(text: str) -> tuple[list[Row], list[structure.ClaimVerdict]]:
    """Rows of the raw and the normalised level, and the claims, of one program's text.

    A text without a readable program gives rows with status and reason, and claims that say so.
    """
    reason, status = module.missing(text), MISSING
    if reason is None:
        try:
            raw = module.parse(text)
            settled = normalise(raw)
            rows = [
                {"level": level, "status": OK} | metrics.metrics(program)
                for level, program in ((RAW, raw), (NORMALISED, settled))
            ]
            return rows, structure.decide(settled)
        except module.ProgramError as error:
            reason, status = str(error), UNREADABLE
    rows = [{"level": at, "status": status, "reason": reason} for at in (RAW, NORMALISED)]
    claims = [structure.ClaimVerdict(c, structure.NO_PROGRAM, reason) for c in structure.CLAIMS]
    return rows, claims


def optimised(target: str, compiled: dict | None) -> Row:
    """The row of one target from an ahead.json's content; None where there is no such file.

    Operations leave out constants and parameters. HLO has no canonical hash: that column is empty.
    """
    row: Row = {"level": f"{OPTIMISED}{target}", "status": OK}
    if compiled is None:
        return row | {"status": NOT_COMPILED, "reason": "no compile for this target was made"}
    hlo = compiled["hlo"]
    if hlo is None:
        told = compiled["verdict"] if compiled["status"] == OK else compiled["status"]
        return row | {"status": NOT_COMPILED, "reason": f"{told}: {compiled['message']}"}
    kinds = {k: n for k, n in hlo["operations_by_kind"].items() if k not in _NO_OPERATION}
    return row | {
        "operations": sum(kinds.values()),
        "operations_by_kind": kinds,
        **{f"{kind}s": kinds.get(kind, 0) for kind in ("reshape", "transpose", "broadcast")},
        "layout_bytes": hlo["layout_bytes"],
        "depth": hlo["depth"],
    }


def tables(
    texts: dict[Key, Path],
    ahead: dict[tuple[str, str, str], dict],
    targets: list[str],
    origin: str,
) -> tuple[list[Row], list[Row]]:
    """Rows of ir_metrics.csv and of structure.csv, in the order of the programs."""
    rows: list[Row] = []
    decided: list[Row] = []
    for (workload, framework), path in texts.items():
        text = module.read(path)
        found, claims = analyse(text)
        who = {
            "workload": workload,
            "title": workloads.load(workload).TITLE,
            "framework": framework,
        }
        digest = hashlib.sha256(text.encode()).hexdigest()
        for target in targets:
            compiled = ahead.get((workload, framework, target))
            if compiled is not None and compiled["program_sha256"] != digest:
                raise ValueError(
                    f"{path}: expected the program that was compiled for {target}, of digest "
                    f"{compiled['program_sha256']}; this one's is {digest}; compile it again"
                )
            found.append(optimised(target, compiled))
        rows += [who | {"origin": origin} | row for row in found]
        decided += [who | vars(claim) for claim in claims]
    return rows, decided


def write(path: Path, columns: tuple[str, ...], rows: list[Row]) -> None:
    """Write rows as CSV; dicts become JSON, what a row does not have stays empty."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: _cell(value) for key, value in row.items()})


def _cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict) else value


def build(config: dict, folder: Folder) -> None:
    """From the programs and their compilations to ir_metrics.csv and structure.csv.

    Of what the configuration asks for, what there is; every program gets a row for each target that any
    program was compiled for. Raises ValueError where a compilation is of another program.
    """
    texts = {
        (program.workload, program.framework): path
        for program in programs.base_programs(config)
        if (path := folder.measured / program.path / "program.mlir.gz").exists()
    }
    ahead = {
        (one.program.workload, one.program.framework, one.target): documents.read(path)
        for one in programs.base_compilations(config)
        if (path := folder.measured / one.path / "ahead.json").exists()
    }
    targets = list(dict.fromkeys(target for _, _, target in ahead))
    rows, decided = tables(texts, ahead, targets, config["results"])
    write(folder["metrics"], COLUMNS, rows)
    write(folder["structure"], STRUCTURE_COLUMNS, decided)


if __name__ == "__main__":
    command(build, ValueError)
