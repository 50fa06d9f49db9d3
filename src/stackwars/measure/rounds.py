"""The rounds of a job, each in its own folder; a job that resumes reuses the rounds that had finished.

rounds = Rounds(output, job, [pins])
for number in rounds.numbers(count):
    record = rounds.run(number, measure)      # measure(folder, rng) -> record, which is JSON

The folders stay once the result is written: a request for more rounds adds to them. The number of rounds is no part
of the job.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stackwars.core import documents, machine
from stackwars.core.launch import REPOSITORY

ROUNDS = "rounds"
"""Folder of a job's rounds, next to the files that the job writes once they are done."""
_JOB, _ROUND = "job.json", "round.json"
_MEASURING = (
    *("core/**/*.py", "measure/**/*.py", "setup/**/*.py"),
    *("study/audits/*.py", "study/workflow/jobs.py"),
)
"""Files of the package that decide what a round measures; a job has what the others decide."""


class Rounds:
    """The finished rounds of a job, below `output`/rounds.

    seed: of everything random in these rounds. The system draws it once, so that runs differ in their order, and a job
    that resumes continues with its seed.
    """

    def __init__(self, output: Path, job: Any, files: Iterable[Path]) -> None:
        """job: a dataclass. files: others that decide a result, above all the pins.

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

    def numbers(self, count: int) -> Iterator[int]:
        """Yield the numbers of `count` rounds, and of further rounds that had finished: none is dropped."""
        for number in itertools.count():
            if number >= count and _saved(self.place(number) / _ROUND) is None:
                return
            yield number

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


def finished(output: Path) -> int:
    """Return how many rounds of a job have finished. output: its folder."""
    return len(list(output.glob(f"{ROUNDS}/*/{_ROUND}")))


def _saved(path: Path) -> dict | None:
    """Return a document of an earlier job; None if it is missing or damaged."""
    try:
        return documents.read(path) if path.exists() else None
    except documents.Damaged:
        return None


def _stamp(job: Any, files: Iterable[Path]) -> str:
    """Return a digest of everything that a finished round must share with the requested one."""
    identity = {"job": asdict(job), "machine": machine.described(machine.record())}
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode())
    package = REPOSITORY / "src" / "stackwars"
    for path in [*files, *sorted(path for pattern in _MEASURING for path in package.glob(pattern))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()
