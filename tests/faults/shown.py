"""What a folder of results shows, against the raw samples on disk: computed by none of the harness's steps."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pandas as pd

from stackwars.measure import machine
from stackwars.paper.latex import significant
from stackwars.results import schema

NUMBERS = ("first_ms", "second_ms", "steady_ms", "items_per_s")
EVENTS = {"import", "build", "run", "first", "second", "steady", "timed", "end"}


def rows(results: Path) -> pd.DataFrame:
    """Return the native cells of cells.csv; no row without such a file."""
    path = results / "cells.csv"
    cells = schema.read(path) if path.exists() else schema.empty("cells")
    return cells[cells["mode"] == schema.NATIVE]


def bad_ends(results: Path) -> str:
    """A line for each cell that is not ok: its status, and why."""
    frame = rows(results)
    return "\n".join(
        f"{row.framework} {row.workload} {row.device}: {row.status}: {row.status_detail}"
        for row in frame[frame["status"] != "ok"].itertuples()
    )


def wrong(results: Path, here: dict | None = None) -> list[str]:
    """Return the numbers in cells.csv that are not those of a valid result on disk, each with why.

    here: this machine, as `stackwars.measure.machine` records it.
    """
    found, here = [], here or machine.record()
    for row in rows(results).itertuples():
        name = f"{row.device}/{row.framework}/{row.workload}"
        if row.status == "ok":
            found += [f"{name}: {problem}" for problem in _problems(results, name, row, here)]
        elif not all(pd.isna(getattr(row, number)) for number in NUMBERS):
            found.append(f"{name}: is {row.status} and has a number")
    return found


def wrong_in_paper(text: str, results: Path) -> list[str]:
    """Numbers of ok cells that the paper's text does not have."""
    text = "".join(text.split())
    frame = rows(results)
    return [
        f"{row.framework} {row.workload}: {value} ms is not in the paper"
        for row in frame[frame["status"] == "ok"].itertuples()
        for value in (significant(row.first_ms, 4), significant(row.second_ms, 4))
        if value not in text
    ]


def _problems(results: Path, name: str, row, here: dict) -> Iterator[str]:
    folder = results / name
    try:
        cell = json.loads((folder / "cell.json").read_text())
        output = (folder / "output.npy").read_bytes()
    except (OSError, ValueError) as error:
        yield f"no whole result is behind it: {error}"
        return
    if (cell["device"], cell["framework"], cell["workload"]) != tuple(name.split("/")):
        yield "another cell's result is behind it"
    if hashlib.sha256(output).hexdigest() != cell["output_sha256"]:
        yield "another output is behind it than was measured"
    processes = cell["processes"]
    broken = [problem for process in processes for problem in _process_problems(process, here)]
    yield from broken
    if broken:
        return
    for stage in ("first", "second"):
        expected = _geometric_mean([_event(process, stage)["ns"] / 1e6 for process in processes])
        if not math.isclose(getattr(row, f"{stage}_ms"), expected, rel_tol=1e-9):
            yield f"{stage}_ms is {getattr(row, f'{stage}_ms')}, on disk it is {expected}"
    blocks = [ms for process in processes for ms in _blocks(process)]
    if not min(blocks) <= row.steady_ms * (1 + 1e-9) <= max(blocks) * (1 + 2e-9):
        yield f"steady_ms is {row.steady_ms}, no block on disk is like it"


def _process_problems(process: dict, here: dict) -> Iterator[str]:
    if process["status"] != "ok" or not {event["event"] for event in process["events"]} >= EVENTS:
        yield f"process {process['repetition']} is not whole"
    if any(a["at_s"] > b["at_s"] for a, b in pairwise(process["events"])):
        yield f"the clock of process {process['repetition']} went back"
    if any(process["machine"][key] != here[key] for key in ("cpu_model", "cores", "memory_bytes")):
        yield f"process {process['repetition']} is of another machine"


def _event(process: dict, name: str) -> dict:
    return next(event for event in process["events"] if event["event"] == name)


def _blocks(process: dict) -> list[float]:
    steady = _event(process, "steady")
    return [ns / steady["calls"] / 1e6 for ns in steady["ns"]]


def _geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))
