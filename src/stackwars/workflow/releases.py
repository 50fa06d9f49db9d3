"""`make releases PROGRAM=...`: which release of XLA or IREE made a program faster, slower or wrong."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from stackwars import frameworks
from stackwars.compilers.lower import Lowering
from stackwars.core import documents, limits
from stackwars.core.client import Worker
from stackwars.core.launch import REPOSITORY
from stackwars.core.program import Program
from stackwars.explain import files
from stackwars.explain.files import BadInput
from stackwars.explain.kept import Kept
from stackwars.explain.releases import ALL, ORDERS, releases
from stackwars.setup.environments import BuildError
from stackwars.study import cells, programs
from stackwars.study.config import ConfigError, read, validate
from stackwars.study.releases import console, evaluator, loaded, pins, settings, spec_of
from stackwars.workflow import explain, program_files, start


def main() -> None:
    """Measure a program in releases, print what changed it, and write explain/<name>/releases/*.json."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("program", help="a StableHLO file, a program file or a workload")
    parser.add_argument("--order", choices=ORDERS)
    parser.add_argument(
        "--releases", help="of jaxlib, perhaps with flags of XLA: 0.8.3, 0.7.2 --xla_flag=value"
    )
    options = parser.parse_args()
    lock = start.take_lock()
    if lock is None:
        sys.exit(start.TAKEN)
    try:
        config = configured(options.order, options.releases)
        if options.program not in config["workloads"]:
            files.check_exists(options.program)
            files.check_name(files.stem(options.program))
        measure(config, options.program, Path(explain.FOLDER, files.stem(options.program)))
    except (BadInput, ConfigError, BuildError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(f"\n{explain.STOPPED}")


def configured(order: str | None, versions: str | None) -> dict[str, Any]:
    """Return the configuration with this order, or with these releases of jaxlib alone.

    :raises BadInput: for a release without pins.
    :raises ConfigError: for a wrong configuration.
    """
    config = read(REPOSITORY / "config" / "config.yaml")
    if order:
        config["releases"]["order"] = order
    if versions:
        listed = [one.strip() for one in versions.split(",")]
        for version in listed:
            if not pins("jaxlib", version).is_file():
                raise BadInput(
                    f"RELEASES: expected releases of jaxlib with pins in envs/releases, got {version}; "
                    f"fix: .venv/bin/python envs/lock_releases.py jaxlib-{version.partition(' ')[0]}"
                )
        config["releases"] |= {"order": ALL, "versions": {"jaxlib": listed, "iree": []}}
    return validate(config)


def measure(config: dict[str, Any], program: str, folder: Path) -> None:
    """Measure a program, of each framework if they lower it, in the releases of each project."""
    limit, rows = settings(config), config["releases"]
    judge_pins = programs.compiler_pins(config, programs.judge_compiler(config))
    with evaluator(judge_pins, limit) as worker:
        for label, found in programs_of(config, program, folder / "programs", worker):
            for project, versions in rows["versions"].items():
                if not versions:
                    continue
                document = releases(
                    found,
                    versions,
                    spec_of(project),
                    project=project,
                    evaluator=worker,
                    order=rows["order"],
                    settings=limit,
                    kept=Kept(folder / "releases"),
                    say=partial(print, project, flush=True),
                )
                documents.write(folder / "releases" / f"{project}.{label}.json", asdict(document))
                print(console(document), flush=True)


def programs_of(
    config: dict[str, Any], program: str, folder: Path, worker: Worker
) -> Iterator[tuple[str, Program]]:
    """Yield name and program: a StableHLO file's, or that of each framework of the key releases.

    folder: for what they lower. worker: reads the types of arguments that have no values, which are drawn.

    :raises BadInput: for a file that is no program.
    """
    seed, name = cells.settings(config)["seed"], files.stem(program)
    if program.endswith(files.SUFFIXES):
        # A lowering writes it beside the program.
        arguments = Path(program).with_name("arguments.json")
        if arguments.exists():
            yield name, loaded(name, Path(program), arguments)
        else:
            yield name, *files.load([program], worker.spec, seed=seed)
        return
    is_file = program.endswith(".py")
    if is_file:
        sizes = program_files.load(program, seed, settings(config).memory_cap_gib).DEFAULTS
    else:
        try:
            sizes = cells.sizes(config, program)
        except (ValueError, ImportError) as error:
            raise BadInput(str(error)) from None
    for framework in config["releases"]["programs"]:
        label = f"{name} of {framework}"
        job = {
            "framework": framework,
            "dialect": frameworks.load(framework).DIALECT,
            "workload": str(Path(program).resolve()) if is_file else program,
            "variant": programs.BASE,
            "sizes": sizes,
            "seed": seed,
            "matmul_precision": cells.settings(config)["matmul_precision"],
        }
        limit = settings(config)
        lower_pins, cap = (
            REPOSITORY / programs.lower_pins(config, framework),
            limits.cap_bytes(limit.memory_cap_gib),
        )
        try:
            with Lowering(lower_pins, job, limit.timeout_s, cap) as lower:
                path = lower(sizes, folder / framework)
        except (OSError, BuildError) as error:
            yield framework, Program(label, missing=f"{framework} did not lower it: {error}")
            continue
        yield framework, loaded(label, path, path.with_name("arguments.json"))


if __name__ == "__main__":
    main()
