"""Counts and structure of every program, as text and normalised: ``python -m stackwars.study.results.program_forms``.

It writes program_forms.json for programs.csv. A program that is missing or cannot be read gives rows that say so."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stackwars.core import documents, program_text
from stackwars.core.documents import Row
from stackwars.core.launch import REPOSITORY, clean_environ
from stackwars.setup.environments import Unavailable, ensure
from stackwars.study import programs
from stackwars.study.keys import Config
from stackwars.study.results.folder import Folder, command

PINS = REPOSITORY / "envs" / "jax.txt"
"""The environment whose MLIR bindings read the text of every framework."""


def ask(question: str, arguments: Sequence[Any]) -> list[Any]:
    """Return what `stackwars.core.ir` answers to a question about each argument, in the environment of PINS.

    :raises Unavailable: if this Python cannot have that environment.
    :raises RuntimeError: if the process fails.
    """
    python = ensure(PINS)
    done = subprocess.run(
        [python, "-m", "stackwars.core.ir"],
        input=json.dumps([question, list(arguments)]),
        capture_output=True,
        text=True,
        env=clean_environ({}),
    )
    if done.returncode:
        raise RuntimeError(
            f"stackwars.core.ir: expected answers, got exit status {done.returncode}: {done.stderr}"
        )
    return json.loads(done.stdout)


def build(config: Config, folder: Folder) -> None:
    """Write program_forms.json: a list of rows with workload, framework and the digest of the text.

    It is empty if this Python cannot have MLIR's bindings.
    """
    paths = {
        program: path
        for program in programs.base_programs(config)
        if (path := Path(folder.measured) / program.path / "program.mlir.gz").exists()
    }
    texts = {program: program_text.read(path) for program, path in paths.items()}
    rows: list[Row] = []
    try:
        answers = ask("forms", list(texts.values()))
    except Unavailable:
        texts, answers = {}, []
    for (program, text), program_rows in zip(texts.items(), answers, strict=True):
        names = {"workload": program.workload, "framework": program.framework}
        digest = hashlib.sha256(text.encode()).hexdigest()
        rows += [{**names, "sha256": digest, **row} for row in program_rows]
    documents.write(folder["program_forms"], rows)


if __name__ == "__main__":
    command(build, ValueError)
