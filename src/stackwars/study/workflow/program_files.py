"""The programs of a request: a program file is executed, first in a child with limits, and lowered by frontends."""

from __future__ import annotations

import faulthandler
import io
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from stackwars.core import judge, launch, limits, numbers
from stackwars.core.client import CompilerSpec, Process
from stackwars.core.judge import Expected
from stackwars.core.launch import REPOSITORY, ExitReport
from stackwars.core.outcome import Failed, Outcome
from stackwars.core.program import Program
from stackwars.core.types import is_float, is_scalar
from stackwars.explain import files
from stackwars.explain.driver import VERSION, file_digest, kept_expected
from stackwars.explain.files import SUFFIXES, BadInput
from stackwars.explain.recompilation import Calls
from stackwars.explain.task import Kept, Settings, digest
from stackwars.measure import call_sequence, frameworks, workloads
from stackwars.measure.frameworks import mapped
from stackwars.measure.native import NativeWorker
from stackwars.measure.stablehlo.arguments import load_program
from stackwars.measure.stablehlo.expected import NO_PROGRAM, NUMPY, ExpectedJob, expected_of
from stackwars.measure.stablehlo.lower import Lowering, LowerJob
from stackwars.measure.workloads.base import ProgramFileError, Workload
from stackwars.measure.workloads.values import native
from stackwars.setup import environments
from stackwars.study import cells, programs
from stackwars.study.keys import Config

Say = Callable[[str], None]
TIMEOUT_S = 60.0
LOADED = "loaded"
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
"""A frame of a traceback by `faulthandler`, the innermost first."""


@dataclass(frozen=True)
class Request:
    """A program to explain, or to measure in releases.

    program: a program file, a workload or a StableHLO file. frontends, compilers: of the configuration. b: a StableHLO
    file that it is compared with. inputs: an .npz with the values of its arguments. command: repeats the request.
    bundle: see `driver.Explanation`.
    """

    config: Config
    program: str
    frontends: list[str]
    settings: Settings
    name: str
    output: Path
    say: Say
    compilers: Sequence[str] = ()
    b: str = ""
    inputs: str = ""
    command: str = ""
    bundle: str = ""


def source(program: str) -> Path:
    """Return the file that a program, or a workload, is declared in."""
    if program.endswith((".py", *SUFFIXES)):
        return Path(program)
    return REPOSITORY / workloads.file_of(program)


class Session:
    def __init__(self, request: Request, stack: ExitStack) -> None:
        """stack: ends the processes of the session."""
        self.request, self.config, self._stack = request, request.config, stack
        self.seed = cells.settings(self.config).seed
        self.unavailable: dict[str, Outcome] = {}
        # A wrong request builds no environment, and one about calls none of a compiler.
        if request.program.endswith(SUFFIXES):
            files.check_exists(request.program, request.b, request.inputs)
        else:
            self.workload = self._load()

    def check_evaluator(self) -> None:
        """Refuse to go on without the XLA that reads and evaluates programs.

        :raises BadInput: saying why there is none.
        """
        if outcome := self.unavailable.get(self.evaluator.name):
            raise BadInput(f"expected an environment of {self.evaluator.name}, got none: {outcome.detail}")

    # Environments

    @cached_property
    def compilers(self) -> list[CompilerSpec]:
        return [self._spec(name) for name in self.request.compilers]

    @cached_property
    def evaluator(self) -> CompilerSpec:
        return self._spec(programs.judge_compiler(self.config))

    def _python(self, name: str, pins: str) -> str:
        """Return the Python of an environment; "" if there is none, and note why for this name."""
        try:
            return str(environments.ensure(REPOSITORY / pins))
        except environments.BuildError as error:
            self.unavailable[name] = error.outcome
            return ""

    def _spec(self, compiler: str) -> CompilerSpec:
        row = self.config.compilers[compiler]
        python = self._python(compiler, programs.compiler_pins(self.config, compiler))
        return CompilerSpec(compiler, row.module, row.options, python)

    def native(self, framework: str) -> NativeWorker:
        python = self._python(framework, programs.lower_pins(self.config, framework))
        settings = self.request.settings
        worker = NativeWorker(
            *(framework, python, self.name, self.sizes, self.seed),
            matmul_precision=settings.matmul_precision,
            **settings.limits,
        )
        return self._stack.enter_context(worker)

    # Programs

    def _load(self) -> Workload:
        """Return the workload of a program file or of this repository.

        :raises BadInput: if there is none.
        """
        request = self.request
        if request.inputs or request.b:
            raise BadInput(
                f"{request.program}: expected a StableHLO file beside {request.inputs or request.b}, got a program "
                'file or a workload; fix: inputs = "x.npz" in the program file, and both computations as its functions'
            )
        if self._is_file:
            files.check_exists(request.program)
            return load(request.program, self.seed, request.settings.memory_cap_gib)
        if re.search("[./]", request.program):
            expected = f"a file of {', '.join(('.py', *SUFFIXES))} or the name of a workload"
            raise BadInput(f"{request.program}: expected {expected}, got another name; fix: rename it")
        try:
            return workloads.load(request.program)
        except (ValueError, ImportError) as error:
            raise BadInput(str(error)) from None

    @cached_property
    def sizes(self) -> dict[str, int]:
        workload = self.workload
        return workload.DEFAULTS if self._is_file else cells.sizes(self.config, self.request.program)

    @property
    def _is_file(self) -> bool:
        return self.request.program.endswith(".py")

    @property
    def name(self) -> str:
        # The process of a native or of a frontend has a folder of its own.
        return str(Path(self.request.program).resolve()) if self._is_file else self.request.program

    @property
    def source_digest(self) -> str:
        """A digest of what decides the computation of the workload."""
        precision = self.request.settings.matmul_precision
        return digest(file_digest(source(self.name)), self.sizes, precision)

    def lowered(self, frontend: str) -> Program:
        """Return a frontend's program, lowered again only if what decides it changed."""
        pins, request = programs.lower_pins(self.config, frontend), self.request
        if not self._python(frontend, pins):
            return Program(frontend, missing=self.unavailable[frontend].detail)
        sources = [REPOSITORY / path for path in programs.lower_sources(self.config, frontend, self.name)]
        key = digest(
            *(VERSION, frontend, self.name, sorted(self.sizes.items()), self.seed),
            request.settings.matmul_precision,
            *map(file_digest, (REPOSITORY / pins, source(self.name), *sources)),
        )
        kept, folder = Kept(request.output), request.output / "programs" / frontend
        path = folder / "program.mlir.gz"
        if not path.exists() or kept.get(key) != file_digest(path):
            request.say(f"lowering by {frontend}")
            folder.mkdir(parents=True, exist_ok=True)
            try:
                with self._lowering(frontend) as lowering:
                    lowering(self.sizes, folder)
            except Failed as failed:
                self.unavailable[frontend] = failed.outcome
                return Program(frontend, missing=f"{frontend} did not lower it: {failed}")
            kept.put(key, file_digest(path))
        return self._loaded(frontend, path, self.sizes)

    def _lowering(self, frontend: str) -> Lowering:
        settings = self.request.settings
        job = LowerJob(
            *(frontend, frameworks.load(frontend).DIALECT, self.name, programs.BASE, self.sizes, self.seed),
            settings.matmul_precision,
        )
        pins = REPOSITORY / programs.lower_pins(self.config, frontend)
        return Lowering(pins, job, settings.budget_s, limits.cap_bytes(settings.memory_cap_gib))

    def _loaded(self, frontend: str, path: Path, sizes: dict[str, int]) -> Program:
        return load_program(frontend, path, path.with_name("arguments.json"), self.name, sizes, self.seed)

    def lower(self, frontend: str) -> Callable[[dict[str, int]], Program | None]:
        """Return a function that makes a frontend's program with other sizes, by a process that it starts once."""

        @cache
        def lowering() -> Lowering:
            return self._stack.enter_context(self._lowering(frontend))

        def program_of(sizes: dict[str, int]) -> Program | None:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    program = self._loaded(frontend, lowering()(sizes, Path(folder)), sizes)
                except Failed:
                    return None
            return None if program.missing else program

        return program_of

    def expected(self, lowered: list[Program]) -> Expected:
        """Return the expected values of the workload, computed again only if what decides them changed."""
        request = self.request
        # Programs that are not at hand are no witnesses.
        sides = [program for program in lowered if program.label not in self.unavailable]
        key = digest(
            *(VERSION, self.name, sorted(self.sizes.items()), self.seed, self.evaluator),
            *(file_digest(source(self.name)), [program.text or program.missing for program in sides]),
        )

        def evaluated() -> tuple[Expected, bool]:
            if outcome := self.unavailable.get(self.evaluator.name):
                return Expected(reason=outcome.detail), True
            request.say("expected values")
            files = {"program": "program.mlir.gz", "arguments": "arguments.json"}
            folder = request.output / "programs"
            job = ExpectedJob(
                *(self.name, programs.BASE, self.sizes, self.seed),
                *(request.settings.memory_cap_gib, request.settings.budget_s),
                {one.label: {key: str(folder / one.label / files[key]) for key in files} for one in sides},
            )
            values = expected_of(job, self.evaluator)
            return values, "evaluation failed" in values.reason

        return kept_expected(request.output / "expected", key, evaluated)

    # Calls

    @cached_property
    def calls(self) -> Calls | None:
        """The calls that a program file asks for, with their values by its function `numpy`; None without calls()."""
        if not self._is_file or not (called := call_sequence.arguments(self.workload, self.seed)):
            return None
        arguments = [
            {name: value if is_scalar(value) else native(value) for name, value in one.items()}
            for one in called
        ]
        return Calls(arguments, list(map(self._expected_of_call, arguments)))

    def caller(self, framework: str) -> tuple[str, Callable[[], Process]]:
        """Return the Python of a framework, and a function that starts a process which makes calls in it."""
        python = self._python(framework, programs.lower_pins(self.config, framework))
        settings = self.request.settings
        job = [framework, self.name, str(self.seed), settings.matmul_precision]
        return python, lambda: Process(python, ["-m", call_sequence.__name__, *job], **settings.limits)

    def _expected_of_call(self, arguments: dict[str, Any]) -> Expected:
        """Return what NumPy computes in float64, with the limit of the narrowest of the arguments' types."""
        function = self.workload.function("numpy")
        if not function:
            return Expected(reason=f"{Path(self.request.program).name} has no function numpy")
        floats = {name: one for name, one in arguments.items() if not is_scalar(one) and is_float(one.dtype)}
        wide = {**arguments, **{name: one.astype(np.float64) for name, one in floats.items()}}
        inputs = [wide.pop(name) for name in self.workload.INPUTS]
        try:
            returned = mapped(np.asarray, self.workload.results("numpy", function(*inputs, **wide)))
        except Exception as error:
            return Expected(reason=f"numpy() failed: {_exception(error)}")
        values = judge.output_values(returned, 0)
        roundoff = max((float(ml_dtypes.finfo(one.dtype).eps) / 2 for one in floats.values()), default=0.0)
        limit = max(NO_PROGRAM, judge.least_limit(roundoff, 1))
        return Expected(NUMPY, limits=dict.fromkeys(values, limit), values=values)


def load(
    program: str, seed: int, memory_cap_gib: float | str = "auto", timeout_s: float = TIMEOUT_S
) -> Workload:
    """Return the workload of a program file, once a child process has executed it and drawn its inputs.

    The file has no standard input; anything that it prints afterwards is dropped.

    :raises BadInput: with file, line and what happened, if the child did not get through.
    """
    path, cap = Path(program), limits.cap_bytes(memory_cap_gib)
    with tempfile.TemporaryDirectory() as folder:
        result, log = Path(folder, "result"), Path(folder, "log")

        def work() -> None:
            _without_stdin()
            faulthandler.enable(2)
            faulthandler.dump_traceback_later(0.8 * timeout_s, file=2)
            result.write_text(_tried(path, seed))

        report = launch.run_forked(work, cap, timeout_s, log)
        text = result.read_text() if result.exists() else _ending(path, report, log, timeout_s, cap)
    if text != LOADED:
        raise BadInput(" ".join(text.split()))
    _without_stdin()
    try:
        with redirect_stdout(io.StringIO()):
            workload = workloads.load(program)
    except (ValueError, ImportError) as error:
        raise BadInput(str(error)) from None
    # Its inputs() is called again for each search.
    workload.module.print = lambda *_, **__: None
    return workload


def _without_stdin() -> None:
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    sys.stdin = io.StringIO()


def _tried(path: Path, seed: int) -> str:
    """Return LOADED, or what happened as a file was executed and its inputs were drawn."""
    try:
        workload = workloads.load(str(path))
        workload.inputs(workload.DEFAULTS, seed)
        call_sequence.arguments(workload, seed)
    except ProgramFileError as error:
        return str(error)
    except BaseException as error:
        at = workloads.user_line(error) or f"{path.name}:1: "
        return f"{at}expected a file that loads and draws its inputs, got {_exception(error)}; fix: that line"
    return LOADED


def _exception(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _ending(path: Path, report: ExitReport, log: Path, timeout_s: float, cap: int) -> str:
    """Return how the child ended that did not get through."""
    frames = _FRAME.findall(log.read_text(errors="replace")) if log.exists() else []
    line = next((number for file, number in frames if Path(file) == path.resolve()), "1")
    if report.timed_out:
        what, got = f"within {timeout_s:.0f} s", "no end"
    elif report.over_cap or report.kernel_oom:
        what, got = f"within {numbers.size(cap)}", "more memory"
    else:
        what, got = "and draws its inputs", f"a process that ended with status {report.exit_code}"
    return f"{path.name}:{line}: expected a file that loads {what}, got {got}; fix: that line"
