"""Programs in several releases of a compiler: what the study of the configuration's key releases measures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass, replace
from functools import partial
from pathlib import Path

from stackwars.core import documents, judge, numbers
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.compilers import XLA
from stackwars.core.launch import REPOSITORY
from stackwars.core.outcome import Failed, Status
from stackwars.core.program import Program as CoreProgram
from stackwars.explain.releases import ALL, Release, Releases, ReleaseSettings, releases
from stackwars.measure.stablehlo.arguments import load_program
from stackwars.setup import environments
from stackwars.study import cells, programs
from stackwars.study.keys import Config
from stackwars.study.programs import Program
from stackwars.study.studies import with_programs, workloads_of


@dataclass(frozen=True)
class ReleasesJob:
    """A program of a workload in all releases of a project.

    versions: newest first; jaxlib's may have flags of XLA, `0.8.3 --xla_flag=value`. program, arguments, expected:
    its paths, relative to the repository. pins: of the environment that writes the artifact.
    """

    label: str
    project: str
    framework: str
    workload: str
    versions: list[str]
    program: str
    arguments: str
    expected: str
    pins: str
    settings: ReleaseSettings


@dataclass(frozen=True, order=True)
class Point:
    """A framework's program of a workload in the releases of a project."""

    project: str
    framework: str
    workload: str

    @property
    def path(self) -> Path:
        return Path("releases", self.project, self.framework, f"{self.workload}.json")


def asked(config: Config) -> list[Point]:
    """Return the points of the study that this run measures, in the order of the grid."""
    rows, known = config.releases, with_programs(config)
    if rows is None:
        return []
    return [
        Point(project, framework, workload)
        for workload in workloads_of(config, "releases")
        for project in versions(config)
        for framework in rows.programs
        if framework in known
    ]


def versions(config: Config) -> dict[str, list[str]]:
    """Return the releases of each project, newest first."""
    return config.releases.versions.document() if config.releases else {}


def job(config: Config, point: Point) -> ReleasesJob:
    """Return the job of a point: every release, at the preset's sizes."""
    files = programs.files(config, [Program(point.framework, point.workload)])
    return ReleasesJob(
        f"{point.workload} of {point.framework}",
        **asdict(point),
        versions=versions(config)[point.project],
        **files[point.framework],
        expected=programs.expected_folder(config, point.workload),
        pins=programs.compiler_pins(config, programs.judge_compiler(config)),
        settings=settings(config),
    )


def settings(config: Config) -> ReleaseSettings:
    known = {**cells.settings(config).document(), **config.releases.document()}
    return ReleaseSettings(**{name: known[name] for name in ReleaseSettings.__dataclass_fields__})


def pins(project: str, version: str) -> Path:
    """Return the pins of a release; flags of XLA may follow the version."""
    return REPOSITORY / "envs" / "releases" / f"{project}-{version.partition(' ')[0]}.txt"


def problems(config: Config) -> Iterator[tuple[str, str, object]]:
    """Yield (key, what it should have, what it has) of each release without pins."""
    for project, listed in versions(config).items():
        for version in listed:
            if not pins(project, version).is_file():
                expected = f"a version with pins: envs/lock_releases.py {project}-{version} writes them"
                yield f"releases.versions.{project}", expected, version


def spec_of(project: str, version: str) -> CompilerSpec:
    """Return the compiler of a release, whose environment is built if it is missing.

    :raises Failed: if this Python cannot have the environment, or it cannot be built.
    """
    try:
        python = environments.ensure(pins(project, version))
    except environments.BuildError as error:
        raise Failed(error.outcome) from None
    name, _, flags = version.partition(" ")
    module = {"jaxlib": XLA, "iree": "iree"}[project]
    return CompilerSpec(f"{project}-{name}", module, python=str(python), flags=flags)


def loaded(label: str, program: Path, arguments: Path) -> CoreProgram:
    """Return a lowered program with the values of its arguments. arguments: its arguments.json."""
    lowered = documents.read(arguments)
    return load_program(label, program, arguments, *(lowered[name] for name in ("workload", "sizes", "seed")))


def evaluator(pins_file: str, settings: ReleaseSettings) -> Worker:
    """Return a worker of the XLA that writes and evaluates programs."""
    spec = CompilerSpec("evaluator", python=str(environments.ensure(REPOSITORY / pins_file)))
    return Worker(spec, **settings.limits)


def console(document: Releases) -> str:
    """Return a document as a table for a terminal, and its answer: what changed, or what is not excluded."""
    lines = [f"{document.label} in {document.project}, StableHLO {document.stablehlo or 'none'}"]
    if document.reason:
        return "\n".join([*lines, document.reason])
    width = max(10, *(len(row.version) for row in document.releases))
    for row in document.releases:
        ratio = numbers.ratio_interval(*astuple(row.ratio)) if row.ratio else ""
        ms = f"{row.ms:10.3f} ms  {ratio:22}" if row.ms else " " * 37
        compile_s = f"{row.compile_s:8.2f} s" if row.compile_s else " " * 10
        lines.append(
            f"  {row.version:{width}} {row.status:12}{compile_s}{ms}  {row.status_detail[:120]}".rstrip()
        )
    measured = sum(row.status != Status.NOT_RUN for row in document.releases)
    answer = [change.sentence for change in document.changes]
    if not answer:
        answer = [f"no change found among {measured} releases that were tried"]
        bound = document.settings.bound
        if unclear := [row.version for row in document.releases if _is_unclear(row, bound)]:
            answer.append(
                f"the intervals do not exclude a change beyond {numbers.percent(bound)} in {', '.join(unclear)}; "
                "repeat it with nothing else running"
            )
    return "\n".join([*lines, *answer])


def _is_unclear(row: Release, bound: float) -> bool:
    """Return whether a release may be slower or faster than the newest by more than the bound, by its interval."""
    known = row.ratio is not None and row.ratio.low is not None
    return known and (row.ratio.high > 1 + bound or row.ratio.low < 1 / (1 + bound))


def main() -> None:
    """`python -m stackwars.study.releases --job FILE --output releases.json`: measure, write and print."""
    options = documents.parse_arguments(main.__doc__, "job", "output")
    job = documents.read_job(ReleasesJob, options.job)
    program = loaded(job.label, Path(job.program), Path(job.arguments))
    with evaluator(job.pins, job.settings) as worker:
        document = releases(
            program,
            job.versions,
            spec_of,
            project=job.project,
            evaluator=worker,
            expected=judge.read(Path(job.expected)),
            order=ALL,
            settings=job.settings,
            say=partial(print, job.project),
        )
    documents.write(options.output, asdict(replace(document, framework=job.framework, workload=job.workload)))
    print(console(document))


if __name__ == "__main__":
    main()
