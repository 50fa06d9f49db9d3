"""Explain a program file, a workload, or StableHLO files, in the frontends and compilers of the configuration.

`python -m stackwars.workflow.explain PROGRAM [B]`: make explain and the rule explain run it.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from stackwars import frameworks, workloads
from stackwars.compilers import expected
from stackwars.compilers.arguments import load_program
from stackwars.compilers.expected import ExpectedJob
from stackwars.compilers.lower import Lowering, LowerJob
from stackwars.core import limits
from stackwars.core.client import CompilerSpec
from stackwars.core.compilers import XLA
from stackwars.core.judge import Expected
from stackwars.core.launch import REPOSITORY, RUNNER
from stackwars.core.outcome import Outcome, Status
from stackwars.core.program import Program
from stackwars.explain import driver, files
from stackwars.explain.__main__ import CANNOT, STATUSES, Parser
from stackwars.explain.answer import Answer
from stackwars.explain.files import SUFFIXES, BadInput, stem
from stackwars.explain.kept import Kept, digest
from stackwars.explain.task import Settings
from stackwars.measure.native import NativeWorker
from stackwars.setup import environments
from stackwars.study import cells, imports, programs
from stackwars.study.config import ConfigError, load
from stackwars.workflow import program_files, start
from stackwars.workloads import sized

FOLDER = "explain"
NATIVES = ("torch_eager", "torch_inductor", "numpy")
"""Frameworks that run a workload without StableHLO."""
STOPPED = "stopped; what was measured is kept; run the same command again"
Say = Callable[[str], None]


def find_program(name: str) -> str:
    """Return the program file, StableHLO file or workload of an answer's name.

    :raises BadInput: if this folder has none.
    """
    candidates = [f"{name}{suffix}" for suffix in (".py", *SUFFIXES)]
    found = next((path for path in candidates if Path(path).is_file()), None)
    if found or name in workloads.names():
        return found or name
    raise BadInput(
        f"target: {FOLDER}/{name}: expected one of the files {', '.join(candidates)} in this folder, or a workload, "
        "got neither; fix: make explain PROGRAM=<path>"
    )


def source(program: str) -> Path:
    """Return the file that a program, or a workload, is declared in."""
    if program.endswith((".py", *SUFFIXES)):
        return Path(program)
    return REPOSITORY / sized.source(program)


def chosen(options: dict[str, Any]) -> str:
    """Return the options of this command that choose what a configuration's key explain does."""
    result = [f"--{what} {','.join(options[what])}" for what in ("compilers", "frontends") if options.get(what)]
    bound = options.get("settings", {}).get("bound")
    return " ".join([*result, *([f"--bound {bound}"] if bound else [])])


@dataclass(frozen=True)
class Request:
    """What to explain. program: a program file, a workload or a StableHLO file. b: one that it is compared with.
    frontends, compilers: of the configuration; its key explain names them otherwise. command: repeats it.
    """

    config: dict[str, Any]
    program: str
    b: str
    frontends: list[str]
    compilers: list[str]
    settings: Settings
    inputs: str
    name: str
    output: Path
    command: str
    say: Say


def request(options: argparse.Namespace, say: Say) -> Request:
    """Return the request of a command.

    :raises BadInput: for names that the configuration does not have.
    """
    config = load()
    config["preset"] = options.preset or config["preset"]
    row = config.get("explain", {})
    usual = {"compilers": row.get("compilers", []), "frontends": row.get("frontends", ["jax"])}
    names = {what: _names(getattr(options, what)) or usual[what] for what in usual}
    names["compilers"] = names["compilers"] or list(config["compilers"])
    _check("frontends", names["frontends"], known_frontends(config))
    _check("compilers", names["compilers"], config["compilers"])
    settings = Settings(**row.get("settings", {}))
    bound = settings.bound if options.bound is None else options.bound
    paths = [path for path in (options.program, options.b) if path]
    name = options.name or "-".join(dict.fromkeys(map(stem, paths)))
    words = {"A" if options.program.endswith(SUFFIXES) else "PROGRAM": options.program, "B": options.b}
    words["INPUTS"] = options.inputs
    words |= {what.upper(): ",".join(names[what]) for what in names if names[what] != usual[what]}
    words["BOUND"] = "" if bound == settings.bound else str(bound)
    files.check_name(name)
    return Request(
        config,
        options.program,
        options.b,
        **names,
        settings=replace(settings, bound=bound),
        inputs=options.inputs,
        name=name,
        output=options.output or Path(FOLDER, name),
        command=" ".join(
            ["make explain", *(f"{key}={shlex.quote(value)}" for key, value in words.items() if value)]
        ),
        say=say,
    )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _check(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            raise BadInput(
                f"explain.{what}: expected some of {', '.join(known)}, got {name}; fix: {what.upper()}=<names>"
            )


def known_frontends(config: dict[str, Any]) -> list[str]:
    """Return the frameworks that lower programs, and those that run without StableHLO."""
    folder = Path(imports.SOURCE, imports.PACKAGE, "compilers")
    lowered = [name for name in config["frameworks"] if (folder / f"lower_{name}.py").is_file()]
    return [*lowered, *(name for name in NATIVES if name in config["frameworks"])]


def explain(asked: Request) -> Answer:
    """Return the answer to a request, and write it.

    :raises BadInput: for a program that cannot be explained.
    """
    with ExitStack() as stack:
        session = Session(asked, stack)
        return session.files() if asked.program.endswith(SUFFIXES) else session.workload()


class Session:
    """The environments, frontends and expected values of one request."""

    def __init__(self, asked: Request, stack: ExitStack) -> None:
        self._asked, self._config, self._stack = asked, asked.config, stack
        self._unavailable: dict[str, Outcome] = {}
        self._compilers = [self._spec(name) for name in asked.compilers]
        self._evaluator = self._spec(programs.judge_compiler(self._config))

    def files(self) -> Answer:
        """Explain StableHLO files."""
        asked = self._asked
        paths = [path for path in (asked.program, asked.b) if path]
        files.check_exists(*paths, asked.inputs)
        if outcome := self._unavailable.get(self._evaluator.name):
            raise BadInput(f"expected an environment of {self._evaluator.name}, got none: {outcome.detail}")
        return self._explain(
            files.load(paths, self._evaluator, asked.inputs),
            title=" and ".join(paths),
            not_tried={"compilers": self._left("compilers", self._config["compilers"])},
            seed=files.SEED,
            inputs=asked.inputs,
        )

    def workload(self) -> Answer:
        """Explain a program file or a workload in the frontends."""
        asked, settings = self._asked, self._asked.settings
        is_file = asked.program.endswith(".py")
        self._seed = self._config["settings"]["seed"]
        if asked.inputs or asked.b:
            raise BadInput(
                f"{asked.program}: expected a StableHLO file beside {asked.inputs or asked.b}, got a program file or a "
                'workload; fix: inputs = "x.npz" in the program file, and both computations as its functions'
            )
        if is_file:
            files.check_exists(asked.program)
            workload = program_files.load(asked.program, self._seed, settings.memory_cap_gib)
        else:
            try:
                workload = workloads.load(asked.program)
            except (ValueError, ImportError) as error:
                raise BadInput(str(error)) from None
        # A native's process has a folder of its own.
        self._name = str(Path(asked.program).resolve()) if is_file else asked.program
        self._source = source(self._name)
        self._sizes = workload.DEFAULTS if is_file else cells.sizes(self._config, asked.program)
        known = known_frontends(self._config)
        has_form = {name: frameworks.load(name).DIALECT not in workload.NO_FORM for name in known}
        shown = [name for name in asked.frontends if has_form[name]]
        lowered = [self._program(name) for name in shown if name not in NATIVES]
        natives = {name: self._native(name) for name in shown if name in NATIVES}
        values = self._expected(lowered)
        return self._explain(
            lowered,
            title=workload.TITLE,
            expected=dict.fromkeys([*(program.label for program in lowered), *natives], values),
            natives=natives,
            lower={program.label: self._lower(program.label) for program in lowered},
            not_tried={
                "frontends": [name for name in known if has_form[name] and name not in shown],
                "frontends without a function": [name for name in asked.frontends if not has_form[name]],
                "compilers": self._left("compilers", self._config["compilers"]),
            },
            workload=asked.program,
            sizes=self._sizes,
            seed=self._seed,
            source=digest(driver.file_digest(self._source), self._sizes, settings.matmul_precision),
        )

    def _explain(self, tried: list[Program], **details: Any) -> Answer:
        asked = self._asked
        return driver.explain(
            tried,
            self._compilers,
            name=asked.name,
            command=asked.command,
            evaluator=self._evaluator,
            unavailable=self._unavailable,
            settings=asked.settings,
            output=asked.output,
            say=asked.say,
            **details,
        )

    def _left(self, what: str, known: Iterable[str]) -> list[str]:
        return [name for name in known if name not in getattr(self._asked, what)]

    def _python(self, name: str, pins: str) -> str:
        """Return the Python of an environment; "" if there is none, and note why for this name."""
        try:
            return str(environments.ensure(REPOSITORY / pins))
        except environments.Unavailable as error:
            self._unavailable[name] = Outcome(Status.UNSUPPORTED, error.reason)
        except environments.BuildError as error:
            self._unavailable[name] = Outcome(Status.ERROR, str(error))
        return ""

    def _spec(self, compiler: str) -> CompilerSpec:
        row = self._config["compilers"][compiler]
        python = self._python(compiler, programs.compiler_pins(self._config, compiler))
        return CompilerSpec(compiler, row.get("module", XLA), row.get("options", {}), python)

    def _native(self, framework: str) -> NativeWorker:
        python = self._python(framework, programs.lower_pins(self._config, framework))
        settings = self._asked.settings
        worker = NativeWorker(
            *(framework, python, self._name, self._sizes, self._seed),
            matmul_precision=settings.matmul_precision,
            **settings.limits,
        )
        return self._stack.enter_context(worker)

    # Programs

    def _lowering(self, frontend: str) -> Lowering:
        job = LowerJob(
            frontend, frameworks.load(frontend).DIALECT, self._name, "base", self._sizes, self._seed,
            self._asked.settings.matmul_precision,
        )  # fmt: skip
        pins = REPOSITORY / programs.lower_pins(self._config, frontend)
        settings = self._asked.settings
        return Lowering(pins, asdict(job), settings.budget_s, limits.cap_bytes(settings.memory_cap_gib))

    def _program(self, frontend: str) -> Program:
        """Return a frontend's program, lowered again only if what decides it changed."""
        pins = programs.lower_pins(self._config, frontend)
        if not self._python(frontend, pins):
            return Program(frontend, missing=self._unavailable[frontend].detail)
        folder, kept = self._asked.output / "programs" / frontend, Kept(self._asked.output)
        sources = [REPOSITORY / path for path in programs.lower_sources(self._config, frontend, self._name)]
        key = digest(
            *(driver.VERSION, frontend, self._name, sorted(self._sizes.items()), self._seed),
            self._asked.settings.matmul_precision,
            *map(driver.file_digest, (REPOSITORY / pins, self._source, *sources)),
        )
        path = folder / "program.mlir.gz"
        if not path.exists() or kept.get(key) != driver.file_digest(path):
            self._asked.say(f"lowering by {frontend}")
            folder.mkdir(parents=True, exist_ok=True)
            try:
                with self._lowering(frontend) as lowering:
                    lowering(self._sizes, folder)
            except OSError as error:
                self._unavailable[frontend] = Outcome(Status.ERROR, f"the lowering failed: {error}")
                return Program(frontend, missing=str(error))
            kept.put(key, driver.file_digest(path))
        return self._loaded(frontend, path, self._sizes)

    def _loaded(self, frontend: str, path: Path, sizes: dict[str, int]) -> Program:
        return load_program(frontend, path, path.with_name("arguments.json"), self._name, sizes, self._seed)

    def _lower(self, frontend: str) -> Callable[[dict[str, int]], Program | None]:
        """Return a function that makes a frontend's program with other sizes, by a process that it starts once."""

        @cache
        def lowering() -> Lowering:
            return self._stack.enter_context(self._lowering(frontend))

        def lower(sizes: dict[str, int]) -> Program | None:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    found = self._loaded(frontend, lowering()(sizes, Path(folder)), sizes)
                except OSError:
                    return None
            return None if found.missing else found

        return lower

    def _expected(self, lowered: list[Program]) -> Expected:
        """Return the expected values of the workload, computed again only if what decides them changed."""
        settings, folder = self._asked.settings, self._asked.output / "expected"
        # Other programs are witnesses.
        sides = [program for program in lowered if program.label not in self._unavailable]
        key = digest(
            *(driver.VERSION, self._name, sorted(self._sizes.items()), self._seed, self._evaluator),
            *(driver.file_digest(self._source), [program.text or program.missing for program in sides]),
        )
        found = driver.read_expected(folder, key)
        if found is not None:
            return found
        if outcome := self._unavailable.get(self._evaluator.name):
            return Expected(reason=outcome.detail)
        self._asked.say("expected values")
        places = {program.label: self._asked.output / "programs" / program.label for program in sides}
        job = ExpectedJob(
            *(self._name, "base", self._sizes, self._seed, settings.memory_cap_gib, settings.budget_s),
            {
                label: {"program": str(place / "program.mlir.gz"), "arguments": str(place / "arguments.json")}
                for label, place in places.items()
            },
        )
        found = expected.expected_of(job, self._evaluator)
        driver.write_expected(folder, found, "" if "evaluation failed" in found.reason else key)
        return found


def explain_program_file(options: argparse.Namespace, say: Say) -> Answer:
    """Explain a program file for `stackwars explain`, which finds this function as an entry point.

    :raises BadInput: for a file that cannot be explained.
    """
    given = [f"--bound={options.bound}", *([f"--name={options.name}"] if options.name else [])]
    own = parser().parse_args([*given, "--", str(options.a)])
    own.output, own.b, own.inputs = options.output, str(options.b or ""), str(options.inputs or "")
    return explain(replace(request(own, say), command=shlex.join(["stackwars", "explain", str(options.a)])))


def parser() -> argparse.ArgumentParser:
    result = Parser(
        prog="make explain",
        description=f"{__doc__}\n{STATUSES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("program", metavar="PROGRAM", help="a program file, a workload or a StableHLO file")
    result.add_argument(
        "b", metavar="B", nargs="?", default="", help="a StableHLO file that it is compared with"
    )
    result.add_argument("--compilers", default="", help="of config/config.yaml, with commas")
    result.add_argument("--frontends", default="", help="likewise")
    result.add_argument("--bound", type=float, help="the gap that is worth explaining")
    result.add_argument("--inputs", default="", help="an .npz with the values of a StableHLO file's arguments")
    result.add_argument("--preset", default="", help="whose sizes a workload has")
    result.add_argument("--name", default="", help="of the answer")
    result.add_argument("--output", type=Path, help="folder to write into (default explain/<name>)")
    return result


def main() -> NoReturn:
    options = parser().parse_args()
    try:
        # A run of the workflow holds the lock for its jobs.
        lock = None if RUNNER in os.environ else start.take_lock()
        if lock is None and RUNNER not in os.environ:
            raise BadInput(start.TAKEN)
        sys.exit(explain(request(options, lambda text: print(text, flush=True))).exit_status)
    except (BadInput, ConfigError) as error:
        print(error, file=sys.stderr)
    except KeyboardInterrupt:
        print(f"\n{STOPPED}", file=sys.stderr)
    except Exception:
        # Python's own status of an exception is that of a wrong program.
        traceback.print_exc()
    sys.exit(CANNOT)


if __name__ == "__main__":
    main()
