"""Programs in several releases of a compiler: what the study of the configuration's key releases measures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stackwars.explain.release_runner import pins
from stackwars.explain.releases import ALL, ReleasesJob
from stackwars.study import cells, programs
from stackwars.study.comparisons import with_programs
from stackwars.study.programs import Program
from stackwars.study.studies import folder, workloads_of

SETTINGS = ("rounds", "seconds", "bound")


@dataclass(frozen=True, order=True)
class Point:
    """A framework's program of a workload in the releases of a project."""

    project: str
    framework: str
    workload: str

    @property
    def path(self) -> Path:
        """Its file, relative to the folder of the run's results."""
        return Path("releases", self.project, self.framework, f"{self.workload}.json")


def asked(config: dict) -> list[Point]:
    """Return what this run measures of the study, in the order of the grid."""
    rows, known = config.get("releases", {}), with_programs(config)
    return [
        Point(project, framework, workload)
        for workload in workloads_of(config, "releases")
        for project in rows["versions"]
        for framework in rows["programs"]
        if framework in known
    ]


def job(config: dict, point: Point) -> dict:
    """Return the ReleasesJob of a point as a dictionary: every release, at the preset's sizes."""
    place = f"results/{folder(config)}/{Program(point.framework, point.workload).path}"
    return job_of(
        config,
        label=f"{point.workload} of {point.framework}",
        project=point.project,
        program=f"{place}/program.mlir.gz",
        arguments=f"{place}/arguments.json",
        expected=programs.expected_folder(config, point.workload),
        framework=point.framework,
        workload=point.workload,
        order=ALL,
    )


def job_of(config: dict, project: str, **given: str) -> dict:
    """Return a ReleasesJob as a dictionary. given: its label, files and order."""
    rows, settings = config["releases"], cells.settings(config)
    limits = {key: settings[key] for key in ("memory_cap_gib", "timeout_s")}
    own = {
        "project": project,
        "versions": list(rows["versions"][project]),
        "pins": programs.compiler_pins(config, programs.judge_compiler(config)),
        "seed": settings["seed"],
        "settings": {key: rows[key] for key in SETTINGS} | limits,
    }
    names = ReleasesJob.__dataclass_fields__
    return {name: value for name, value in {**own, **given}.items() if name in names}


def problem(config: dict) -> tuple[str, str, object] | None:
    """Return (key, what it should have, what it has) of a release without pins, or None."""
    for project, versions in config.get("releases", {}).get("versions", {}).items():
        for version in versions:
            if not pins(project, version).is_file():
                expected = f"a version with pins: envs/lock_releases.py {project}-{version} writes them"
                return f"releases.versions.{project}", expected, version
    return None
