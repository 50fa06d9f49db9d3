"""StableHLO files as programs to explain: their names, their arguments' values, and the refusal of other files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.core import documents, program_text
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.compilers import ARTIFACT
from stackwars.core.outcome import Failed, Status
from stackwars.core.program import Argument, Graph, GraphError, Program, fixed
from stackwars.core.types import dtype, integer_range, is_float, read_npz, shape
from stackwars.explain.task import TIME

SEED = 2025
INTEGERS = 8
"""Integers of arguments without values are below this in the first set of inputs, and scalars in both: they may be the
bound of a loop. Others cover their type's range in the second set."""
MOST_NAME = 80
"""Bytes of a program's name: a question's folder has two of them."""
SUFFIXES = (".mlir", ".mlir.gz", ".mlirbc")
_MAIN = re.compile(r"func\.func (?:public )?@main\b")
_DYNAMIC = re.compile(r"tensor<[^>]*[?*]")
_COMPLAINT = re.compile(r"the parser stopped with: (?:line (\d+): )?(.*?)(?:\. The text begins with .*)?$")
"""The line and the text of a complaint, see `stackwars.core.mlir.parse`."""


class BadInput(ValueError):
    """The files cannot be explained: one line that names the file, and what was expected."""


def stem(path: Path | str) -> str:
    """Return the name of a program's file without its suffix."""
    return Path(path).name.removesuffix(".gz").removesuffix(".mlir").removesuffix(".mlirbc").removesuffix(".py")


def record_of(path: Path) -> Path:
    """Return the file with the record of a call's arguments, which `capture` writes beside a program."""
    return path.with_name(f"{stem(path)}.values.json")


def labelled(paths: Sequence[Path | str]) -> dict[str, Path]:
    """Return {label: path}: files' names without suffix, told apart by a and b if they are the same.

    >>> list(labelled(["x/slow.mlir", "y/slow.mlir.gz"]))
    ['slow-a', 'slow-b']
    """
    stems = list(map(stem, paths))
    if len(set(stems)) < len(stems):
        stems = [f"{name}-{side}" for name, side in zip(stems, "ab", strict=False)]
    return dict(zip(stems, map(Path, paths), strict=True))


def name_of(paths: Sequence[Path | str], ask: str = TIME) -> str:
    """Return the name of an answer about files.

    >>> name_of(["x/slow.mlir", "fast.mlir"], "memory")
    'slow-fast-memory'
    """
    return "-".join([*dict.fromkeys(map(stem, paths)), *([ask] if ask != TIME else [])])


def check_exists(*paths: Path | str) -> None:
    """Refuse a path that is no file; "" is none.

    :raises BadInput: naming it.
    """
    for path in paths:
        if path and not Path(path).is_file():
            got = "a folder" if Path(path).is_dir() else "none"
            raise BadInput(f"{path}: expected a file, got {got}; fix: the path")


def check_name(name: str) -> None:
    """Refuse a name that is no folder's, or would make names of files that are too long.

    :raises BadInput: for such a name.
    """
    why = ""
    if not name.strip(".") or "/" in name:
        why = "the name of a folder"
    elif not name.isprintable():
        why = "a name of printable characters"
    elif len(name.encode()) > MOST_NAME:
        why = f"a name of at most {MOST_NAME} bytes"
    if why:
        raise BadInput(f"{name[:MOST_NAME]!r}: expected {why}, got this; fix: rename the file, or --name")


def load(
    paths: Sequence[Path | str], evaluator: CompilerSpec, inputs: Path | str = "", seed: int = SEED
) -> list[Program]:
    """Return the programs of files.

    inputs: an .npz with the values of their arguments. Without it they are random, and like those of a call if
    `capture` recorded one beside a file.

    :raises BadInput: for files that are no StableHLO, programs with different arguments, and inputs that do not fit.
    """
    check_exists(*paths, inputs)
    for path in paths:
        check_name(stem(path))
    files = labelled(paths)
    with Worker(evaluator) as worker:
        programs = {path: read_program(worker, path) for path in files.values()}
    texts = {path: text for path, (text, _) in programs.items()}
    graphs = {path: graph for path, (_, graph) in programs.items()}
    types = {path: [graph.types[argument] for argument in graph.arguments] for path, graph in graphs.items()}
    (first, wanted), *others = types.items()
    for path, got in others:
        if got != wanted:
            raise BadInput(
                f"{path}: expected the arguments of {first}, ({', '.join(wanted)}), got ({', '.join(got)}); "
                "fix: give programs of the same computation"
            )
    if inputs:
        check_inputs(Path(inputs), wanted)
    values = read_npz(Path(inputs)) if inputs else {}
    # The arguments of both programs have the values of one.
    records = [
        documents.read(record)["arguments"] for path in files.values() if (record := record_of(path)).exists()
    ]
    recorded = records[0] if records else ()
    return [
        Program(label, texts[path], plain_arguments(graphs[path], values, seed, recorded), file=f"{label}.mlir")
        for label, path in files.items()
    ]


def read_program(worker: Worker, path: Path) -> tuple[str, Graph]:
    """Return the text of a file's program for compilers, and its graph.

    :raises BadInput: for a file that is no StableHLO, and a program with dynamic extents.
    """
    try:
        data = program_text.read_bytes(path)
        # JAX's export has its program as an artifact, after that artifact's length.
        if (start := data.find(ARTIFACT)) >= 4:
            data = data[start : start + int.from_bytes(data[start - 4 : start], "little")]
        text = "" if start >= 0 else data.decode()
    except (OSError, UnicodeDecodeError) as error:
        got = error if isinstance(error, OSError) else "neither text nor MLIR bytecode"
        raise BadInput(f"{path}: expected a StableHLO program, got {got}; fix: that file") from None
    if why := program_text.missing_reason(text) or ("" if data.strip() else "an empty file"):
        raise BadInput(f"{path}: expected a StableHLO program, got {why}; fix: that file")
    graph = _graph(worker, path, data)
    if kind := next(filter(_DYNAMIC.search, graph.types.values()), ""):
        raise BadInput(
            f"{path}: expected known extents, got {kind}; fix: lower it for arguments of fixed shapes"
        )
    return text if _MAIN.search(text) else worker.pretty(data), graph


def _graph(worker: Worker, path: Path, data: bytes) -> Graph:
    try:
        return worker.graph(data)
    except GraphError as error:
        raise BadInput(f"{path}: {error}; fix: call the one to run main") from None
    except Failed as error:
        if error.outcome.status is Status.ERROR:
            raise BadInput(f"{path}: not read, because {error}; fix: the environment") from None
        complaint = " ".join(error.outcome.detail.removeprefix("ProgramError: ").split())
        match = _COMPLAINT.search(complaint)
        if not match and complaint.startswith("expected"):
            raise BadInput(f"{path}: {complaint}") from None
        line, complaint = match.groups() if match else (None, complaint)
        place, thing = (f":{line}", "line") if line else ("", "file")
        raise BadInput(
            f"{path}{place}: expected a StableHLO program, got {complaint[:300]}; fix: that {thing}"
        ) from None


def check_inputs(path: Path, types: list[str]) -> None:
    """Refuse an .npz whose arrays are not the arguments.

    :raises BadInput: naming the array.
    """
    try:
        arrays = read_npz(path)
    except ValueError as error:
        raise BadInput(str(error)) from None
    names = [f"arg{number}" for number in range(len(types))]
    if list(arrays) == [f"arr_{number}" for number in range(len(arrays))]:
        names = [f"arr_{number}" for number in range(len(types))]
    if set(arrays) != set(names):
        raise BadInput(
            f"{path}: expected the arrays {', '.join(names)}, got {', '.join(arrays)}; fix: their names"
        )
    for name, kind in zip(names, types, strict=True):
        array = arrays[name]
        if array.shape != shape(kind) or _class(array.dtype) != _class(dtype(kind)):
            raise BadInput(
                f"{path}: {name}: expected {kind}, got {array.dtype} of shape {array.shape}; fix: that array"
            )
        if array.dtype.kind in "iu" and array.size:
            low, high = integer_range(dtype(kind))
            least, most = int(array.min()), int(array.max())
            if least < low or most > high:
                raise BadInput(
                    f"{path}: {name}: expected integers from {low} to {high} ({kind}), got {least} to {most}; "
                    "fix: that array"
                )


def _class(kind: np.dtype) -> str:
    """Return the letter of a type's class: NumPy has another for bfloat16 and the like."""
    name = np.dtype(kind).name
    return "f" if is_float(kind) else name[0] if name.startswith(("int", "uint")) else np.dtype(kind).kind


# Values of arguments


def plain_arguments(
    graph: Graph, inputs: Mapping[str, np.ndarray], seed: int, recorded: Sequence[dict[str, Any]] = ()
) -> tuple[Argument, ...]:
    """Return the arguments of a program that comes without a list of them.

    inputs: their values by name, arg0 or arr_0, see `check_inputs`; values are drawn by the seed without any.
    recorded: what is known of the values of each in a call, see `drawn_like`.
    """
    kinds = [graph.types[value] for value in graph.arguments]
    known = recorded if len(recorded) == len(kinds) else [{}] * len(kinds)
    result = []
    for number, (kind, facts) in enumerate(zip(kinds, known, strict=True)):
        array = inputs.get(f"arg{number}", inputs.get(f"arr_{number}"))
        if array is not None:
            result.append(fixed(array.astype(dtype(kind), copy=False), f"{number} {kind}"))
        elif facts.keys() & {"values", "mean"}:
            # Equal arrays of the call stay equal.
            draw = partial(drawn_like, facts, shape(kind), dtype(kind), seed)
            result.append(Argument(f"{facts['digest']} {kind}", draw))
        else:
            draw = partial(drawn, shape(kind), dtype(kind), number, seed)
            result.append(Argument(f"{number} {kind}", draw))
    return tuple(result)


def drawn_like(
    facts: Mapping[str, Any], extents: tuple[int, ...], kind: np.dtype, seed: int, which: int = 0
) -> np.ndarray:
    """Return random values with an array's statistics, for one set of inputs.

    facts: {"digest"}, and {"values"}, which are the same in all sets, or {"mean", "std", "min", "max"}.
    """
    if "values" in facts:
        return np.array(facts["values"]).astype(kind).reshape(extents)
    rng = np.random.default_rng([seed + which, int(facts["digest"], 16)])
    if kind == np.bool_:
        return rng.random(extents) < facts["mean"]
    low, high = facts["min"], facts["max"]
    if is_float(kind):
        return np.clip(rng.normal(facts["mean"], facts["std"], extents), low, high).astype(kind)
    of = np.int64 if low < 0 else np.uint64
    return rng.integers(low, high, extents, dtype=of, endpoint=True).astype(kind)


def drawn(extents: tuple[int, ...], kind: np.dtype, number: int, seed: int, which: int = 0) -> np.ndarray:
    """Return random values for the argument of this number in a set of inputs."""
    rng = np.random.default_rng([seed + which, number])
    if kind == np.bool_:
        return rng.random(extents) < 0.5
    if is_float(kind):
        return rng.standard_normal(extents).astype(kind)
    if kind.kind == "c":
        return (rng.standard_normal(extents) + 1j * rng.standard_normal(extents)).astype(kind)
    if which == 0 or not extents:
        # Every integer type has these, of 2 bits too.
        return rng.integers(0, min(INTEGERS, integer_range(kind)[1] + 1), extents).astype(kind)
    low, high = integer_range(kind)
    return rng.integers(low, high, extents, dtype=np.uint64 if low == 0 else np.int64, endpoint=True).astype(
        kind
    )
