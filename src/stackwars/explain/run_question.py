"""Ask one question of the table and print its answer in a short paragraph; a search that fails is an answer too.

`python -m stackwars.explain.run_question cause|fault --job FILE --output FOLDER`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

from stackwars.explain import console
from stackwars.measure import documents, launch

LOG = "search.txt"


def run(kind: str, job: Path, output: Path) -> dict[str, Any]:
    """Return what the search wrote, or that it failed.

    kind: cause or fault, whose module of this package is run in a process of its own.
    """
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{kind}.json"
    path.unlink(missing_ok=True)
    command = [sys.executable, "-m", f"stackwars.explain.{kind}", "--job", str(job), "--output", str(output)]
    with (output / LOG).open("w") as log:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    if not path.exists():
        lines = launch.tail(output / LOG, 1) or f"exit status {done.returncode}"
        documents.write(path, _failed(kind, documents.read(job), lines))
    return documents.read(path)


def _failed(kind: str, question: dict[str, Any], why: str) -> dict[str, Any]:
    """Return the document of a search that ended without one."""
    names = {"schema": 1, "name": question["name"], "compiler": question["compiler"]["name"]}
    a, b, other = question["a"]["label"], question.get("b"), question.get("other")
    if kind == "fault":
        own = {"program": a, "kind": question["suspect"].get("status", "")}
    else:
        own = {"a": a, "b": b and b["label"], "other": other and other["name"]}
    return {**names, **own, "verdict": "failed", "detail": why}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("cause", "fault"))
    parser.add_argument("--job", required=True, type=Path, help="file of the Question, as JSON")
    parser.add_argument("--output", required=True, type=Path)
    options = parser.parse_args()
    found = run(options.kind, options.job, options.output)
    label = documents.read(options.job)["a"]["label"]
    # On one line: what a compiler says can have several, and the terminal shows marked ones alone.
    print("[stackwars]", *console.paragraph(options.kind, label, found).split())


if __name__ == "__main__":
    main()
