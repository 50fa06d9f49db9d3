"""`make radar`: versions on the package index that are newer than the pins, and how committed programs fare in them.

`python -m stackwars.study.workflow.radar [PROGRAM ...]` asks the index, writes pins of new releases of jaxlib and IREE,
builds their environments and writes NEW. The rule radar_program (`--program`) measures a program in these releases and
in the newest pinned one that this Python can have; the rule radar (`--table`) writes TABLE.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from stackwars.core import documents
from stackwars.core.client import CompilerSpec
from stackwars.core.launch import REPOSITORY
from stackwars.core.lines import fold
from stackwars.core.numbers import ratio_interval
from stackwars.core.outcome import Status
from stackwars.core.program import Program
from stackwars.core.ratio import SLOWER, is_within
from stackwars.explain import driver
from stackwars.explain.__main__ import refused
from stackwars.explain.files import BadInput
from stackwars.explain.releases import ALL, Releases, log_ratio
from stackwars.explain.task import Settings
from stackwars.setup import environments
from stackwars.study import programs, releases
from stackwars.study.config import ConfigError, load
from stackwars.study.keys import Config
from stackwars.study.studies import full_study
from stackwars.study.workflow.grid import REFERENCE
from stackwars.study.workflow.releases import measure

FOLDER = Path("results", "radar")
NEW, TABLE, ROWS = FOLDER / "new.json", FOLDER / "radar.md", "rows.json"
PROJECTS = {"jaxlib": "jaxlib", "iree": "iree-base-compiler"}
"""The package whose version names a release of a project."""
FRONTENDS = {"torch_xla": "torch_xla", "torch_tpu": "torch_tpu", "torch": "torch_tpu"}
"""The environment that pins the newest version of a frontend's package."""
THIS, LAST = sys.version_info.minor, 13
"""This Python, and the newest that torch_xla has wheels for."""
NOTHING = (
    f"Nothing on the package index is newer than the pins of {', '.join([*PROJECTS.values(), *FRONTENDS])}."
)
NOT_DECIDED, SAME = "not decided", "same"
BY = {True: "code generation, library or runtime", False: "compiler or runtime", None: "not known"}
"""What may have changed a program, by whether both releases compile it to the same HLO; None if that is unknown."""
REPORTED = (SLOWER, Status.WRONG, Status.CRASH, Status.TIMEOUT, Status.OOM, Status.INVALID)
"""Outcomes of which a report is drafted."""


@dataclass(frozen=True)
class Row:
    """A program in a new release. than: the release before it. by: what may have changed it. draft: a report's path."""

    program: str
    release: str
    than: str
    outcome: str
    by: str
    detail: str
    draft: str = ""


def look(config: Config, names: Sequence[str]) -> dict[str, Any]:
    """Return the new versions, the releases to measure and the programs. New releases get pins and environments.

    names: of programs; all if empty.

    :raises BadInput: for an unknown program, and if the index cannot be reached.
    """
    for name in names:
        program_of(config, name)
    rows, versions = [], dict[str, list[str]](jaxlib=[], iree=[])
    for project, listed in releases.versions(config).items():
        if not listed:
            continue
        package, pin = PROJECTS[project], listed[0].partition(" ")[0]
        for version, python in newer(package, pin).items():
            why = f"needs Python {python}" if python != f"3.{THIS}" else unavailable(project, version)
            versions[project] += [] if why else [version]
            rows.append([package, pin, version, why or "tried"])
        if versions[project]:
            versions[project] += islice((one for one in listed if not unavailable(project, one)), 1)
    for package, environment in FRONTENDS.items():
        pins = (REPOSITORY / "envs" / f"{environment}.txt").read_text()
        [pin] = re.findall(rf"^{package.replace('_', '-')}==(\S+)", pins, re.MULTILINE)
        here = f"not tried: another pin in envs/{environment}.in measures the cells of its frameworks again"
        rows += [[package, pin, version, here] for version in newer(package, pin)]
    chosen = (names or list(zoo(config))) if any(versions.values()) else []
    return {"new": rows, "versions": versions, "programs": chosen}


def newer(package: str, pin: str) -> dict[str, str]:
    """Return {version of a package after a pin: the first Python, from this one on, with wheels of it}, newest first.

    :raises BadInput: if the index cannot be reached.
    """
    command = [sys.executable, "-m", "uv", "pip", "compile", "-", "--no-deps", "--no-header", "--no-annotate"]
    command += ["--python", sys.executable, "--only-binary=:all:", "--python-platform", "x86_64-manylinux_2_31"]
    result: dict[str, str] = {}
    for python in (f"3.{minor}" for minor in range(LAST, THIS - 1, -1)):
        wanted = f"{package}>{pin}"
        ask = partial(subprocess.run, [*command, "--python-version", python], capture_output=True, text=True)
        while not (done := ask(input=f"{wanted}\n")).returncode:
            version = done.stdout.strip().partition("==")[2]
            result[version], wanted = python, f"{package}>{pin},<{version}"
        said = " ".join(done.stderr.split())
        if "No solution found" not in said or "network" in said or "was not found" in said:
            expected = f"the versions of {package} from the package index, got {said[:250]!r}"
            raise BadInput(f"radar: expected {expected}; fix: the network, or uv's settings")
    return result


def unavailable(project: str, version: str) -> str:
    """Build the environment of a release, with new pins if it has none; return why it cannot be had, or ""."""
    path = releases.pins(project, version)
    if not path.is_file():
        command = [sys.executable, "envs/lock_releases.py", f"{project}-{version}"]
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
        if done.returncode:
            return f"no pins: {done.stderr.strip().splitlines()[-1]}"
    try:
        environments.ensure(path)
    except environments.Unavailable as error:
        return error.outcome.detail
    return ""


def zoo(config: Config) -> dict[str, str]:
    """Return {name: path} of the committed programs of the study, and of the public reports."""
    stored = {
        f"{workload}-{framework}": f"{REFERENCE}/{programs.Program(framework, workload).path}/program.mlir.gz"
        for workload in full_study(config, config.releases.study).workloads
        for framework in config.releases.programs
    }
    return stored | {path.stem: str(path) for path in sorted(Path("tests/explain/public").glob("*.py"))}


def program_of(config: Config, name: str) -> str:
    """Return the path of a program.

    :raises BadInput: for an unknown one.
    """
    known = zoo(config)
    if name not in known:
        raise BadInput(f"PROGRAMS: expected some of {', '.join(known)}, got {name}; fix: that name")
    return known[name]


def inputs(config: Config, name: str) -> list[str]:
    """Return the files that a program's job needs: the program, and the pins of what evaluates and lowers it."""
    lowering = [programs.lower_pins(config, framework) for framework in config.releases.programs]
    judge = programs.compiler_pins(config, programs.judge_compiler(config))
    return [program_of(config, name), judge, *lowering]


def new() -> dict[str, Any]:
    """Return the content of NEW. Raises BadInput if there is none."""
    if not NEW.is_file():
        raise BadInput(f"{NEW}: expected the new versions on the package index, got no file; fix: make radar")
    return documents.read(NEW)


def run(config: Config, name: str) -> list[Row]:
    """Measure a program in the new releases; return its rows, each fault and slowdown with a draft of a report."""
    rows: list[Row] = []

    def add(program: Program, document: Releases, evaluator: CompilerSpec) -> None:
        for row in outcomes(document):
            release = f"{document.project} {row.release}"
            folder = FOLDER / name / f"{release}-{program.label}".replace(" ", "-")
            if row.outcome in REPORTED and row.than:
                answer = driver.explain(
                    [program],
                    [releases.spec_of(document.project, one) for one in (row.release, row.than)],
                    name=f"{program.label} in {release}",
                    title=row.detail,
                    command=f"make radar PROGRAMS={name}",
                    evaluator=evaluator,
                    output=folder,
                    settings=Settings(**config.explain.settings.document()),
                )
                # A slowdown of microseconds, or a fault that did not come again, is no report.
                draft = str(folder / "explain.md") if answer.exit_status else ""
                row = replace(row, draft=draft, detail=f"{row.detail}. Tried again: {answer.headline}")
            rows.append(replace(row, release=release))

    chosen = config.releases.changed(order=ALL, versions=new()["versions"])
    measure(load(releases=chosen), program_of(config, name), FOLDER / name, add)
    return rows


def outcomes(document: Releases) -> Iterator[Row]:
    """Yield a row for each new release of a document, whose last release is the pinned one."""
    changes = {change.newer: change for change in document.changes}
    known = [one for one in document.releases if one.status not in (Status.NOT_RUN, Status.UNSUPPORTED)]
    before = {newer.version: older for newer, older in pairwise(known)}
    for one in document.releases[:-1]:
        older, change = before.get(one.version), changes.get(one.version)
        outcome, by, detail = str(one.status), "", document.reason or one.status_detail
        if change:
            is_same_hlo = one.hlo == older.hlo if one.hlo and older.hlo else None
            outcome, by, detail = change.kind, BY[is_same_hlo], change.sentence
        elif one.ran:
            ratio = log.estimate() if older and (log := log_ratio(one, older)) else None
            is_known = ratio is not None and ratio.low is not None
            is_same = is_known and is_within(ratio.low, ratio.high, document.settings.bound)
            outcome = SAME if is_same else NOT_DECIDED
            detail = f"{ratio_interval(*ratio)} times as long" if ratio else "not timed with an older release"
        elif older:
            outcome = f"still {one.status}"
        yield Row(document.label, one.version, older.version if older else "", outcome, by, detail)


def table(found: dict[str, Any], rows: Sequence[Row]) -> str:
    """Return the text of TABLE: the new versions, then the programs in them, changes first."""

    def lines(head: Iterable[str], texts: Iterable[Iterable[str]]) -> list[str]:
        cells = [[" ".join(text.split()).replace("|", "/") for text in row] for row in (head, *texts)]
        return [f"| {' | '.join(row)} |" for row in (cells[0], ["---"] * len(cells[0]), *cells[1:])]

    listed = lines(["package", "pinned", "new", "here"], found["new"]) if found["new"] else [NOTHING]
    below = ["No release of jaxlib or IREE was tried."]
    if rows:
        ordered = sorted(rows, key=lambda row: (row.outcome in (SAME, NOT_DECIDED), row.outcome, row.program))
        below = ["The releases read one artifact of a program, so no frontend is the cause of a change.", ""]
        below += lines(asdict(rows[0]), [asdict(row).values() for row in ordered])
    return "\n".join(["# Radar", "", *listed, "", *below]) + "\n"


def main() -> None:
    """Look for new releases (`make radar`), measure a program in them, or write the table."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "programs", nargs="*", help="committed programs and public reports; all if none is named"
    )
    parser.add_argument("--program", help="measure this one in the new releases")
    parser.add_argument("--table", action="store_true", help="write the table")
    options = parser.parse_args()
    with refused(BadInput, ConfigError, environments.BuildError):
        config = load()
        if options.program:
            documents.write(FOLDER / options.program / ROWS, list(map(asdict, run(config, options.program))))
        elif options.table:
            found = new()
            files = [FOLDER / name / ROWS for name in found["programs"]]
            TABLE.write_text(table(found, [Row(**row) for path in files for row in documents.read(path)]))
        else:
            found = look(config, options.programs)
            documents.write(NEW, found)
            texts = [
                f"{package} {version} (pin: {pin}): {here}" for package, pin, version, here in found["new"]
            ]
            print(fold("\n".join(texts or [NOTHING])), flush=True)


if __name__ == "__main__":
    main()
