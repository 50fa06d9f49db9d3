"""The programs of the report, side by side: ``python -m stackwars.report.programs``, in JAX's environment."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from stackwars import workloads
from stackwars.compilers import optimised
from stackwars.ir.missing import missing
from stackwars.ir.module import ProgramError, parse
from stackwars.ir.normalise import normalise
from stackwars.report.align import side_by_side
from stackwars.report.optimised import side_by_side as hlo_side_by_side
from stackwars.results.folder import ACCEPTED, Folder, command
from stackwars.study import printed


def programs(config: dict, measured: Path) -> list[dict[str, Any]]:
    """The programs that the paper lists, two frameworks' of each workload, and which line stands for which.

    Of a workload that this run has not, those of the accepted run that has.
    """
    here = {
        workload: {cell.framework: measured / cell.path / printed.PROGRAM for cell in cells}
        for workload, cells in printed.listed(config).items()
    }
    found = []
    for workload, paths in {**here, **printed.listed_elsewhere(config, ACCEPTED)}.items():
        if len(paths) < 2 or not all(path.exists() for path in paths.values()):
            continue
        texts = {name: gzip.decompress(path.read_bytes()).decode() for name, path in paths.items()}
        if any(missing(text) for text in texts.values()):
            continue
        sides = list(texts)[:2]
        emitted = [texts[side] for side in sides]
        form, why = compiled([paths[side] for side in sides], emitted)
        found.append(
            {
                "workload": workload,
                "title": workloads.load(workload).TITLE,
                "sides": sides,
                "forms": {
                    "as emitted": side_by_side(*emitted),
                    "normalised": side_by_side(*map(normalised, emitted)),
                    **({"optimised": form} if form else {}),
                },
                "not_optimised": why,
            }
        )
    return found


def compiled(paths: list[Path], emitted: list[str]) -> tuple[dict[str, Any] | None, str]:
    """(the optimised programs of two emitted ones, side by side, with the compiler's name; why there are none).

    paths: of the emitted programs.
    """
    try:
        kept = [
            optimised.read(path.with_name(printed.OPTIMISED), text.encode())
            for path, text in zip(paths, emitted, strict=True)
        ]
        compilers, texts = zip(*kept, strict=True)
        return {"compiler": compilers[0], **hlo_side_by_side(*texts)}, ""
    except ValueError as error:
        return None, str(error)


def normalised(text: str) -> str:
    """The program in the one form for all its spellings; where it has none, a line that says why."""
    try:
        return str(normalise(parse(text)))
    except ProgramError as error:
        return f"// not normalised: {error}"


def write(config: dict, folder: Folder) -> None:
    """report_programs.json of a run."""
    document = {"programs": programs(config, folder.measured)}
    folder["report_programs"].write_text(json.dumps(document, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    command(write)
