"""Ask one question and print its answer in a short paragraph; a search that fails is an answer too.

`python -m stackwars.explain.run_question cause|fault --job FILE --output FOLDER`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from stackwars.explain import console
from stackwars.explain.question import Question
from stackwars.measure import documents, launch

LOG = "search.txt"
DETAIL = 500
"""Characters of what a failed search said."""


def run(kind: str, job: Path, output: Path) -> dict[str, Any]:
    """Return what the search wrote, or that it failed.

    kind: cause or fault, whose module of this package is run in a process of its own.
    """
    output.mkdir(parents=True, exist_ok=True)
    path, start = output / f"{kind}.json", time.monotonic()
    path.unlink(missing_ok=True)
    command = [sys.executable, "-m", f"stackwars.explain.{kind}", "--job", str(job), "--output", str(output)]
    with (output / LOG).open("w") as log:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    if not path.exists():
        why = f"the search ended with status {done.returncode}: {launch.tail(output / LOG, 1)[-DETAIL:]}"
        failed = Question.read(job).failed(kind, why)
        documents.write(path, failed | {"seconds": round(time.monotonic() - start, 1)})
    return documents.read(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("cause", "fault"))
    parser.add_argument("--job", required=True, type=Path, help="file of the Question, as JSON")
    parser.add_argument("--output", required=True, type=Path)
    options = parser.parse_args()
    found = run(options.kind, options.job, options.output)
    # On one line: what a compiler says can have several, and the terminal shows marked ones alone.
    print("[stackwars]", *console.paragraph(options.kind, found).split())


if __name__ == "__main__":
    main()
