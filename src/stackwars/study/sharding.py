"""Programs for several devices, which run on this machine's devices or are compiled for a slice."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stackwars.measure import frameworks, workloads
from stackwars.measure.stablehlo import sharded_frontends
from stackwars.measure.stablehlo.sharded_frontends import FRONTENDS
from stackwars.measure.workloads.parallel import Division
from stackwars.study import imports
from stackwars.study.keys import Config
from stackwars.study.programs import Compilation, Program
from stackwars.study.studies import workloads_of


@dataclass(frozen=True, order=True)
class Point:
    """One process: a frontend's way to divide a workload among devices of this machine."""

    frontend: str
    workload: str
    way: str
    devices: int

    @property
    def path(self) -> Path:
        return Path("sharded", self.frontend, self.workload, f"{self.way}{self.devices}")

    @property
    def framework(self) -> str:
        return FRONTENDS[self.frontend].FRAMEWORK


def title(frontend: str) -> str:
    return FRONTENDS[frontend].TITLE


def all_points(config: Config) -> list[Point]:
    sharding = config.sharding
    if sharding is None:
        return []
    return [
        Point(frontend, workload, way, devices)
        for workload, ways in sharding.workloads.items()
        for way in ways
        for frontend in sharding.frontends
        for devices in sharding.devices
    ]


def asked(config: Config) -> list[Point]:
    """Return the processes of this run, of the frameworks that it has and the workloads that it measures."""
    measured = workloads_of(config, "sharding")
    return [p for p in all_points(config) if p.workload in measured and p.framework in config.frameworks]


def slices(config: Config) -> list[Compilation]:
    measured = workloads_of(config, "sharding")
    if config.sharding is None or not measured:
        return []
    rows = config.sharding.slices
    return [
        Compilation(target, rows.compiler, Program(framework, workload, f"{way}{chips}"))
        for workload, ways in rows.workloads.items()
        if workload in measured
        for way in ways
        for target, chips in rows.targets.items()
        for framework in rows.frameworks
        if framework in config.frameworks
    ]


def sources(config: Config, point: Point) -> list[str]:
    dialect = frameworks.load(point.framework).DIALECT
    return imports.measured_sources(*workloads.sources(point.workload, dialect), sharded_frontends.__name__)


def problems(config: Config) -> Iterator[tuple[str, str, object]]:
    """Yield (key, what it should have, what it has) of what cannot be divided as the key says."""
    rows = config.sharding
    if rows is None:
        return
    for target, chips in rows.slices.targets.items():
        topology = config.targets[target].topology
        held = math.prod(map(int, topology.rpartition(":")[2].split("x")))
        if chips != held:
            yield f"sharding.slices.targets.{target}", f"the {held} chips of {topology}", chips
    divided = (
        ("devices", rows.workloads, enumerate(rows.devices)),
        ("slices.targets", rows.slices.workloads, rows.slices.targets.items()),
    )
    wanted = [
        (f"sharding.{key}.{place}", workload, way, devices)
        for key, named, counts in divided
        for place, devices in counts
        for workload, ways in named.items()
        for way in ways
    ]
    for preset, chosen in config.presets.items():
        for key, workload, way, devices in wanted:
            if workload not in chosen.sizes:
                continue
            division = Division(workloads.load(workload), way, devices)
            if result := division.problem(sizes(config, preset, workload)):
                where = f"with which {workload} is divided {way}-parallel in the preset {preset}"
                yield key, f"{result}, {where}", devices


def sizes(config: Config, preset: str, workload: str) -> dict[str, int]:
    """Return the preset's sizes, with the batch of the key sharding if it has one."""
    batch = config.sharding.batch if config.sharding else {}
    changes = {"batch": batch[workload]} if workload in batch else {}
    return config.presets[preset].sizes[workload] | changes
