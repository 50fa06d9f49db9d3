"""The programs of the report, side by side: ``python -m stackwars.report.programs``, in JAX's environment."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

from stackwars import workloads
from stackwars.compilers import optimised
from stackwars.ir import source_lines
from stackwars.ir.missing import missing
from stackwars.ir.module import ProgramError, parse
from stackwars.ir.normalise import normalise
from stackwars.report.align import form, side
from stackwars.report.optimised import side as hlo_side
from stackwars.results.folder import ACCEPTED, Folder, command
from stackwars.study import printed
from stackwars.study.programs import BASE, Program

MOST_CHARACTERS = 500_000
"""Of a program's text: LLaMA's has 410,000; one with its constants written out may have ten million."""
EMITTED, NORMALISED = "as emitted", "normalised"
"""The forms that are made from the emitted text."""


def programs(config: dict, measured: Path) -> list[dict[str, Any]]:
    """The programs of each workload of which two frontends have one: whose they are, the accepted run of each
    that is not of this run, what is left out and why, and of each form which line stands for which of another.
    """
    found = []
    for workload, files in printed.emitted(config, measured, ACCEPTED).items():
        emitted = {name: first_program(paths) for name, paths in files.items()}
        paths = {name: one[0] for name, one in emitted.items() if one}
        texts = {name: one[1] for name, one in emitted.items() if one}
        left_out = {
            name: f"its text has {len(text)} characters, more than {MOST_CHARACTERS}"
            for name, text in texts.items()
            if len(text) > MOST_CHARACTERS
        }
        texts = {name: text for name, text in texts.items() if name not in left_out}
        if len(texts) < 2:
            continue
        sources = {
            name: located(measured / Program(name, workload, BASE).path / "arguments.json", text)
            for name, text in texts.items()
        }
        forms = {
            EMITTED: form({name: side(text, sources[name]) for name, text in texts.items()}),
            NORMALISED: form({name: side(normalised(text)) for name, text in texts.items()}),
        }
        optimised, why = compiled(paths, texts, sources)
        found.append(
            {
                "workload": workload,
                "title": workloads.load(workload).TITLE,
                "frameworks": list(texts),
                "runs": {name: run for name in texts if (run := accepted_run(paths[name]))},
                "left_out": left_out,
                "forms": forms | ({"optimised": optimised} if optimised else {}),
                "not_optimised": why,
            }
        )
    return found


def first_program(paths: list[Path]) -> tuple[Path, str] | None:
    """(the first of these files that has a program, its text); None where none has."""
    for path in paths:
        text = gzip.decompress(path.read_bytes()).decode()
        if not missing(text):
            return path, text
    return None


def accepted_run(path: Path) -> str:
    """The accepted run that a file is of; empty of another file."""
    return path.relative_to(ACCEPTED).parts[0] if path.is_relative_to(ACCEPTED) else ""


def located(path: Path, text: str) -> list[str | None] | None:
    """The source of each line of a program, from its arguments.json; None where that does not tell."""
    document = json.loads(path.read_text()) if path.exists() else {}
    digest = hashlib.sha256(text.encode()).hexdigest()
    if "sources" not in document or document["program_sha256"] != digest:
        return None
    return source_lines.load(document["sources"])


def compiled(
    paths: dict[str, Path],
    texts: dict[str, str],
    sources: dict[str, list[str | None] | None],
) -> tuple[dict[str, Any] | None, dict[str, str]]:
    """(the optimised programs, as `form`, with the compiler's name; of each frontend without one, why).

    paths: the files of the emitted programs, of which `texts` has those that are shown. sources: of each of
    their lines, where known. No form where fewer than two have an optimised program.
    """
    sides, why, compilers = {}, {}, []
    for name, text in texts.items():
        try:
            compiler, kept = optimised.read(paths[name].with_name(printed.OPTIMISED), text.encode())
            sides[name] = hlo_side(kept, sources[name])
            compilers.append(compiler)
        except ValueError as error:
            why[name] = str(error)
    return ({"compiler": compilers[0], **form(sides)} if len(sides) > 1 else None), why


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
