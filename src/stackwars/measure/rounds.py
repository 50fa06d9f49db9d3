"""The rounds of a job, each in a folder of its own, where a job that was killed finds those that it had finished.

rounds = Rounds(output, job, [pins])
for number in range(job.settings["rounds"]):
    record = rounds.run(number, measure)      # measure(folder, rng) -> record, which is JSON
rounds.remove()                               # once the result is written
"""

from __future__ import annotations

import hashlib
import json
import random
import secrets
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stackwars.core import documents, machine
from stackwars.core.launch import REPOSITORY

ROUNDS = "rounds"
"""The folder of the rounds of a job that is not done, beside what it writes once it is."""
_JOB, _ROUND = "job.json", "round.json"


class Rounds:
    """The finished rounds of a job, below `output`/rounds.

    seed: what everything random in these rounds is drawn from. It is drawn once by the system, so that each run has
    an order of its own, and a job that resumes has the one that it began with.
    """

    def __init__(self, output: Path, job: Any, files: Iterable[Path]) -> None:
        """job: a dataclass. files: what else decides a result, the pins above all.

        Rounds of another job, other files, other sources or another machine are deleted.
        """
        self.folder = output / ROUNDS
        stamp, path = _stamp(job, files), self.folder / _JOB
        saved = _saved(path)
        if saved is None or saved["stamp"] != stamp:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            saved = {"stamp": stamp, "seed": secrets.randbits(48)}
            path.write_text(json.dumps(saved))
        self.seed: int = saved["seed"]

    def place(self, number: int) -> Path:
        """Return the folder of a round."""
        return self.folder / str(number)

    def run(self, number: int, measure: Callable[[Path, random.Random], dict]) -> dict:
        """Return the record of a round, from its folder if it had finished.

        measure: gets an empty folder for the round's files and what to draw from, and returns the record.
        """
        place = self.place(number)
        if (saved := _saved(place / _ROUND)) is not None:
            return saved
        part = place.with_name(f"{number}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        record = measure(part, random.Random(f"{self.seed} {number}"))
        (part / _ROUND).write_text(json.dumps(record))
        shutil.rmtree(place, ignore_errors=True)
        part.rename(place)
        return record

    def remove(self) -> None:
        """Delete all rounds: what they measured is in the result."""
        shutil.rmtree(self.folder)


def _saved(path: Path) -> dict | None:
    """Return a document of an earlier job, or None without one that is whole."""
    try:
        return documents.read(path) if path.exists() else None
    except documents.Damaged:
        return None


def _stamp(job: Any, files: Iterable[Path]) -> str:
    """Return a digest of everything that a finished round must share with the requested one."""
    own = {"job": asdict(job), "machine": machine.described(machine.record())}
    digest = hashlib.sha256(json.dumps(own, sort_keys=True).encode())
    for path in [*files, *sorted((REPOSITORY / "src" / "stackwars").rglob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()
