"""Describe a lowered program's arguments and results: weights, inputs, constants, and updated state.

`arguments.json` lists them in the program's own order, so that any process can make the arguments' values from the
seed, and tell the results apart, without the framework that emitted the program.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from stackwars.core import documents, program_text
from stackwars.core.judge import OUTPUT, output_names
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.core.program import Argument, Program
from stackwars.core.types import plain
from stackwars.measure import workloads
from stackwars.measure.workloads import values
from stackwars.measure.workloads.parallel import Division
from stackwars.measure.workloads.values import leaf as values_of_leaf

KINDS = ("weight", "input", "constant", "zeros")
DONATED = ", jax.buffer_donor = true"
_ARGUMENT = re.compile(r"%arg(?P<number>\d+): tensor<(?P<extents>(?:\d+x)*)\w+>(?=[,)])")
"""An argument of a function."""


class Leaf(np.ndarray):
    """A weight that keeps its name and first shape through views; its strides tell how a view's axes were transposed.

    Without values it is never written, and so takes no memory.
    """

    name: str | None
    first_shape: tuple[int, ...]

    def __array_finalize__(self, other: object) -> None:
        self.name = getattr(other, "name", None)
        self.first_shape = getattr(other, "first_shape", ())


def leaf(name: str, shape: tuple[int, ...], seed: int) -> Leaf:
    """Stand in for `stackwars.measure.workloads.values.leaf` while a program is lowered."""
    return _named_leaf(np.empty(shape, np.float32), name)


def filled_leaf(name: str, shape: tuple[int, ...], seed: int) -> Leaf:
    """Return a weight with its values and its name, for a framework that reads values while it lowers a program."""
    return _named_leaf(values_of_leaf(name, shape, seed), name)


def _named_leaf(array: np.ndarray, name: str) -> Leaf:
    result = array.view(Leaf)
    result.name, result.first_shape = name, array.shape
    return result


def activations(name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Stand in for `values.activations` while a program is lowered: float inputs without values."""
    return np.empty(shape, np.float32)


def images(name: str, batch: int, channels: int, side: int, seed: int) -> np.ndarray:
    """Stand in for `values.images`: thousands of them would not fit the host."""
    return np.empty((batch, channels, side, side), np.float32)


@dataclass(frozen=True)
class Entry:
    """One argument of a program.

    kind: weight, input, constant or zeros. name: torch's name of a weight, or the input's. shape, axes: a weight's
    shape in torch, and the order in which the program takes its axes. dtype, base64: a constant's; little-endian, C
    order. zeros: a constant of zeros, such as an optimiser's initial moments; it has no base64.
    """

    kind: str
    name: str = ""
    shape: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()
    dtype: str = ""
    base64: str = ""

    def divided_axis(self, division: Division) -> int | None:
        """Return the axis, in the program's layout, along which the argument is divided; None if it is undivided."""
        if self.kind == "input":
            return division.input_axis
        axis = division.weight_axis(self.name)
        return None if axis is None else self.axes.index(axis)

    def key(self, seed: int) -> str:
        """Return a name that arguments other than inputs share if they are the same array."""
        code = hashlib.sha256(self.base64.encode()).hexdigest()[:12]
        return f"{self.kind} {self.name} {self.shape} {self.axes} {self.dtype} {code} {seed}"

    def value(self, seed: int, inputs: dict[str, np.ndarray]) -> np.ndarray:
        """Return the argument's values; of a weight a view, transposed but not copied."""
        if self.kind == "weight":
            return values.leaf(self.name, self.shape, seed).transpose(self.axes)
        if self.kind == "input":
            return np.asarray(inputs[self.name])
        if self.kind == "zeros":
            return np.zeros(self.shape, np.dtype(self.dtype))
        bytes_ = base64.b64decode(self.base64)
        return np.frombuffer(bytes_, np.dtype(self.dtype)).reshape(self.shape)


@dataclass(frozen=True)
class Result:
    """One result of a program.

    name: OUTPUT, or the name in `Session.state` of an updated array; empty if it is not compared (a count of steps).
    axes: the order in which the result's axes are torch's; empty if they already are.
    """

    name: str
    axes: tuple[int, ...] = ()


@dataclass(frozen=True)
class ProgramSource:
    """A workload's `build` in a dialect, and its arguments, from which a program is lowered.

    division: of its arrays among devices; None for one device. has_values: whether weights and float inputs have
    values; without them a framework that reads one while it lowers crashes.
    """

    build: Callable
    sizes: dict[str, int]
    seed: int
    inputs: dict[str, np.ndarray]
    precision: str
    division: Division | None = None
    has_values: bool = False


@dataclass(frozen=True)
class Lowered:
    """A program with its arguments and its results, in its own order.

    located: the same text with the source location of each operation; empty if the frontend does not record them.
    stages: seconds of the frontend's tracing and lowering; empty if only JAX's events or the sum are known.
    """

    text: str
    arguments: list[Entry]
    results: tuple[Result, ...] = (Result(OUTPUT),)
    located: str = ""
    stages: Mapping[str, float] = field(default_factory=dict)


def of_array(array: np.ndarray) -> Entry:
    """Return the entry of an array that a dialect's `build` places: a weight, or a constant with its values."""
    if isinstance(array, Leaf):
        # Axes from the longest stride to the shortest are torch's. An extent of 1 has the stride of a neighbour:
        # torch's shape decides their order.
        order = _torch_order(array)
        shape = tuple(array.shape[axis] for axis in order)
        return Entry("weight", array.name, shape, tuple(int(a) for a in np.argsort(order)))
    if not array.any():
        return Entry("zeros", shape=tuple(array.shape), dtype=array.dtype.name)
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    text = base64.b64encode(little.tobytes()).decode()
    return Entry("constant", shape=tuple(array.shape), dtype=array.dtype.name, base64=text)


def _torch_order(array: Leaf) -> tuple[int, ...]:
    """Return the axes of a transposed leaf in the order in which torch has them."""
    order = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    for torch_axis, extent in enumerate(array.first_shape[: array.ndim]):
        same = [axis for axis in order[torch_axis:] if array.strides[axis] == array.strides[order[torch_axis]]]
        chosen = next((axis for axis in same if array.shape[axis] == extent), order[torch_axis])
        order.remove(chosen)
        order.insert(torch_axis, chosen)
    return tuple(order)


def dump(entries: list[Entry]) -> list[dict]:
    """Return the entries as JSON, without the fields that an entry of its kind does not have."""
    return [{k: v for k, v in asdict(e).items() if v not in ("", ()) or k == "kind"} for e in entries]


def outputs(count: int) -> tuple[Result, ...]:
    """Return this many results of a call."""
    return tuple(map(Result, output_names(count)))


def check_memory(name: str, entries: list[Entry], cap: int) -> None:
    """Refuse a program whose weights alone exceed the memory that its process may use, in bytes.

    Making the weights until one fails takes minutes.

    :raises MemoryError: if they do.
    """
    if (weights := weight_bytes(entries)) > cap:
        raise MemoryError(
            f"Unable to allocate the weights of {name}: they are {weights / 2**30:.1f} GiB, this "
            f"process may use {cap / 2**30:.1f} GiB"
        )


def named(document: dict, values: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Return {name: array in torch's layout} of a program's results. document: of its arguments.json.

    :raises Failed: if the program has another number of results.
    """
    rows = document.get("results", [asdict(Result(OUTPUT))])
    if len(rows) != len(values):
        problem = f"expected the {len(rows)} results that arguments.json names, got {len(values)}"
        raise Failed(Outcome(Status.ERROR, f"{problem}; fix: lower it again"))
    return {
        row["name"]: plain(value.transpose(row["axes"]) if row.get("axes") else value)
        for row, value in zip(rows, values, strict=True)
        if row["name"]
    }


def load_program(
    label: str, program: Path, arguments: Path, workload: str, sizes: dict[str, int], seed: int
) -> Program:
    """Return a lowered program with the values of its arguments, which are made when they are placed.

    arguments: its arguments.json.
    """
    text = program_text.read(program)
    if why := program_text.missing_reason(text):
        return Program(label, missing=why, sizes=sizes)
    document, entries = load(arguments)

    @cache
    def input_sets() -> list[dict[str, np.ndarray]]:
        return workloads.load(workload).input_sets(sizes, seed)

    def argument(entry: Entry) -> Argument:
        if entry.kind == "input":
            key = f"{entry.name} of {workload} {sizes} {seed}"
            return Argument(key, lambda number: entry.value(seed, input_sets()[number]))
        return Argument(entry.key(seed), lambda _: entry.value(seed, {}), is_fixed=True)

    return Program(
        label,
        text,
        tuple(map(argument, entries)),
        named=lambda results: named(document, results),
        sources=tuple(program_text.load_sources(document["sources"])) if "sources" in document else (),
        file=program.name.removesuffix(".gz"),
        stages=document.get("stages", {}),
        sizes=sizes,
    )


def weight_bytes(entries: list[Entry]) -> int:
    """Return the size of the weights among a program's arguments, which are float32."""
    return sum(4 * math.prod(entry.shape) for entry in entries if entry.kind == "weight")


def load(path: Path) -> tuple[dict, list[Entry]]:
    """Return (the document of an arguments.json, its entries).

    :raises ValueError: for an unknown kind of argument.
    """
    document = documents.read(path)
    entries = []
    for row in document["arguments"]:
        if row["kind"] not in KINDS:
            raise ValueError(f"{path}: expected arguments of the kinds {', '.join(KINDS)}; got {row['kind']!r}")
        lists = {key: tuple(row[key]) for key in ("shape", "axes") if key in row}
        entries.append(Entry(**{**row, **lists}))
    return document, entries


def marked(text: str, axes: list[int | None], updated: list[bool], devices: int) -> str:
    """Return the program with the marks that torch_xla's mark_sharding puts on its arguments.

    axes: along which each argument is divided; None if it is replicated. updated: which are donated.
    """
    numbers = ",".join(map(str, range(devices)))

    def with_mark(match: re.Match) -> str:
        number = int(match["number"])
        placed = "replicated"
        if axes[number] is not None:
            parts = ["1"] * match["extents"].count("x")
            parts[axes[number]] = str(devices)
            placed = f"devices=[{','.join(parts)}]{numbers}"
        donated = DONATED if updated[number] else ""
        return f'{match[0]} {{mhlo.sharding = "{{{placed}}}"{donated}}}'

    before, main, rest = re.split(r"(func\.func @main\(.*)", text, maxsplit=1)
    return before + _ARGUMENT.sub(with_mark, main) + rest
