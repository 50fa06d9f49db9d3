"""Judge random right programs of all element types and odd sizes, and the same programs with a planted fault.

    PYTHONPATH=src:tests .venv/bin/python tests/core/generated.py 200 60

prints how many right programs are accused in jaxlib 0.10.2 and IREE and how many planted faults are found, each with
its 95 % interval (Clopper and Pearson's).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from stackwars.core import check, judge
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.outcome import Failed, Status
from stackwars.core.program import Program
from stackwars.core.types import tensor
from stackwars.explain.files import plain_arguments
from stackwars.setup.environments import ensure

EXTENTS = (1, 2, 3, 5, 7, 9, 13, 17, 31, 33, 65)
FLOATS, INTEGERS = ("f32", "f64", "f16", "bf16"), ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")
KINDS = (*FLOATS, *INTEGERS, "i1", "complex<f32>", "complex<f64>", "i4", "f8E4M3FN")
UNARY = {
    "f": ("tanh", "cosine", "sine", "negate", "abs", "logistic"),
    "i": ("negate", "not"),
    "b": ("not",),
    "c": ("negate",),
}
BINARY = {
    "f": ("add", "subtract", "multiply", "maximum", "minimum"),
    "i": ("add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor"),
    "b": ("and", "or", "xor"), "c": ("add", "subtract", "multiply"),
}  # fmt: skip
SWAPPED = {"add": "subtract", "maximum": "minimum", "and": "or"}
SWAPPED |= {other: name for name, other in SWAPPED.items()} | {"xor": "or"}


@dataclass(frozen=True)
class Made:
    """A program. lines: of main, without the last. value, shape: of the result."""

    name: str
    kind: str
    arguments: tuple[tuple[int, ...], ...]
    lines: tuple[str, ...]
    value: str
    shape: tuple[int, ...]

    @property
    def text(self) -> str:
        inputs = ", ".join(f"%a{n}: {tensor(shape, self.kind)}" for n, shape in enumerate(self.arguments))
        result, body = tensor(self.shape, self.kind), "\n  ".join(self.lines)
        return f"func.func @main({inputs}) -> {result} {{\n  {body}\n  return {self.value} : {result}\n}}\n"


def class_of(kind: str) -> str:
    if kind == "i1":
        return "b"
    return "c" if kind.startswith("complex") else "f" if kind.startswith(("f", "bf")) else "i"


class Builder:
    """Writes one program, an operation at a time, on one array of a shape that changes."""

    def __init__(self, rng: np.random.Generator, kind: str) -> None:
        self.rng, self.kind, self.group = rng, kind, class_of(kind)
        self.shape = tuple(int(one) for one in rng.choice(EXTENTS, rng.integers(1, 4)))
        self.arguments, self.lines, self.value, self.count = [self.shape, self.shape], [], "%a0", 0

    @property
    def type(self) -> str:
        return tensor(self.shape, self.kind)

    def write(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def become(self, text: str, shape: tuple[int, ...], *more: str) -> None:
        """Write an operation on the value and on operands of more types; its result, of this shape, is the value."""
        kinds = ", ".join((self.type, *more))
        self.value, self.shape = self.write(f"{text} : ({kinds}) -> {tensor(shape, self.kind)}"), shape

    def scalar(self, number: int) -> str:
        floats = {"b": "true" if number else "false", "c": f"({number}.0, 0.0)", "f": f"{number}.0"}
        text = floats.get(self.group, str(number))
        return self.write(f"stablehlo.constant dense<{text}> : {tensor((), self.kind)}")

    def unary(self) -> None:
        name = self.rng.choice(UNARY[self.group])
        if self.kind.startswith("ui") and name == "negate":
            name = "not"
        self.value = self.write(f"stablehlo.{name} {self.value} : {self.type}")

    def binary(self) -> None:
        other = "%a1" if self.shape == self.arguments[1] else self.value
        name = self.rng.choice(BINARY[self.group])
        self.value = self.write(f"stablehlo.{name} {self.value}, {other} : {self.type}")

    def transpose(self) -> None:
        order = [int(one) for one in self.rng.permutation(len(self.shape))]
        shape = tuple(self.shape[axis] for axis in order)
        self.become(f"stablehlo.transpose {self.value}, dims = {order}", shape)

    def flatten(self) -> None:
        self.become(f"stablehlo.reshape {self.value}", (int(np.prod(self.shape)),))

    def reverse(self) -> None:
        axis = int(self.rng.integers(len(self.shape)))
        self.value = self.write(f"stablehlo.reverse {self.value}, dims = [{axis}] : {self.type}")

    def slice(self) -> None:
        if min(self.shape) < 2:
            return
        ranges = [(int(self.rng.integers(0, extent - 1)), extent) for extent in self.shape]
        shape = tuple(high - low for low, high in ranges)
        text = ", ".join(f"{low}:{high}" for low, high in ranges)
        self.become(f"stablehlo.slice {self.value} [{text}]", shape)

    def concatenate(self) -> None:
        shape = (2 * self.shape[0], *self.shape[1:])
        self.become(f"stablehlo.concatenate {self.value}, {self.value}, dim = 0", shape, self.type)

    def pad(self) -> None:
        low = [int(one) for one in self.rng.integers(0, 3, len(self.shape))]
        zero, none = self.scalar(0), [0] * len(self.shape)
        shape = tuple(extent + one for extent, one in zip(self.shape, low, strict=True))
        text = f"stablehlo.pad {self.value}, {zero}, low = {low}, high = {none}, interior = {none}"
        self.become(text, shape, tensor((), self.kind))

    def reduce(self) -> None:
        axis = int(self.rng.integers(len(self.shape)))
        if len(self.shape) == 1:
            return
        # The start must be the neutral element: StableHLO lets a compiler use it any number of times.
        name, start = "or" if self.group == "b" else "add", self.scalar(0)
        shape = self.shape[:axis] + self.shape[axis + 1 :]
        text = f"stablehlo.reduce({self.value} init: {start}) applies stablehlo.{name} across dimensions = [{axis}]"
        self.become(text, shape, tensor((), self.kind))

    def product(self) -> None:
        if len(self.shape) != 2 or self.group == "b":
            return
        shape = (self.shape[0], self.shape[0])
        text = f"stablehlo.dot_general {self.value}, {self.value}, contracting_dims = [1] x [1]"
        self.become(text, shape, self.type)

    def select(self) -> None:
        if self.group == "c":
            return
        mask = tensor(self.shape, "i1")
        sign = "UNSIGNED" if self.kind.startswith("u") or self.group == "b" else "SIGNED"
        kind = "FLOAT" if self.group == "f" else sign
        other = "%a1" if self.shape == self.arguments[1] else self.value
        compared = f"{self.value}, {other}, {kind} : ({self.type}, {self.type}) -> {mask}"
        chosen = self.write(f"stablehlo.compare GT, {compared}")
        self.value = self.write(f"stablehlo.select {chosen}, {self.value}, {other} : {mask}, {self.type}")

    def made(self, name: str) -> Made:
        return Made(name, self.kind, tuple(self.arguments), tuple(self.lines), self.value, self.shape)


STEPS: tuple[Callable[[Builder], None], ...] = (
    Builder.unary, Builder.binary, Builder.binary, Builder.transpose, Builder.flatten, Builder.reverse, Builder.slice,
    Builder.concatenate, Builder.pad, Builder.reduce, Builder.product, Builder.select,
)  # fmt: skip


def programs(count: int, seed: int = 0) -> list[Made]:
    """Return so many right programs."""
    rng, result = np.random.default_rng(seed), []
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        builder = Builder(rng, kind)
        builder.binary()
        for step in rng.choice(len(STEPS), rng.integers(2, 7)):
            STEPS[step](builder)
        result.append(builder.made(f"{number}-{kind}"))
    return result


def planted(made: Made, rng: np.random.Generator) -> Made | None:
    """Return a program with a fault: another operation, a neighbour's values, or one element changed; None if it has
    no place for one.
    """
    places = [n for n, line in enumerate(made.lines) if any(f"stablehlo.{name} %" in line for name in SWAPPED)]
    if places and rng.random() < 0.5:
        place = int(rng.choice(places))
        line = made.lines[place]
        name = next(name for name in SWAPPED if f"stablehlo.{name} %" in line)
        changed = line.replace(f"stablehlo.{name} ", f"stablehlo.{SWAPPED[name]} ")
        return replace(made, lines=(*made.lines[:place], changed, *made.lines[place + 1 :]))
    return _one_wrong(made, rng)


def _one_wrong(made: Made, rng: np.random.Generator) -> Made | None:
    """Return the program with one element of its result replaced by the element before it."""
    size = int(np.prod(made.shape))
    if size < 3:
        return None
    result, flat, at = tensor(made.shape, made.kind), tensor((size,), made.kind), int(rng.integers(1, size))
    ranges = [(low, high) for low, high in ((0, at), (at - 1, at), (at + 1, size)) if low < high]
    kinds = [tensor((high - low,), made.kind) for low, high in ranges]
    lines = [f"%flat = stablehlo.reshape {made.value} : ({result}) -> {flat}"]
    parts = [f"%part{number}" for number in range(len(ranges))]
    for part, (low, high), kind in zip(parts, ranges, kinds, strict=True):
        lines.append(f"{part} = stablehlo.slice %flat [{low}:{high}] : ({flat}) -> {kind}")
    lines.append(f"%mixed = stablehlo.concatenate {', '.join(parts)}, dim = 0 : ({', '.join(kinds)}) -> {flat}")
    lines.append(f"%wrong = stablehlo.reshape %mixed : ({flat}) -> {result}")
    return replace(made, lines=(*made.lines, *lines), value="%wrong")


@dataclass
class Judged:
    """Counts of verdicts on programs. details: of programs that were accused, or whose fault was missed."""

    right: Counter
    faults: Counter
    details: list[str]


def run(count: int, faults: int, compilers: list[CompilerSpec], evaluator: CompilerSpec) -> Judged:
    """Judge right programs in every compiler, and programs with a fault in the first."""
    found, rng = Judged(Counter(), Counter(), []), np.random.default_rng(1)
    with Worker(evaluator, timeout_s=60) as reader:
        workers = [Worker(spec, timeout_s=60) for spec in compilers]
        for made in programs(count):
            try:
                graph = reader.graph(made.text)
                arguments = plain_arguments(graph, {}, 1)
                expected = judge.expected_values(reader, graph, arguments, text=made.text)
            except Failed as error:
                found.right["not evaluated"] += 1
                found.details.append(f"{made.name}: not evaluated: {error}"[:200])
                continue
            for worker in workers:
                checked = check.check(worker, Program(made.name, made.text, arguments), expected)
                found.right[f"{worker.spec.name}: {checked.outcome.status}"] += 1
                if checked.outcome.status is Status.WRONG:
                    detail = f"{made.name} in {worker.spec.name}: {checked.outcome.detail}"
                    found.details.append(f"accused: {detail}\n{made.text}")
                worker.clear()
            wrong = planted(made, rng) if sum(found.faults.values()) < faults and not expected.reason else None
            if wrong and _differs(reader, wrong, graph, arguments, expected):
                checked = check.check(workers[0], Program(made.name, wrong.text, arguments), expected)
                found.faults[str(checked.outcome.status)] += 1
                if checked.outcome.status is not Status.WRONG:
                    found.details.append(f"missed: {made.name}: {checked.outcome}\n{wrong.text}")
        for worker in workers:
            worker.close()
    return found


def _differs(reader: Worker, wrong: Made, graph: object, arguments: tuple, expected: judge.Expected) -> bool:
    """Return whether the fault changes a result by more than the limit: a swapped operation may change nothing."""
    again = judge.expected_values(reader, reader.graph(wrong.text), arguments, text=wrong.text)
    return bool(again.values) and any(
        not expected.compare(key, value.astype(expected.values[key].dtype)).right
        for key, value in again.values.items()
    )


def interval(count: int, total: int) -> str:
    low, high = binomtest(count, total).proportion_ci(method="exact")
    return f"{count} of {total} ({100 * low:.1f} to {100 * high:.1f} %)"


def main() -> None:
    count, faults = map(int, sys.argv[1:])
    specs = [
        CompilerSpec(pins, module, python=str(ensure(Path("envs", f"{pins}.txt"))))
        for pins, module in (("xla-0.10.2", "xla"), ("iree", "iree"))
    ]
    found = run(count, faults, specs, specs[0])
    print("\n".join(found.details))
    print(dict(sorted(found.right.items())))
    for spec in specs:
        tried = {key: value for key, value in found.right.items() if key.startswith(f"{spec.name}:")}
        judged = sum(value for key, value in tried.items() if key.endswith((": ok", ": wrong")))
        accused = interval(tried.get(f"{spec.name}: wrong", 0), judged)
        print(f"accused in {spec.name}: {accused} of those judged")
    total = interval(found.faults["wrong"], sum(found.faults.values()))
    print(f"planted faults found: {total}", dict(found.faults))


if __name__ == "__main__":
    main()
