"""Explain a program file, a workload, a script, or StableHLO files, in the frontends and compilers configured.

`python -m stackwars.study.workflow.explain PROGRAM [B]`: make explain runs it.
"""

from __future__ import annotations

import argparse
import re
import shlex
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from stackwars.core.client import CompilerSpec
from stackwars.core.compilers import XLA
from stackwars.core.launch import REPOSITORY
from stackwars.explain import capture, driver, files, recompilation
from stackwars.explain.__main__ import STATUSES, Parser, add_options, end_with, not_negative
from stackwars.explain.answer import Answer
from stackwars.explain.files import SUFFIXES, BadInput
from stackwars.explain.task import TIME, Settings
from stackwars.measure import frameworks, stablehlo
from stackwars.measure.call_sequence import SESSIONS
from stackwars.setup import environments
from stackwars.study import programs
from stackwars.study.config import ConfigError, load
from stackwars.study.keys import Config
from stackwars.study.workflow import program_files, start
from stackwars.study.workflow.program_files import Request, Say

FOLDER = "explain"
NATIVES = ("torch_eager", "torch_inductor", "numpy")
"""Frameworks that run a workload without StableHLO."""


def request(options: argparse.Namespace, say: Say) -> Request:
    """Return the request of a command.

    :raises BadInput: for names that the configuration does not have.
    """
    config = load(**({"preset": options.preset} if options.preset else {}))
    row = config.explain
    known = {"compilers": list(config.compilers), "frontends": known_frontends(config)}
    default = {
        "compilers": row.compilers or known["compilers"],
        "frontends": row.frontends,
    }
    names = {what: _names(getattr(options, what)) or default[what] for what in default}
    for what in names:
        if unknown := [name for name in names[what] if name not in known[what]]:
            raise BadInput(
                f"explain.{what}: expected some of {', '.join(known[what])}, got {unknown[0]}; "
                f"fix: {what.upper()}=<names>"
            )
    settings = Settings(**row.settings.document())
    bound = settings.bound if options.bound is None else options.bound
    name = options.name or files.name_of([path for path in (options.program, options.b) if path], options.ask)
    files.check_name(name)
    words = {
        **capture.variables(options),
        "A" if options.program.endswith(SUFFIXES) else "PROGRAM": options.program,
        "B": options.b,
        "INPUTS": options.inputs,
        **{what.upper(): ",".join(names[what]) for what in names if names[what] != default[what]},
        "ASK": "" if options.ask == TIME else options.ask,
        "BOUND": "" if bound == settings.bound else str(bound),
    }
    return Request(
        *(config, options.program, names["frontends"], replace(settings, bound=bound, ask=options.ask), name),
        *(options.output or Path(FOLDER, name), say, names["compilers"], options.b, options.inputs),
        " ".join(["make explain", *(f"{key}={shlex.quote(value)}" for key, value in words.items() if value)]),
        options.bundle,
    )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def known_frontends(config: Config) -> list[str]:
    """Return the frameworks that lower programs, and those that run without StableHLO."""
    lowering = [name for name in config.frameworks if name in stablehlo.lowering()]
    return [*lowering, *(name for name in NATIVES if name in config.frameworks)]


def explain(request: Request) -> Answer:
    """Return the answer to a request, and write it.

    :raises BadInput: for a program that cannot be explained.
    """
    with ExitStack() as stack:
        session = program_files.Session(request, stack)
        is_stablehlo = request.program.endswith(SUFFIXES)
        if not is_stablehlo and request.settings.ask == TIME and session.calls:
            return _calls(session)
        details = _files(session) if is_stablehlo else _workload(session)
        details.setdefault("not_tried", {})["compilers"] = [
            name for name in request.config.compilers if name not in request.compilers
        ]
        return driver.explain(
            compilers=session.compilers,
            name=request.name,
            command=request.command,
            evaluator=session.evaluator,
            unavailable=session.unavailable,
            settings=request.settings,
            output=request.output,
            say=request.say,
            seed=session.seed,
            bundle=request.bundle,
            **details,
        )


def _files(session: program_files.Session) -> dict[str, Any]:
    """Return what the driver explains of StableHLO files."""
    request = session.request
    session.check_evaluator()
    paths = [path for path in (request.program, request.b) if path]
    return {
        "programs": files.load(paths, session.evaluator, request.inputs, session.seed),
        "title": " and ".join(paths),
        "inputs": request.inputs,
    }


def _workload(session: program_files.Session) -> dict[str, Any]:
    """Return what the driver explains of a program file or a workload in the frontends."""
    request, workload = session.request, session.workload
    known = known_frontends(request.config)
    has_form = {name: frameworks.load(name).DIALECT not in workload.NO_FORM for name in known}
    shown = [name for name in request.frontends if has_form[name]]
    lowered = [session.lowered(name) for name in shown if name not in NATIVES]
    natives = {name: session.native(name) for name in shown if name in NATIVES}
    labels = [program.label for program in lowered]
    return {
        "programs": lowered,
        "title": workload.TITLE,
        "expected": dict.fromkeys([*labels, *natives], session.expected(lowered)),
        "natives": natives,
        "lower": {label: session.lower(label) for label in labels},
        "not_tried": {
            "frontends": [name for name in known if has_form[name] and name not in shown],
            "frontends without a function": [name for name in request.frontends if not has_form[name]],
        },
        "workload": request.program,
        "sizes": session.sizes,
        "source": session.source_digest,
    }


def _calls(session: program_files.Session) -> Answer:
    """Return the answer about the calls that a program file asks for."""
    request, workload = session.request, session.workload
    shown = [
        name
        for name in request.frontends
        if name in SESSIONS and workload.function(frameworks.load(name).DIALECT)
    ]
    if not shown:
        expected = f"a function jax or torch beside calls(), for {', '.join(SESSIONS)}"
        raise BadInput(f"{request.program}: expected {expected}, got none; fix: write it, or FRONTENDS")
    return recompilation.explain(
        session.calls,
        {name: session.caller(name) for name in shown},
        session.unavailable,
        output=request.output,
        budget_s=request.settings.budget_s,
        say=request.say,
        key=session.source_digest,
        not_tried={"frontends": [name for name in SESSIONS if name not in shown]},
        bound=request.settings.bound,
        name=request.name,
        title=workload.TITLE,
        command=request.command,
        workload=request.program,
        sizes=session.sizes,
        seed=session.seed,
        inputs="",
        programs={},
    )


PACKAGES = {"torch_xla": "torch_xla", "torchax": "torchax", "jax": "jax", "flax": "jax", "optax": "jax"}
"""Frameworks in whose environments a script is run, by a package that it imports; the first decides."""


def explain_captured(options: argparse.Namespace, say: Say) -> Answer:
    """Return the answer about the hottest modules of scripts, or of a dump, and write it.

    :raises BadInput: see `capture.programs`, and without an environment.
    """
    name = options.name or capture.name_of(options)
    asked = request(argparse.Namespace(**vars(options) | {"program": "", "name": name}), say)
    # The newest reads all programs.
    known = asked.config.compilers
    compiler = [one for one, row in known.items() if row.module == XLA and not row.options][-1]
    row, python = known[compiler], environment(programs.compiler_pins(asked.config, compiler))
    paths, inputs = capture.programs(
        options,
        partial(script_python, asked.config),
        CompilerSpec(compiler, row.module, row.options, python),
        asked.settings,
        asked.output / capture.FOLDER,
        say,
    )
    a, b = [*paths, ""][:2]
    return explain(replace(asked, program=a, b=b, inputs=inputs))


def script_python(config: Config, script: Path) -> str:
    """Return the Python of the environment with a framework that a script imports.

    :raises BadInput: if it imports none, or there is no environment.
    """
    text = script.read_text(errors="replace")
    for package, framework in PACKAGES.items():
        if re.search(rf"^\s*(?:import|from) {package}\b", text, re.MULTILINE):
            return environment(programs.lower_pins(config, framework))
    expected = f"a script that imports one of {', '.join(PACKAGES)}"
    raise BadInput(f"{script}: expected {expected}, found none; fix: RUN_PYTHON=<the interpreter that runs it>")


def environment(pins: str) -> str:
    """Return the Python of an environment.

    :raises BadInput: if there is none.
    """
    try:
        return str(environments.ensure(REPOSITORY / pins))
    except environments.BuildError as error:
        raise BadInput(" ".join(str(error).split())) from None


def explain_program_file(options: argparse.Namespace, say: Say) -> Answer:
    """Explain a program file for `stackwars explain`, which finds this function as an entry point.

    :raises BadInput: for a file that cannot be explained.
    """
    defaults = vars(parser().parse_args(["--", str(options.a)]))
    chosen = {"bound": options.bound, "ask": options.ask, "name": options.name, "output": options.output}
    chosen |= {"b": str(options.b or ""), "inputs": str(options.inputs or ""), "bundle": options.bundle}
    ask = ["--ask", options.ask] if options.ask != TIME else []
    command = shlex.join(["stackwars", "explain", *ask, str(options.a)])
    return explain(replace(request(argparse.Namespace(**defaults | chosen), say), command=command))


def parser() -> argparse.ArgumentParser:
    result = Parser(
        prog="make explain",
        description=f"{__doc__}\n{STATUSES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument(
        "program", metavar="PROGRAM", nargs="?", help="a program file, a workload or a StableHLO file"
    )
    result.add_argument(
        "b", metavar="B", nargs="?", default="", help="a StableHLO file that it is compared with"
    )
    result.add_argument("--compilers", default="", help="of config/config.yaml, with commas")
    result.add_argument("--frontends", default="", help="likewise")
    result.add_argument("--bound", type=not_negative, help="the gap that is worth explaining")
    result.add_argument("--inputs", default="", help="an .npz with the values of a StableHLO file's arguments")
    result.add_argument("--preset", default="", help="whose sizes a workload has")
    add_options(result)
    return result


def main() -> NoReturn:
    options = parser().parse_args()

    def answer() -> Answer:
        lock = start.take_lock()  # an open file is the lock, so it needs a name
        if not lock:
            raise BadInput(start.TAKEN)
        say = partial(print, flush=True)
        if capture.is_asked(options, options.program):
            return explain_captured(options, say)
        return explain(request(options, say))

    end_with(answer, refusals=(BadInput, ConfigError))


if __name__ == "__main__":
    main()
