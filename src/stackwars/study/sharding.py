"""Programs for several devices: those that run on this machine's, and those that are compiled for a slice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from stackwars.measure import frameworks, workloads
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
        return import_module(f"stackwars.measure.stablehlo.sharded_{self.frontend}").FRAMEWORK


def title(frontend: str) -> str:
    return import_module(f"stackwars.measure.stablehlo.sharded_{frontend}").TITLE


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
    """The processes of this run: of frameworks that it has, of workloads that it measures of the study."""
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
    return imports.measured_sources(
        *workloads.sources(point.workload, dialect), f"stackwars.measure.stablehlo.sharded_{point.frontend}"
    )


def problem(config: Config, preset: str) -> tuple[str, str, object] | None:
    """(key, what it should have, what it has) of what cannot be divided as the key says, or None."""
    sharding, given = config.sharding, config.presets[preset].sizes
    if sharding is None:
        return None
    for target, chips in sharding.slices.targets.items():
        topology = config.targets[target].topology
        held = math.prod(map(int, topology.rpartition(":")[2].split("x")))
        if chips != held:
            return f"sharding.slices.targets.{target}", f"the {held} chips of {topology}", chips
    wanted = [
        ("devices", place, workload, way, devices)
        for workload, ways in sharding.workloads.items()
        for way in ways
        for place, devices in enumerate(sharding.devices)
    ]
    wanted += [
        ("slices.targets", target, workload, way, chips)
        for workload, ways in sharding.slices.workloads.items()
        for way in ways
        for target, chips in sharding.slices.targets.items()
    ]
    for key, place, workload, way, devices in wanted:
        if workload not in given:
            continue
        result = Division(workloads.load(workload), way, devices).problem(sizes(config, preset, workload))
        if result:
            where = f"with which {workload} is divided {way}-parallel in the preset {preset}"
            return f"sharding.{key}.{place}", f"{result}, {where}", devices
    return None


def sizes(config: Config, preset: str, workload: str) -> dict[str, int]:
    """Return the preset's sizes, with the batch of the key sharding if it has one."""
    batch = config.sharding.batch if config.sharding else {}
    own = {"batch": batch[workload]} if workload in batch else {}
    return config.presets[preset].sizes[workload] | own
