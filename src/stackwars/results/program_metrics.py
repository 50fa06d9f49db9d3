"""Tables of the programs: numbers at every level, and the four structural claims decided.

Runs in the jax environment, whose MLIR bindings read the text of every framework. The optimised
level comes from what the compile-ahead cells counted in the compiler's own output. A program or a
compile that there is none of gives a row that says so.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import sys
from pathlib import Path

from stackwars import workloads
from stackwars.ir import metrics, module, structure
from stackwars.ir.normalise import normalise
from stackwars.measure import documents

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


def compiles(paths: list[Path]) -> dict[tuple[str, str, str], dict]:
    """(workload, framework, target) -> content of its ahead.json.

    Raises ValueError where two files are of one target, or one is of another variant than `base`.
    """
    found: dict[tuple[str, str, str], dict] = {}
    for path in paths:
        content = documents.read(path)
        key = content["workload"], content["framework"], content["target"]
        if content["variant"] != "base" or key in found:
            raise ValueError(
                f"{path}: expected one compile of the variant base for each workload, framework "
                f"and target; came variant {content['variant']} of compiler {content['compiler']}"
                f"{', a second one' if key in found else ''}; name the files of one compiler only"
            )
        found[key] = content
    return found


def tables(
    programs: dict[Key, Path],
    ahead: dict[tuple[str, str, str], dict],
    targets: list[str],
    origin: str,
) -> tuple[list[Row], list[Row]]:
    """Rows of ir_metrics.csv and of structure.csv, in the order of the programs."""
    rows: list[Row] = []
    decided: list[Row] = []
    for (workload, framework), path in programs.items():
        text = module.read(path)
        found, claims = analyse(text)
        who = {
            "workload": workload,
            "title": workloads.load(workload).TITLE,
            "framework": framework,
        }
        digest = "" if module.missing(text) else hashlib.sha256(text.encode()).hexdigest()
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


def _program(text: str) -> tuple[Key, Path]:
    cell, _, path = text.partition("=")
    workload, _, framework = cell.partition("/")
    if not (workload and framework and path):
        raise argparse.ArgumentTypeError(f"expected WORKLOAD/FRAMEWORK=FILE; came {text}")
    return (workload, framework), Path(path)


def main() -> None:
    """`python -m stackwars.results.program_metrics --program gemm/jax=FILE ... --metrics-output FILE ...`."""
    parser = argparse.ArgumentParser(description=main.__doc__, fromfile_prefix_chars="@")
    parser.add_argument("--program", nargs="+", action="extend", type=_program, default=[])
    parser.add_argument(
        "--ahead", nargs="+", action="extend", type=Path, default=[], help="ahead.json files"
    )
    parser.add_argument(
        "--target",
        nargs="+",
        action="extend",
        default=[],
        help="targets that every program gets a row for; default: those of the ahead files",
    )
    parser.add_argument("--metrics-output", type=Path, required=True)
    parser.add_argument("--structure-output", type=Path, required=True)
    parser.add_argument("--origin", default="measured")
    given = parser.parse_args()
    try:
        ahead = compiles(given.ahead)
        targets = given.target or list(dict.fromkeys(target for _, _, target in ahead))
        rows, decided = tables(dict(given.program), ahead, targets, given.origin)
    except ValueError as error:
        sys.exit(f"[ir_metrics] {error}")
    write(given.metrics_output, COLUMNS, rows)
    write(given.structure_output, STRUCTURE_COLUMNS, decided)


if __name__ == "__main__":
    main()
