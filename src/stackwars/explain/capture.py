"""Capture the modules that a script compiles, rank them by time times calls, and write the hottest as a program.

The script runs unchanged in its own Python, with `capture_hook` as sitecustomize, and is not timed. Each module is
timed afterwards in a worker, on values with the moments that the arguments of its first call had. Existing dumps of
JAX and XLA are ranked by the time of one call.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stackwars.core import check, documents
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.numbers import digits, percent
from stackwars.core.outcome import Failed
from stackwars.core.program import Graph, Program
from stackwars.core.program_text import refusal
from stackwars.core.types import element
from stackwars.explain import capture_hook, console, files
from stackwars.explain.answer import Rate
from stackwars.explain.files import SUFFIXES, BadInput
from stackwars.explain.regions import flops, peak_gflops, with_peak
from stackwars.explain.task import Settings, plain_arguments

MOST = 8
"""Modules that are timed: those with the most operations times calls."""
FOLDER = "captured"
"""Folder of the timed modules, inside the folder of an answer."""
DUMPED = ".before_optimizations.hlo.pb"
"""Ends the name of a module that XLA dumped as a proto, before it changed it."""
_COMPILED, _EXECUTED = (
    re.compile(rf"^{stage} Analysis: +Graph Hash: (\w+)", re.MULTILINE)
    for stage in ("Compilation", "Execution")
)
"""Lines of PyTorch/XLA's log. "Post Compilation Analysis" is another one."""
_UNSAFE = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class Script:
    """A user's command: `python path arguments`."""

    path: Path
    arguments: tuple[str, ...]
    python: str


@dataclass(frozen=True)
class Module:
    """A captured module.

    path: StableHLO, or XLA's dump. calls: None if they are not known, the least if not is_exact. arguments: of the
    first call, see `capture_hook.facts`; [] if they are not known.
    """

    name: str
    path: Path
    calls: int | None = None
    is_exact: bool = True
    arguments: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Candidate:
    """A module as a program. ms: of a call; None if it was not timed. why: it cannot be called here."""

    module: Module
    program: Program
    graph: Graph
    ms: float | None = None
    why: str = ""

    @property
    def calls(self) -> int:
        return self.module.calls or 1

    @property
    def work(self) -> int:
        return self.calls * sum(max(1, op.work) for op in self.graph.ops)

    @property
    def total_ms(self) -> float:
        return self.calls * (self.ms or 0)


# The command


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("a script in place of a program")
    group.add_argument(
        "--run",
        nargs=argparse.REMAINDER,
        default=[],
        metavar="SCRIPT [ARGUMENT ...]",
        help="the last option: run this script, and explain the hottest module that it compiles",
    )
    group.add_argument("--against", default="", help="another script, whose hottest module it is compared with")
    group.add_argument("--python", default="", help="the Python that runs the scripts")
    group.add_argument(
        "--values", action="store_true", help="run it a second time to save the values of the arguments"
    )
    group.add_argument(
        "--hlo-dump",
        type=Path,
        metavar="FOLDER",
        help="modules that JAX_DUMP_IR_TO or XLA dumped into a folder",
    )


def is_asked(options: argparse.Namespace, program: object) -> bool:
    """Return whether a command names a script or a dump in place of a program.

    :raises BadInput: for more than one of them or none, and options that need a script.
    """
    sources = [str(program)] if program else []
    sources += ["--run"] if options.run else []
    sources += ["--hlo-dump"] if options.hlo_dump else []
    if len(sources) != 1:
        got = " and ".join(sources) or "none"
        raise BadInput(f"expected a program, --run <script> or --hlo-dump <folder>, got {got}; fix: give one")
    for name in ("against", "python", "values"):
        if getattr(options, name) and not options.run:
            raise BadInput(f"expected --run <script> with --{name}, got none; fix: leave --{name} out")
    if options.run and options.inputs:
        raise BadInput("expected no --inputs with --run, got one; fix: --values takes the script's own")
    return not program


def name_of(options: argparse.Namespace) -> str:
    """Return the name of an answer about scripts or a dump."""
    paths = [options.run[0], *shlex.split(options.against)[:1]] if options.run else [options.hlo_dump.resolve()]
    return files.name_of(paths, options.ask)


def variables(options: argparse.Namespace) -> dict[str, str]:
    """Return the variables of `make explain` that repeat a capture."""
    return {
        "RUN": "".join(options.run[:1]),
        "ARGS": shlex.join(options.run[1:]),
        "AGAINST": options.against,
        "RUN_PYTHON": options.python,
        "VALUES": "1" * options.values,
        "DUMP": str(options.hlo_dump or ""),
    }


def programs(
    options: argparse.Namespace,
    python_of: Callable[[Path], str],
    spec: CompilerSpec,
    settings: Settings,
    output: Path,
    say: Callable[[str], None],
) -> tuple[list[str], str]:
    """Return the files of the hottest modules, one of each script, and the .npz of their arguments' values or "".

    python_of: returns the Python of a script. spec: an XLA that times them. output: the folder to write into.

    :raises BadInput: for a script that fails or compiles nothing, a dump that cannot be read, and modules that cannot
        be called.
    """
    if options.hlo_dump:
        return [str(hottest(read_dump(options.hlo_dump), spec, settings, output, say)[0])], ""
    scripts = [
        read_script(command, options.python, python_of)
        for command in (options.run, shlex.split(options.against))
        if command
    ]
    stream = sys.stderr if getattr(options, "json", False) else None
    found, inputs = [], ""
    for number, script in enumerate(scripts):
        folder = output / "ab"[number] if len(scripts) > 1 else output
        with tempfile.TemporaryDirectory(prefix="stackwars-") as captured:
            say(f"running {script.path} in {script.python}")
            modules = run(script, Path(captured), stream)
            path, module = hottest(modules, spec, settings, folder, say)
            if options.values and not number:
                inputs = save_values(script, module, folder, stream)
        found.append(str(path))
    return found, inputs


# Scripts


def read_script(
    command: Sequence[str], python: str = "", python_of: Callable[[Path], str] = lambda _: sys.executable
) -> Script:
    """Return the script of a command.

    :raises BadInput: for a file that is no script, and a Python that does not exist.
    """
    path = Path(command[0])
    files.check_exists(path)
    imported_packages(path)
    if python and not shutil.which(python):
        raise BadInput(f"--python: expected an interpreter, got {python}, which is none; fix: its path")
    return Script(path, tuple(command[1:]), python or python_of(path))


def imported_packages(path: Path) -> set[str]:
    """Return the packages that a script imports itself.

    :raises BadInput: with its line, for a file that is not Python.
    """
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        raise BadInput(f"{path}:{line}: expected Python, got {error}; fix: that line") from None
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


def run(script: Script, folder: Path, stdout: Any = None, values: str = "") -> list[Module]:
    """Run a script and return the modules that it called.

    folder: to record into; it lives as long as the modules. stdout: of the script, by default this process's. values:
    the digest of the module whose arguments are saved.

    :raises BadInput: if the script fails, or calls no compiled module.
    """
    hook = folder / "hook"
    hook.mkdir()
    shutil.copy(capture_hook.__file__, hook / "sitecustomize.py")
    environ = {**os.environ, capture_hook.FOLDER: str(folder), capture_hook.VALUES: values}
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(hook), os.environ.get("PYTHONPATH")]))
    sys.stdout.flush()
    done = subprocess.run(
        [script.python, str(script.path), *script.arguments], env=environ, stdout=stdout, check=False
    )
    if done.returncode:
        raise BadInput(
            f"{script.path}: expected it to end with status 0, got {done.returncode}; fix: the script, which has said "
            "above what is wrong"
        )
    modules = list(recorded(folder))
    graphs = sum(documents.read(path)["inductor_graphs"] for path in folder.glob("*.json"))
    seen = f"{graphs} graph{'s' * (graphs != 1)} compiled by TorchInductor, seen and not captured"
    fix = 'torch.compile(backend="openxla"), or a program file with FRONTENDS=torch_inductor'
    if graphs and modules:
        print(f"{script.path}: {seen}; fix: {fix}", file=sys.stderr)
    elif graphs:
        raise BadInput(f"{script.path}: expected at least one module of XLA, got {seen}; fix: {fix}")
    elif not modules:
        raise BadInput(
            f"{script.path}: expected at least one compiled module, found none; fix: compile with jax.jit or "
            "torch_xla, and let the script end by itself"
        )
    return modules


def recorded(folder: Path) -> Iterator[Module]:
    """Yield the modules that processes recorded in a folder, except those that were never called."""
    for path in sorted(folder.glob("*.json")):
        document = documents.read(path)
        for one in document["modules"]:
            if one["calls"]:
                where = (one["name"], folder / one["file"], one["calls"], document["is_exact"])
                yield Module(*where, one["arguments"] or [])
    for path in sorted(folder.glob("xla-*")):
        if path.is_dir():
            yield from dumped(path, path.with_suffix(".txt"))


def dumped(folder: Path, log: Path | None = None) -> list[Module]:
    """Return the modules that XLA dumped, with their calls if PyTorch/XLA's log has the same number of compilations."""
    # JAX in the same process has the hook.
    paths = [path for path in sorted(folder.glob(f"*{DUMPED}")) if not log or ".jit_" not in path.name]
    text = log.read_text(errors="replace") if log and log.exists() else ""
    hashes, called = _COMPILED.findall(text), Counter(_EXECUTED.findall(text))
    calls = [called[one] for one in hashes] if len(hashes) == len(paths) else [None] * len(paths)
    names = [path.name.removesuffix(DUMPED).partition(".")[2] for path in paths]
    return [Module(*one) for one in zip(names, paths, calls, strict=True) if one[2] != 0]


def read_dump(folder: Path) -> list[Module]:
    """Return the modules of an existing dump.

    :raises BadInput: for a folder without modules in a form that is read here.
    """
    if not folder.is_dir():
        raise BadInput(
            f"{folder}: expected a folder, got {'a file' if folder.exists() else 'none'}; fix: the path"
        )
    # XLA dumps the kernels of its fusions as modules too.
    programs = [
        path
        for path in sorted(folder.iterdir())
        if path.name.endswith(SUFFIXES) and not path.name.startswith("module_")
    ]
    # JAX prints a module when it is lowered, and again when it is compiled.
    compiled = [path for path in programs if "_compile." in path.name]
    modules = [*(Module(files.stem(path), path) for path in compiled or programs), *dumped(folder)]
    if not modules:
        texts = sum("HloModule" in _head(path) for path in folder.iterdir() if path.is_file())
        got = f"{texts} files of HLO text, which XLA wrote" if texts else "none"
        raise BadInput(
            f"{folder}: expected StableHLO or XLA's unoptimised protos, got {got}; fix: run the program with "
            f"JAX_DUMP_IR_TO={folder}, or with XLA_FLAGS='--xla_dump_to={folder} --xla_dump_hlo_as_proto'"
        )
    return modules


def _head(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(1000).decode(errors="replace")


def save_values(script: Script, module: Module, output: Path, stdout: Any = None) -> str:
    """Run a script again and return the file that it saves a module's arguments into.

    :raises BadInput: if it does not compile that module again, or PyTorch/XLA compiled it.
    """
    if module.path.name.endswith(DUMPED):
        raise BadInput(
            f"--values: expected a module of JAX, got {module.name} of PyTorch/XLA; fix: leave it out"
        )
    path = output / "values.npz"
    with tempfile.TemporaryDirectory(prefix="stackwars-") as folder:
        run(script, Path(folder), stdout, values=module.path.stem.partition("-")[2])
        saved = Path(folder, path.name)
        if not saved.exists():
            raise BadInput(
                f"{script.path}: expected it to compile {module.name} again, got other modules; fix: the script must "
                "do the same in each run"
            )
        shutil.copy(saved, path)
    return str(path)


# The hottest module


def hottest(
    modules: Sequence[Module], spec: CompilerSpec, settings: Settings, output: Path, say: Callable[[str], None]
) -> tuple[Path, Module]:
    """Time the modules with most work, print them, and return the file of the one that takes most time, and it.

    output: the folder of the timed programs, each with what is known of its arguments' values; it is emptied.

    :raises BadInput: if none of them can be called.
    """
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    with Worker(spec, **settings.limits) as worker:
        candidates, refused = [], []
        for module, label in zip(modules, labels([module.name for module in modules]), strict=True):
            try:
                candidates.append(candidate(worker, module, label, output))
            except (BadInput, Failed) as error:
                refused.append(f"{label}: {' '.join(str(error).split())[:300]}")
        candidates.sort(key=lambda one: -one.work)
        tried = [timed(worker, one, settings.seconds) for one in candidates[:MOST]]
        refused += [f"{one.program.label}: {one.why}" for one in tried if one.why]
        ranked = sorted((one for one in tried if one.ms), key=lambda one: -one.total_ms)
        if not ranked:
            raise BadInput(
                f"expected a module that can be called here, got none: {refused[0]}; fix: that module"
            )
        for one in ranked:
            write(one, output)
        lines = [*table(ranked), *(f"Not timed: {why}" for why in refused)]
        if len(candidates) > MOST:
            lines.append(f"Not timed: {len(candidates) - MOST} modules with less work.")
        if any(one.module.calls is None for one in ranked):
            lines.append("?: the number of calls is not known; modules are ranked by one call.")
        if not all(one.module.is_exact for one in ranked):
            lines.append("+: at least so many calls; others could not be told apart.")
        lines.append(speed(ranked[0], worker))
    say(console.wrapped(["", *filter(None, lines), ""]))
    return output / f"{ranked[0].program.label}.mlir", ranked[0].module


def labels(names: Sequence[str]) -> list[str]:
    """Return names of files for modules, each once.

    >>> labels(["jit_f", "jit_<lambda>", "jit_f"])
    ['jit_f', 'jit_lambda_', 'jit_f-2']
    """
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        plain = _UNSAFE.sub("_", name.replace("<", ""))[: files.MOST_NAME // 2]
        seen[plain] += 1
        result.append(f"{plain}-{seen[plain]}" if seen[plain] > 1 else plain)
    return result


def candidate(worker: Worker, module: Module, label: str, output: Path) -> Candidate:
    """Return a module as a program.

    :raises BadInput: if it is no program that can be read.
    :raises Failed: if its HLO cannot be written as StableHLO.
    """
    path = output / f"{label}.mlir{'.gz' * (module.path.suffix == '.gz')}"
    if module.path.name.endswith(DUMPED):
        path.write_text(worker.stablehlo(module.path.read_bytes()))
    else:
        shutil.copy(module.path, path)
    try:
        text, graph = files.read_program(worker, path)
    finally:
        path.unlink()
    arguments = plain_arguments(graph, {}, files.SEED, module.arguments)
    return Candidate(module, Program(label, text, arguments, file=f"{label}.mlir"), graph)


def timed(worker: Worker, one: Candidate, seconds: float) -> Candidate:
    """Return a candidate with the time of a call, or why it has none."""
    label = one.program.label
    try:
        if why := refusal(one.program.text):
            return replace(one, why=why)
        ms = check.time_together(worker, [one.program], seconds)[label].ms
        worker.clear()
    except Failed as error:
        return replace(one, why=" ".join(str(error).split())[:300])
    return replace(one, ms=ms)


def write(one: Candidate, output: Path) -> None:
    """Write a program, and the record of its arguments' values, by which `files.load` draws them."""
    path = output / one.program.file
    path.write_text(one.program.text)
    if one.module.arguments:
        documents.write(files.record_of(path), {"arguments": one.module.arguments})


def table(ranked: Sequence[Candidate]) -> list[str]:
    """Return the calls, the time of a call, and the share of the time of all timed modules."""
    whole = sum(one.total_ms for one in ranked)
    texts = {
        "calls": ["calls", *map(calls_text, ranked)],
        "ms": ["ms", *(digits(one.ms) for one in ranked)],
        "share": ["share", *(percent(one.total_ms / whole) for one in ranked)],
    }
    return console.blocks(["module", *(one.program.label for one in ranked)], texts)


def calls_text(one: Candidate) -> str:
    """Return how often a module was called."""
    return "?" if one.module.calls is None else f"{one.calls:,}{'+' * (not one.module.is_exact)}"


def speed(one: Candidate, worker: Worker) -> str:
    """Return a sentence on the rate of a module's products; "" if it has none, or others than those of float32.

    How often a loop runs is not known.
    """
    products = [op for op in one.graph.ops if flops(op)]
    is_plain = all(element(one.graph.types[op.results[0]]) == "f32" for op in products)
    if not products or not is_plain or any(op.name == "stablehlo.while" for op in one.graph.ops):
        return ""
    gflops = sum(map(flops, products)) / (one.ms * 1e6)
    # On a busy machine one measurement may be far too low.
    peak = max(peak_gflops(worker) for _ in range(3))
    found = with_peak(Rate(one.ms, None, gflops, 0.0), peak)
    if found.of_peak is None:
        return ""
    of_peak = percent(found.of_peak) if found.of_peak >= 0.01 else "less than 1 %"
    share = f"{of_peak} of the rate of a large product on this machine"
    return f"{one.program.label} computes its products at {digits(gflops)} GFLOP/s, {share}."
