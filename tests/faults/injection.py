"""Inject a fault into a copy of a finished run; check that nothing is lost, wrong or unsaid, and that a rerun works."""

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pandas as pd

from faults.scratch import TABLES, Ran, Scratch, copied
from stackwars.core import machine
from stackwars.results import schema

NUMBERS = ("first_ms", "second_ms", "steady_ms", "items_per_s")
EVENTS = {"import", "build", "run", "first", "second", "steady", "timed", "end"}


def nothing(scratch: Scratch) -> None:
    """Do nothing in this step of a fault."""


@dataclass(frozen=True)
class Fault:
    """One fault.

    says: a regular expression of what tells the user, in the output of the runs or in the status of a cell. prepare:
    before the run that meets the fault. run: that run. recover: what the user then does before the same command
    again, of the targets `again`. spends: results that the fault or the recovery destroys. check: of what else it
    could have caused. disk_mb: room of a disk of its own; 0 for none.
    """

    name: str
    says: str
    run: Callable[[Scratch], Ran]
    prepare: Callable[[Scratch], None] = nothing
    recover: Callable[[Scratch], None] = nothing
    again: tuple[str, ...] = (TABLES,)
    spends: tuple[str, ...] = ()
    check: Callable[[Scratch], None] = nothing
    disk_mb: int = 0


def inject(fault: Fault, made: Scratch, home: Path) -> None:
    """Inject a fault into a copy of the finished checkout and recover; fail if it was not survived."""
    with copied(made, home / fault.name, fault.disk_mb) as scratch:
        fault.prepare(scratch)
        before = finished(scratch.results)
        output = fault.run(scratch).output + bad_ends(scratch.results)
        before |= assert_intact(scratch.results, before, fault.spends)
        fault.recover(scratch)
        again = scratch.run(*fault.again)
        assert_intact(scratch.results, before, fault.spends)
        output += again.output
        words = " ".join(output.split())  # the terminal wraps lines
        assert re.search(fault.says, words), f"nothing says {fault.says!r}: {output[-1000:]}"
        assert again.code == 0, f"the run after it failed: {again.output[-1000:]}"
        assert not (bad := bad_ends(scratch.results)), bad
        fault.check(scratch)


def assert_intact(results: Path, before: dict[str, str], spends: tuple[str, ...] = ()) -> dict[str, str]:
    """Check that what was finished exists and that no wrong number is shown; return what is finished now."""
    now = finished(results)
    lost = {name for digest, name in before.items() if digest not in now}
    assert not {name for name in lost if not name.startswith(spends)}, f"lost {sorted(lost)}"
    assert not (wrong := list(wrong_numbers(results))), wrong
    return now


def finished(results: Path) -> dict[str, str]:
    """Return {digest: folder} of every process, compilation and peak, wherever it lies below `results`."""
    found = {}
    for folder, _, names in os.walk(results, followlinks=True):
        for path in (Path(folder, name) for name in names if ".json" in name):
            if ".part" in str(path.parent):
                continue
            try:
                document = json.loads(path.read_text())
            except (OSError, ValueError):
                continue  # no number can be read from it
            for record in _records(path.name, document):
                digest = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
                place = path.parents[2] if path.name == "round.json" else path.parent
                found[digest] = str(place.relative_to(results))
    return found


def _records(name: str, document: dict) -> list[dict]:
    if name.startswith("cell.json"):
        return document["processes"]
    # A round that has finished, of a cell that has not; the process of a growing size.
    is_result = name in ("round.json", "process.json") and document.get("repeated", True)
    return [document] if is_result or name.startswith(("ahead.json", "peak.json")) else []


def native_rows(results: Path) -> pd.DataFrame:
    """Return the native cells of cells.csv, or no row without such a file."""
    path = results / "cells.csv"
    cells = schema.read(path) if path.exists() else schema.empty("cells")
    return cells[cells["mode"] == schema.NATIVE]


def bad_ends(results: Path) -> str:
    """Return a line for each cell that is not ok: its status, and why."""
    rows = native_rows(results)
    return "".join(
        f"\n{row.framework} {row.workload} {row.device}: {row.status}: {row.status_detail}"
        for row in rows[rows["status"] != "ok"].itertuples()
    )


def wrong_numbers(results: Path) -> Iterator[str]:
    """Yield what is wrong with cells.csv, computed from the raw samples by none of the harness's steps."""
    for row in native_rows(results).itertuples():
        name = f"{row.device}/{row.framework}/{row.workload}"
        if row.status == "ok":
            yield from (f"{name}: {problem}" for problem in _problems(results / name, name, row))
        elif not all(pd.isna(getattr(row, number)) for number in NUMBERS):
            yield f"{name}: is {row.status} and has a number"


def _problems(folder: Path, name: str, row) -> Iterator[str]:
    try:
        cell, output = json.loads((folder / "cell.json").read_text()), (folder / "output.npy").read_bytes()
    except (OSError, ValueError) as error:
        yield f"no result: {error}"
        return
    if (cell["device"], cell["framework"], cell["workload"]) != tuple(name.split("/")):
        yield "the result of another cell"
    if hashlib.sha256(output).hexdigest() != cell["output_sha256"]:
        yield "another output than was measured"
    times = {"first": [], "second": []}
    for process in cell["processes"]:
        events = {event["event"]: event for event in process["events"]}
        if process["status"] != "ok" or not events.keys() >= EVENTS:
            yield "a process that did not finish"
            return
        if any(a["at_s"] > b["at_s"] for a, b in pairwise(process["events"])):
            yield "a process whose clock went back"
        if any(process["machine"][key] != machine.record()[key] for key in ("cpu_model", "cores")):
            yield "a process of another machine"
        for stage, values in times.items():
            values.append(events[stage]["ns"] / 1e6)
    for stage, values in times.items():
        expected = math.exp(sum(map(math.log, values)) / len(values))
        if not math.isclose(getattr(row, f"{stage}_ms"), expected, rel_tol=1e-9):
            yield f"{stage}_ms is {getattr(row, f'{stage}_ms')}, on disk it is {expected}"
