"""Compare programs for the report: ``python -m stackwars.publish.report.programs``."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from stackwars.core import program_text
from stackwars.measure import workloads
from stackwars.measure.stablehlo import optimised
from stackwars.publish.report.align import form, hlo_side, side
from stackwars.setup.environments import Unavailable
from stackwars.study import printed
from stackwars.study.keys import Config
from stackwars.study.programs import BASE, Program
from stackwars.study.results.folder import ACCEPTED, Folder, command
from stackwars.study.results.programs import ask

MOST_CHARACTERS = 500_000
"""The length of a program's text: LLaMA's has 410,000; one with its constants written out may have ten million."""
Sources = dict[str, list[str | None] | None]
"""{framework: the source of each line of its program, None if it does not say them}."""


def programs(config: Config, measured: Path) -> list[dict[str, Any]]:
    """Return the programs of each workload of which two frontends have one (see `_compared`)."""
    emitted = printed.emitted(config, measured, ACCEPTED).items()
    rows = (
        (workload, {name: first_program(files) for name, files in row.items()}) for workload, row in emitted
    )
    shown = [
        _compared(measured, workload, {name: one for name, one in row.items() if one}) for workload, row in rows
    ]
    return [one for one in shown if len(one["frameworks"]) > 1]


def _compared(measured: Path, workload: str, emitted: dict[str, tuple[Path, str]]) -> dict[str, Any]:
    """Return the frameworks of the programs, the accepted run of each that is not of this run, what is left out and
    why, and for each form which line stands for which of another."""
    texts = {name: text for name, (_, text) in emitted.items() if len(text) <= MOST_CHARACTERS}
    paths = {name: emitted[name][0] for name in texts}
    arguments = {name: measured / Program(name, workload, BASE).path / "arguments.json" for name in texts}
    sources = {name: located(arguments[name], text) for name, text in texts.items()}
    forms = {
        "as emitted": form({name: side(text, sources[name]) for name, text in texts.items()}),
        "normalised": form({name: side(text) for name, text in normalised(texts).items()}),
    }
    optimised_form, why = compiled(paths, texts, sources)
    return {
        "workload": workload,
        "title": workloads.load(workload).TITLE,
        "frameworks": list(texts),
        "runs": {name: run for name, path in paths.items() if (run := accepted_run(path))},
        "left_out": {
            name: f"its text has {len(text)} characters, more than {MOST_CHARACTERS}"
            for name, (_, text) in emitted.items()
            if name not in texts
        },
        "forms": forms | ({"optimised": optimised_form} if optimised_form else {}),
        "not_optimised": why,
    }


def first_program(paths: list[Path]) -> tuple[Path, str] | None:
    """Return (the first of these files that has a program, its text); None if none has."""
    for path in paths:
        text = program_text.read(path)
        if not program_text.missing_reason(text):
            return path, text
    return None


def accepted_run(path: Path) -> str:
    """Return the accepted run that a file belongs to; "" for another file."""
    return path.relative_to(ACCEPTED).parts[0] if path.is_relative_to(ACCEPTED) else ""


def located(path: Path, text: str) -> list[str | None] | None:
    """Return the source of each line of a program, from its arguments.json; None if that does not say it."""
    document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    digest = hashlib.sha256(text.encode()).hexdigest()
    if "sources" not in document or document["program_sha256"] != digest:
        return None
    return program_text.load_sources(document["sources"])


def compiled(
    paths: dict[str, Path], texts: dict[str, str], sources: Sources
) -> tuple[dict[str, Any] | None, dict[str, str]]:
    """Return (the optimised programs, as `form`, with the compiler's name; why a frontend has none).

    paths: the files of the emitted programs. No form if fewer than two have an optimised program.
    """
    sides, why, compilers = {}, {}, []
    for name, text in texts.items():
        try:
            compiler, hlo = optimised.read(paths[name].with_name(printed.OPTIMISED), text.encode())
            sides[name] = hlo_side(hlo, sources[name])
            compilers.append(compiler)
        except ValueError as error:
            why[name] = str(error)
    return ({"compiler": compilers[0], **form(sides)} if len(sides) > 1 else None), why


def normalised(texts: dict[str, str]) -> dict[str, str]:
    """Return programs in the one form for all their spellings; for one that has none, a line that says why."""
    try:
        return dict(zip(texts, ask("normalised", list(texts.values())), strict=True))
    except Unavailable as error:
        return dict.fromkeys(texts, f"// not normalised: {error}")


def write(config: Config, folder: Folder) -> None:
    document = {"programs": programs(config, folder.measured)}
    text = json.dumps(document, separators=(",", ":")) + "\n"
    folder["report_programs"].write_text(text, encoding="utf-8")


if __name__ == "__main__":
    command(write)
