"""Capture the modules that a script compiles, rank them by time times calls, and write the hottest as a program.

The script runs unchanged in its own Python, with `capture_hook` as sitecustomize, and is not timed. Each module is
timed afterwards in a worker, on values with the moments that the arguments of its first call had. Existing dumps of
JAX and XLA are ranked by the time of one call.
"""

from __future__ import annotations

import argparse
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
from functools import partial
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
from stackwars.explain.files import SUFFIXES, BadInput, plain_arguments
from stackwars.explain.regions import flops, peak_gflops, ran, with_peak
from stackwars.explain.task import Settings

MOST = 8
"""Modules that are timed: those with the most operations times calls."""
FOLDER = "captured"
"""Folder of the modules, inside the folder of an answer."""
DUMPED = ".before_optimizations.hlo.pb"
"""Ends the name of a module that XLA dumped as a proto, before it changed it."""
_COMPILED, _EXECUTED = (
    re.compile(rf"^{stage} Analysis: +Graph Hash: (\w+)", re.MULTILINE)
    for stage in ("Compilation", "Execution")
)
"""Lines of PyTorch/XLA's log. "Post Compilation Analysis" is another one."""
_UNSAFE = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class Module:
    """A captured module.

    path: StableHLO, or XLA's dump. calls: None if they are not known, the least if not is_exact. arguments: of the
    first call, see `capture_hook.facts`; [] if they are not known. program, graph: once it was read. ms: of a call,
    once it was timed.
    """

    name: str
    path: Path
    calls: int | None = None
    is_exact: bool = True
    arguments: list[dict[str, Any]] = field(default_factory=list)
    program: Program | None = None
    graph: Graph | None = None
    ms: float = 0.0

    @property
    def work(self) -> int:
        return (self.calls or 1) * sum(max(1, op.work) for op in self.graph.ops)

    @property
    def total_ms(self) -> float:
        return (self.calls or 1) * self.ms


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
        "--values", action="store_true", help="explain it on the values of the script's arguments"
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
    sources = {str(program or ""): program, "--run": options.run, "--hlo-dump": options.hlo_dump}
    chosen = [name for name, is_given in sources.items() if is_given]
    if len(chosen) != 1:
        got = " and ".join(chosen) or "none"
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
    commands = [options.run, *filter(None, [shlex.split(options.against)])]
    stdout = sys.stderr if getattr(options, "json", False) else None
    found, inputs = [], ""
    for number, command in enumerate(commands):
        script, folder = Path(command[0]), output / "ab"[number] if len(commands) > 1 else output
        files.check_exists(script)
        python = options.python or python_of(script)
        if not shutil.which(python):
            raise BadInput(f"--python: expected an interpreter, got {python}, which is none; fix: its path")
        with tempfile.TemporaryDirectory(prefix="stackwars-") as captured:
            say(f"running {script} in {python}")
            modules = run([python, *command], Path(captured), stdout, options.values and not number)
            path, module = hottest(modules, spec, settings, folder, say)
            if options.values and not number:
                saved = module.path.with_suffix(".npz")
                if not saved.exists():
                    got = f"{module.name} of PyTorch/XLA; fix: leave it out"
                    raise BadInput(f"--values: expected a module of JAX, got {got}")
                inputs = str(shutil.copy(saved, folder / "values.npz"))
        found.append(str(path))
    return found, inputs


# Captured modules


def run(command: Sequence[str], folder: Path, stdout: Any = None, with_values: bool = False) -> list[Module]:
    """Run a script and return the modules that it called.

    command: its Python, path and arguments. folder: to record into; it lives as long as the modules. stdout: of the
    script, by default this process's. with_values: save the values of the modules' arguments.

    :raises BadInput: if the script fails, or calls no compiled module.
    """
    hook = folder / "hook"
    hook.mkdir()
    shutil.copy(capture_hook.__file__, hook / "sitecustomize.py")
    environ = {**os.environ, capture_hook.FOLDER: str(folder), capture_hook.VALUES: "1" * with_values}
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(hook), os.environ.get("PYTHONPATH")]))
    sys.stdout.flush()
    done = subprocess.run(command, env=environ, stdout=stdout, check=False)
    if done.returncode:
        raise BadInput(
            f"{command[1]}: expected it to end with status 0, got {done.returncode}; fix: the script, which has said "
            "above what is wrong"
        )
    modules = list(recorded(folder))
    graphs = sum(documents.read(path)["inductor_graphs"] for path in folder.glob("*.json"))
    seen = f"{graphs} graph{'s' * (graphs != 1)} compiled by TorchInductor, seen and not captured"
    fix = 'torch.compile(backend="openxla"), or a program file with FRONTENDS=torch_inductor'
    if graphs and modules:
        print(f"{command[1]}: {seen}; fix: {fix}", file=sys.stderr)
    elif graphs:
        raise BadInput(f"{command[1]}: expected at least one module of XLA, got {seen}; fix: {fix}")
    elif not modules:
        raise BadInput(
            f"{command[1]}: expected at least one compiled module, found none; fix: compile with jax.jit or "
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
    for path in sorted(folder.glob("xla-*/")):
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
    # XLA dumps the kernels of its fusions as modules too.
    programs = [
        path
        for path in sorted(folder.glob("*"))
        if path.name.endswith(SUFFIXES) and not path.name.startswith("module_")
    ]
    # JAX prints a module when it is lowered, and again when it is compiled.
    compiled = [path for path in programs if "_compile." in path.name]
    modules = [*(Module(files.stem(path), path) for path in compiled or programs), *dumped(folder)]
    if not modules:
        raise BadInput(
            f"{folder}: expected a folder with StableHLO or XLA's unoptimised protos, got none; fix: run the program "
            f"with JAX_DUMP_IR_TO={folder}, or with XLA_FLAGS='--xla_dump_to={folder} --xla_dump_hlo_as_proto'"
        )
    return modules


# The hottest module


def hottest(
    modules: Sequence[Module], spec: CompilerSpec, settings: Settings, output: Path, say: Callable[[str], None]
) -> tuple[Path, Module]:
    """Time the modules with most work, print them, and return the file of the one that takes most time, and it.

    output: the folder of the programs, each with what is known of its arguments' values; it is emptied.

    :raises BadInput: if none of them can be called.
    """
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    refused = []

    def tried(function: Callable[[Module], Module], modules: Sequence[Module]) -> Iterator[Module]:
        for one in modules:
            try:
                yield function(one)
            except (BadInput, Failed) as error:
                refused.append(f"{one.name}: {' '.join(str(error).split())[:300]}")

    labels = unique_names([module.name for module in modules])
    modules = [replace(module, name=label) for module, label in zip(modules, labels, strict=True)]
    with Worker(spec, **settings.limits) as worker:
        by_work = sorted(tried(partial(read, worker, output), modules), key=lambda one: -one.work)
        by_time = sorted(
            tried(partial(timed, worker, settings.seconds), by_work[:MOST]), key=lambda one: -one.total_ms
        )
        if not by_time:
            raise BadInput(
                f"expected a module that can be called here, got none: {refused[0]}; fix: that module"
            )
        lines = [*table(by_time), *(f"Not timed: {why}" for why in refused)]
        if len(by_work) > MOST:
            lines.append(f"Not timed: {len(by_work) - MOST} modules with less work.")
        if any(one.calls is None for one in by_time):
            lines.append("?: the number of calls is not known; modules are ranked by one call.")
        if not all(one.is_exact for one in by_time):
            lines.append("+: at least so many calls; others could not be told apart.")
        lines.append(speed(by_time[0], worker))
    say(console.wrapped(["", *filter(None, lines), ""]))
    return output / by_time[0].program.file, by_time[0]


def unique_names(names: Sequence[str]) -> list[str]:
    """Return names of files for modules, each once.

    >>> unique_names(["jit_f", "jit_<lambda>", "jit_f"])
    ['jit_f', 'jit_lambda_', 'jit_f-2']
    """
    plain = [_UNSAFE.sub("_", name.replace("<", ""))[: files.MOST_NAME // 2] for name in names]
    counts = [plain[: number + 1].count(name) for number, name in enumerate(plain)]
    return [f"{name}-{count}" if count > 1 else name for name, count in zip(plain, counts, strict=True)]


def read(worker: Worker, output: Path, module: Module) -> Module:
    """Return a module with its program, which is written with the record of its arguments: `files.load` draws by it.

    :raises BadInput: if it is no program that can be read.
    :raises Failed: if its HLO cannot be written as StableHLO.
    """
    path = output / f"{module.name}.mlir"
    is_proto = module.path.name.endswith(DUMPED)
    if is_proto:
        path.write_text(worker.stablehlo(module.path.read_bytes()))
    text, graph = files.read_program(worker, path if is_proto else module.path)
    path.write_text(text)
    if module.arguments:
        documents.write(files.record_of(path), {"arguments": module.arguments})
    arguments = plain_arguments(graph, {}, files.SEED, module.arguments)
    return replace(module, program=Program(module.name, text, arguments, file=path.name), graph=graph)


def timed(worker: Worker, seconds: float, module: Module) -> Module:
    """Return a module with the time of a call.

    :raises BadInput: if it calls back into Python.
    :raises Failed: if it does not run.
    """
    if why := refusal(module.program.text):
        raise BadInput(why)
    ms = check.time_together(worker, [module.program], seconds)[module.name].ms
    worker.clear()
    return replace(module, ms=ms)


def table(modules: Sequence[Module]) -> list[str]:
    """Return the calls, the time of a call, and the share of the time of all timed modules."""
    total = sum(one.total_ms for one in modules)
    texts = {
        "calls": ["calls", *map(calls_text, modules)],
        "ms": ["ms", *(digits(one.ms) for one in modules)],
        "share": ["share", *(percent(one.total_ms / total) for one in modules)],
    }
    return console.blocks(["module", *(one.name for one in modules)], texts)


def calls_text(module: Module) -> str:
    return "?" if module.calls is None else f"{module.calls:,}{'+' * (not module.is_exact)}"


def speed(module: Module, worker: Worker) -> str:
    """Return a sentence on the rate of a module's products; "" if it has none, or one that is not of float32.

    How often a loop runs is not known.
    """
    ops, types = module.graph.ops, module.graph.types
    products = [op for op in ops if flops(op)]
    is_plain = all(element(types[op.results[0]]) == "f32" for op in products)
    if not products or not is_plain or any(op.name == "stablehlo.while" for op in ops):
        return ""
    found = Rate(module.ms, None, sum(map(flops, products)) / (module.ms * 1e6), 0.0)
    # On a busy machine one measurement may be far too low.
    found = with_peak(found, max(peak_gflops(worker) for _ in range(3)))
    peak = "counting products; the peak is the rate of a large product on this machine"
    return f"{module.name} {ran(found)}, {peak}." if found.of_peak else ""
