"""`make releases PROGRAM=...`: which release of XLA or IREE made a program faster, slower or wrong."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from stackwars.core import documents
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.lines import fold, wrote
from stackwars.core.program import Program
from stackwars.explain import files
from stackwars.explain.__main__ import refused
from stackwars.explain.files import BadInput
from stackwars.explain.releases import ALL, ORDERS, Releases, releases
from stackwars.explain.task import Kept, Settings
from stackwars.study import cells
from stackwars.study.config import ConfigError, load
from stackwars.study.keys import Config
from stackwars.study.releases import console, loaded, pins, settings, spec_of
from stackwars.study.workflow import start
from stackwars.study.workflow.explain import FOLDER
from stackwars.study.workflow.program_files import Request, Session


def main() -> None:
    """Measure a program in releases, print what changed it, and write explain/<name>/releases/*.json."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("program", help="a StableHLO file, a program file or a workload")
    parser.add_argument("--order", choices=ORDERS)
    parser.add_argument(
        "--releases", help="of jaxlib, perhaps with flags of XLA: 0.8.3, 0.7.2 --xla_flag=value"
    )
    options = parser.parse_args()
    with refused(BadInput, ConfigError):
        lock = start.take_lock()  # an open file is the lock, so it needs a name
        if lock is None:
            raise BadInput(start.TAKEN)
        config = configured(options.order, options.releases)
        files.check_name(files.stem(options.program))
        measure(config, options.program, Path(FOLDER, files.stem(options.program)))


def configured(order: str | None, versions: str | None) -> Config:
    """Return the configuration with this order, or with these releases of jaxlib alone.

    :raises BadInput: for a release without pins.
    :raises ConfigError: for a wrong configuration.
    """
    rows = load().releases
    if order:
        rows = rows.changed(order=order)
    if versions:
        listed = [version.strip() for version in versions.split(",")]
        for version in listed:
            if not pins("jaxlib", version).is_file():
                raise BadInput(
                    f"RELEASES: expected releases of jaxlib with pins in envs/releases, got {version}; "
                    f"fix: .venv/bin/python envs/lock_releases.py jaxlib-{version.partition(' ')[0]}"
                )
        rows = rows.changed(order=ALL, versions={"jaxlib": listed, "iree": []})
    return load(releases=rows)


def measure(
    config: Config,
    program: str,
    folder: Path,
    found: Callable[[Program, Releases, CompilerSpec], None] = lambda *_: None,
) -> None:
    """Measure a program, of each framework if they lower it, in the releases of each project.

    folder: to write into; its name is the program's. found: gets each program, its document and the evaluator.

    :raises BadInput: for a file that is no program.
    """
    how, rows = settings(config), config.releases
    request = Request(
        *(config, program, rows.programs),
        Settings(
            budget_s=how.timeout_s,
            memory_cap_gib=how.memory_cap_gib,
            matmul_precision=cells.settings(config).matmul_precision,
        ),
        *(folder.name, folder, partial(print, flush=True)),
    )
    with ExitStack() as stack:
        session = Session(request, stack)
        session.check_evaluator()
        worker = stack.enter_context(Worker(session.evaluator, **how.limits))
        for name, lowered in programs_of(session):
            for project, versions in rows.versions.document().items():
                if not versions:
                    continue
                document = releases(
                    lowered,
                    versions,
                    spec_of,
                    project=project,
                    evaluator=worker,
                    order=rows.order,
                    settings=how,
                    kept=Kept(folder / "releases"),
                    say=partial(print, project, flush=True),
                )
                path = folder / "releases" / f"{project}.{name}.json"
                documents.write(path, asdict(document))
                print(console(document), flush=True)
                print(fold(wrote(path, "each release with its time, values and reason")), flush=True)
                found(lowered, document, session.evaluator)


def programs_of(session: Session) -> Iterator[tuple[str, Program]]:
    """Yield name and program: a StableHLO file's, or that of each framework of the request."""
    program, name = session.request.program, session.request.name
    # A lowering writes it beside the program; other files have arguments whose values are drawn.
    arguments = Path(program).with_name("arguments.json")
    if not program.endswith(files.SUFFIXES):
        for framework in session.request.frontends:
            yield framework, replace(session.lowered(framework), label=f"{name} of {framework}")
    elif arguments.exists():
        yield name, loaded(name, Path(program), arguments)
    else:
        yield name, *files.load([program], session.evaluator, seed=session.seed)


if __name__ == "__main__":
    main()
