"""One fault, injected: what was lost and wrongly shown, what the user was told, whether the run recovered."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from faults import shown
from faults.fault import NOT_SURVIVED, NOT_TRIED, SURVIVED, Fault, NotTried, Outcome
from faults.finished import Finished, finished, lost
from faults.scratch import PAPER, Scratch, copy
from stackwars.measure.launch import printable

LONGEST = 300
"""Characters of a line that are kept."""


def inject(fault: Fault, scratch: Scratch) -> Outcome:
    """Inject a fault and recover from it; return the outcome."""
    start, trial = time.monotonic(), _Trial(fault, scratch)
    try:
        trial.run()
    except NotTried as reason:
        return Outcome(fault, NOT_TRIED, why=str(reason))
    except Exception as error:
        trial.problems.append(f"{type(error).__name__}: {error}")
    lost, wrong = tuple(sorted(trial.lost)), tuple(sorted(trial.wrong))
    return Outcome(
        fault,
        NOT_SURVIVED if lost or wrong or trial.problems else SURVIVED,
        lost,
        wrong,
        said=trial.said,
        why=printable("; ".join([*lost, *wrong, *trial.problems])),
        seconds=time.monotonic() - start,
    )


class _Trial:
    def __init__(self, fault: Fault, scratch: Scratch) -> None:
        self._fault, self._scratch = fault, scratch
        self.lost: set[str] = set()
        self.wrong: set[str] = set()
        self.problems: list[str] = []
        self.said = ""

    def run(self) -> None:
        fault, scratch = self._fault, self._scratch
        fault.prepare(scratch)
        before = finished(scratch.results)
        ran = fault.run(scratch)
        said = f"{ran.said}\n{shown.bad_ends(scratch.results)}"
        before |= self._look(before)
        fault.recover(scratch)
        again = scratch.run(*fault.again)
        self._look(before)
        self._hear(f"{said}\n{again.said}")
        if again.code:
            self.problems.append(f"the run after it failed: {again.said[-500:]}")
        elif bad := shown.bad_ends(scratch.results):
            self.problems.append(f"after it a cell is not ok: {bad}")
        self.problems += fault.extra(scratch)

    def _look(self, before: Finished) -> Finished:
        """Note what is lost and what is wrong now; what is finished, and has to stay so."""
        now = finished(self._scratch.results)
        self.lost |= set(lost(before, now, self._fault.spends))
        self.wrong |= set(shown.wrong(self._scratch.results))
        paper, table = self._scratch.folder / PAPER, self._scratch.results / "cells.csv"
        if paper.exists() and table.exists() and paper.stat().st_mtime > table.stat().st_mtime:
            self.wrong |= set(shown.wrong_in_paper(_text(paper), self._scratch.results))
        return now

    def _hear(self, said: str) -> None:
        """Note the line by which the user knows."""
        lines = [line for line in said.splitlines() if re.search(self._fault.says, line)]
        if lines:
            line = lines[0].replace(str(self._scratch.folder), ".").strip()
            self.said = printable(line)[:LONGEST]
        else:
            self.problems.append(f"nothing says {self._fault.says!r}; said was {said[-500:]}")


def _text(paper: Path) -> str:
    from pypdf import PdfReader

    return " ".join(page.extract_text() for page in PdfReader(paper).pages)


@contextlib.contextmanager
def copied(fault: Fault, made: Scratch, home: Path) -> Iterator[Scratch]:
    """A copy of the finished checkout for one fault, on a disk of its own where it needs that.

    Raises NotTried where the machine lets nobody mount one.
    """
    folder = home / fault.identity
    _discard(folder)
    folder.mkdir(parents=True)
    try:
        if fault.disk_mb:
            _mount(folder, _size_mb(made.folder) + fault.disk_mb)
        yield copy(made, folder)
    finally:
        _discard(folder)


def _size_mb(folder: Path) -> int:
    done = subprocess.run(["du", "-sm", str(folder)], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0])


def _mount(folder: Path, megabytes: int) -> None:
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise NotTried(f"a small disk could not be mounted: {done.stderr.strip()}")


def _discard(folder: Path) -> None:
    """Unmount what is mounted there, and delete it with its logs."""
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for place in sorted(mounts, reverse=True):
        if Path(place).is_relative_to(folder):
            subprocess.run(["umount", "-l", place], check=False)
    if folder.exists():
        subprocess.run(["chmod", "-R", "u+w", str(folder)], check=False)
        shutil.rmtree(folder)
    for log in folder.parent.glob(f"{folder.name}-[0-9]*.log"):
        log.unlink()
