"""The measurements of a run, as read from its folder: the JSON of cells, replays, causes, checks, growth, sharding and
compilations.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

import numpy as np

from stackwars.core import documents
from stackwars.core.outcome import Status
from stackwars.measure import nodes, process_value
from stackwars.measure.process_value import ProcessValue
from stackwars.study import cells, growth, programs, releases, searches, sharding
from stackwars.study.cells import Cell
from stackwars.study.keys import Config

Values = dict[int, ProcessValue]
"""{round: the value of its process}."""


@dataclass(frozen=True)
class Raw:
    """The results of a folder. Everything is in the order of the grid; missing results are left out.

    outputs: output samples of the ok cells. devices: facts about each device, by framework.
    peaks: of each device; first the run's, then those of a cluster's other nodes.
    """

    cells: dict[Cell, dict] = field(default_factory=dict)
    outputs: dict[Cell, np.ndarray] = field(default_factory=dict)
    replays: dict[programs.ReplayCell, dict] = field(default_factory=dict)
    causes: list[dict] = field(default_factory=list)
    checks: list[dict] = field(default_factory=list)
    releases: list[dict] = field(default_factory=list)
    memory: list[dict] = field(default_factory=list)
    growth: dict[growth.Point, dict] = field(default_factory=dict)
    sharded: dict[sharding.Point, dict] = field(default_factory=dict)
    compiled: list[dict] = field(default_factory=list)
    peaks: dict[str, list[dict]] = field(default_factory=dict)
    devices: dict[str, dict[str, dict]] = field(default_factory=dict)

    @cached_property
    def cell_values(self) -> dict[Cell, Values]:
        return {
            cell: process_value.of_processes(result["processes"])
            for cell, result in self.cells.items()
            if result["status"] == Status.OK
        }

    @cached_property
    def replay_values(self) -> dict[tuple[programs.ReplayCell, str], Values]:
        values = {}
        for replay, result in self.replays.items():
            rounds = [process["repetition"] for process in result["processes"]]
            for name, program in result["programs"].items():
                if program["status"] == Status.OK:
                    singles = zip(program["first_ns"], program["second_ns"], strict=True)
                    # The first rounds have a series, and later ones none.
                    both = zip_longest(singles, program["steady"], fillvalue={})
                    loops = dict(zip(rounds, program["loops"], strict=True))
                    values[replay, name] = process_value.of_rounds(dict(zip(rounds, both, strict=True)), loops)
        return values

    @cached_property
    def round_seconds(self) -> Counter[tuple[str, str, int]]:
        """Seconds that all processes of a round took, by workload, device and round."""
        totals: Counter[tuple[str, str, int]] = Counter()
        for key, result in (*self.cells.items(), *self.replays.items()):
            for process in result["processes"]:
                seconds = process.get("round_s", process["wall_s"])  # not run again, as a lasting failure
                totals[key.workload, key.device, process["repetition"]] += seconds
        return totals


def read(config: Config, folder: Path) -> Raw:
    results = _documents(folder, {cell: cell.path / "cell.json" for cell in cells.measured(config)})
    devices = folder / "devices.json"
    peaks = {path.parent.name: nodes.peaks(path.parent) for path in folder.glob("*/peak.json")}
    causes = {one: programs.causes_path(one.compiler, one.workload) for one in programs.searched(config)}
    compiled = [] if results else [documents.read(path) for path in sorted(folder.glob("ahead/**/ahead.json"))]
    return Raw(
        cells=results,
        outputs={
            cell: np.load(folder / cell.path / "output.npy")
            for cell, result in results.items()
            if result["status"] == Status.OK
        },
        replays=_documents(
            folder, {one: one.path / "replay.json" for one in programs.measured_replays(config)}
        ),
        causes=list(_documents(folder, causes).values()),
        checks=[documents.read(path) for path in sorted(folder.glob("checks/*/*/*/check.json"))],
        releases=list(_documents(folder, {one: one.path for one in releases.asked(config)}).values()),
        memory=list(_documents(folder, {one: one.path for one in searches.asked(config)}).values()),
        growth=_documents(folder, {one: one.path / "process.json" for one in growth.asked(config)}),
        sharded=_documents(folder, {one: one.path / "process.json" for one in sharding.asked(config)}),
        compiled=compiled,
        peaks={device: known for device, known in peaks.items() if known},
        devices=documents.read(devices) if devices.exists() else {},
    )


def _documents(folder: Path, paths: dict) -> dict:
    return {key: documents.read(folder / path) for key, path in paths.items() if (folder / path).exists()}


def errors(verdict: dict) -> dict[str, float]:
    """Return both errors of a comparison with expected values; a document has null for an infinite one."""
    named = {"l2": verdict["l2"], "largest_error": verdict["largest"]}
    return {name: math.inf if error is None else error for name, error in named.items()}
