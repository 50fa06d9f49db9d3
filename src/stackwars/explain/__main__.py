"""`stackwars explain`: StableHLO files or what a script compiles in this jaxlib, or a program file in frontends.

A program file is Python, and is executed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import NoReturn

from stackwars.core.client import CompilerSpec
from stackwars.explain import bundle, capture, driver, files
from stackwars.explain.answer import Answer
from stackwars.explain.files import BadInput
from stackwars.explain.task import ASKS, TIME, Settings

CANNOT = 3
STOPPED = "stopped; what was measured is kept; run the same command again"
STATUSES = """Exit status: 0 if every program is right and there is no gap beyond the bound; 1 if a program is wrong,
crashes, does not end, is refused or is not judged, or if they compute different things; 2 if there is a gap (of two
StableHLO files: if the first is slower), or a framework compiles in more than one call; 3 if there is no
answer."""
RERUN = {bundle.FIXED: 0, bundle.STILL: 1, bundle.DIFFERENT: 2, bundle.NOT_DECIDED: CANNOT}
RERUN_STATUSES = f"Exit status: {', '.join(f'{status} if it is {word}' for word, status in RERUN.items())}."
LOADERS = "stackwars.program_files"
"""Entry points that explain a program file: functions of (options, say) that return an answer."""


class Parser(argparse.ArgumentParser):
    """A parser whose exit status for a wrong command is not that of a slow program."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(CANNOT, f"{self.prog}: {message}\n")


def not_negative(text: str) -> float:
    """Return the gap that an option names, for argparse."""
    with contextlib.suppress(ValueError):
        if 0 <= float(text) < math.inf:
            return float(text)
    raise argparse.ArgumentTypeError(f"expected a number of at least 0, got {text}; fix: 0.1 for a gap of 10 %")


def objective(text: str) -> str:
    """Return the objective that an option names, for argparse."""
    if text in ASKS:
        return text
    raise argparse.ArgumentTypeError(f"expected {' or '.join(ASKS)}, got {text}; fix: {ASKS[0]} is the default")


def parser() -> argparse.ArgumentParser:
    result = Parser(prog="stackwars", description="Explain why programs differ.")
    commands = result.add_subparsers(dest="command", required=True, metavar="explain or rerun")
    explain = commands.add_parser(
        "explain",
        help="who is slow, wrong, crashed or refused, and why",
        description=f"{__doc__}\n{STATUSES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    explain.add_argument(
        "a",
        nargs="?",
        type=Path,
        metavar="A",
        help="a StableHLO file (.mlir or .mlir.gz): the suspect; or a program file (.py)",
    )
    explain.add_argument("b", type=Path, nargs="?", metavar="B", help="one that it is compared with")
    explain.add_argument(
        "--inputs", type=Path, help="an .npz with the arguments' values, as arg0, arg1 and so on"
    )
    explain.add_argument(
        "--bound", type=not_negative, default=0.1, help="the gap that is worth explaining (default 0.1: 10 %%)"
    )
    explain.add_argument(
        "--json", action="store_true", help="print explain.json, and all else to standard error"
    )
    add_options(explain)
    rerun = commands.add_parser(
        "rerun",
        help="whether what a bundle shows is fixed",
        description=f"{rerun_bundle.__doc__}\n{RERUN_STATUSES}",
    )
    rerun.add_argument("a", type=Path, metavar="BUNDLE", help="a bundle.zip that `explain --bundle` wrote")
    rerun.add_argument("--python", default=sys.executable, help="of an environment with the compiler and NumPy")
    return result


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `stackwars explain` and `make explain` have in common."""
    parser.add_argument(
        "--ask",
        type=objective,
        default=TIME,
        help="time: of a call (default); memory: bytes that XLA assigns; compile: seconds of compiling",
    )
    parser.add_argument("--output", type=Path, help="folder to write into (default explain/<name>)")
    parser.add_argument("--name", default="", help="of the answer (default: the files' names)")
    parser.add_argument(
        "--bundle",
        choices=(bundle.PLAIN, bundle.ANONYMOUS),
        default="",
        help="write bundle.zip, which `stackwars rerun` takes: yes, or anonymous without names and weights",
    )
    capture.add_options(parser)


def explain_files(options: argparse.Namespace, say: Callable[[str], None], command: str = "") -> Answer:
    """Return the answer about StableHLO files in this Python's jaxlib. command: that repeats it, unless it names files.

    :raises BadInput: for files that cannot be explained, and without a jaxlib.
    """
    paths = [path for path in (options.a, options.b) if path]
    files.check_exists(*paths, options.inputs or "")
    compiler = this_compiler()
    name = options.name or files.name_of(paths, options.ask)
    files.check_name(name)
    words = [
        "stackwars",
        "explain",
        *map(str, paths),
        *(["--inputs", str(options.inputs)] if options.inputs else []),
        *(["--ask", options.ask] if options.ask != TIME else []),
    ]
    return driver.explain(
        files.load(paths, compiler, options.inputs or ""),
        [compiler],
        name=name,
        title=" and ".join(map(str, paths)),
        command=command or shlex.join(words),
        evaluator=compiler,
        settings=Settings(bound=options.bound, ask=options.ask),
        output=options.output or Path("explain", name),
        say=say,
        seed=files.SEED,
        inputs=str(options.inputs.resolve()) if options.inputs else "",
        bundle=options.bundle,
    )


def explain_captured(options: argparse.Namespace, say: Callable[[str], None], command: str) -> Answer:
    """Return the answer about the hottest modules of scripts, or of a dump, in this Python's jaxlib.

    command: that repeats it.

    :raises BadInput: see `capture.programs`.
    """
    compiler, name = this_compiler(), options.name or capture.name_of(options)
    files.check_name(name)
    output = options.output or Path("explain", name)
    settings = Settings(bound=options.bound, ask=options.ask)
    paths, inputs = capture.programs(
        options, lambda _: sys.executable, compiler, settings, output / capture.FOLDER, say
    )
    a, b = [*map(Path, paths), None][:2]
    chosen = {"a": a, "b": b, "inputs": Path(inputs) if inputs else None, "name": name, "output": output}
    return explain_files(argparse.Namespace(**vars(options) | chosen), say, command)


def this_compiler() -> CompilerSpec:
    """Return the XLA of this Python.

    :raises BadInput: if it has none.
    """
    try:
        return CompilerSpec(f"jaxlib-{metadata.version('jaxlib')}")
    except metadata.PackageNotFoundError:
        raise BadInput("expected a Python with jaxlib, got none; fix: pip install jax") from None


def explain_program_file(options: argparse.Namespace, say: Callable[[str], None]) -> Answer:
    """Return the answer about a program file, by the loader that is installed for them.

    :raises BadInput: without one, and for a file that cannot be explained.
    """
    files.check_exists(options.a)
    for loader in metadata.entry_points(group=LOADERS):
        # What the loader needs is not installed beside every jaxlib.
        with contextlib.suppress(ImportError):
            return loader.load()(options, say)
    raise BadInput(
        f"{options.a}: expected a StableHLO file, got a program file, for which nothing here has frontends; "
        f"fix: make explain PROGRAM={options.a} in the repository"
    )


def rerun_bundle(options: argparse.Namespace) -> NoReturn:
    """Run what a bundle shows again in an environment, by this version's code: none of the archive is executed."""
    with refused(bundle.BundleError):
        word, detail = bundle.rerun(options.a, options.python)
        print(f"{word}: {detail}")
        sys.exit(RERUN[word])


def end_with(
    explain: Callable[[], Answer], refusals: tuple[type[Exception], ...] = (BadInput,), as_json: bool = False
) -> NoReturn:
    """End with the exit status of an answer, or say why there is none.

    refusals: exceptions of input that cannot be explained: one line. as_json: print the answer.
    """
    with refused(*refusals):
        answer = explain()
        if as_json:
            print(json.dumps(asdict(answer), indent=1))
        sys.exit(answer.exit_status)


@contextlib.contextmanager
def refused(*refusals: type[Exception]) -> Iterator[None]:
    """End with CANNOT if what runs inside raises: in one line unless it is a fault of ours."""
    try:
        yield
        return
    except refusals as error:
        print(error, file=sys.stderr)
    except KeyboardInterrupt:
        print(f"\n{STOPPED}", file=sys.stderr)
    except OSError as error:
        fix = "free some disk, or change the permissions; what was measured is kept"
        print(f"expected files that can be read and written, got {error}; fix: {fix}", file=sys.stderr)
    except Exception:
        # Python's own status of an exception is that of a wrong program.
        traceback.print_exc()
    sys.exit(CANNOT)


def main(arguments: list[str] | None = None) -> NoReturn:
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parser().parse_args(arguments)
    if options.command == "rerun":
        rerun_bundle(options)
    say = partial(print, file=sys.stderr if options.json else sys.stdout, flush=True)

    def explain() -> Answer:
        if capture.is_asked(options, options.a):
            return explain_captured(options, say, shlex.join(["stackwars", *arguments]))
        found = explain_program_file if options.a.suffix == ".py" else explain_files
        return found(options, say)

    end_with(explain, as_json=options.json)


if __name__ == "__main__":
    main()
