"""A StableHLO program with its arguments, and its graph of operations, read from and written to MLIR's generic text.

In the generic form every operation names its operands and spells its types out, so that operations of several
programs can be joined to a new one by renaming values, without an MLIR library.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from stackwars.core.layout import split
from stackwars.core.types import element, shape, tensor

_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_CALLEE = re.compile(r"callee = @([\w$.-]+|\"[^\"]*\")")
_SYMBOL = re.compile(r"@([\w$.-]+)")
_NAMED = re.compile(r'  "[\w.]+"\(\) <\{.*sym_name = "([^"]*)".*\}>.* : \(\) -> \(\)$')
_RESULTS = re.compile(r"(%[\w$.-]+)(?::(\d+))? = ")


class GraphError(ValueError):
    """The text has no function `main` whose operations can be taken apart."""


@dataclass(frozen=True)
class Argument:
    """An argument's value in each set of inputs.

    key: equal for arguments of several programs that are the same array. value: of a set of inputs, by its number.
    is_fixed: whether all sets have the same value.
    """

    key: str
    value: Callable[[int], np.ndarray]
    is_fixed: bool = False

    def __call__(self, number: int) -> np.ndarray:
        return self.value(0 if self.is_fixed else number)


def fixed(array: np.ndarray, key: str = "") -> Argument:
    """Return an argument that has one value in all sets of inputs."""
    return Argument(key, lambda _: array, is_fixed=True)


@dataclass(frozen=True)
class Program:
    """A StableHLO program with its arguments.

    label: its name in an answer. text: the emitted text, or a portable artifact. named: returns {name: array} of its
    results, see `judge.value_key`. sources: the place in the frontend's source of each line of the text, if it is
    known. file: the name of the text's file. sizes: the workload's sizes. missing: why there is no program;
    then there is no text. stages: seconds of the frontend's tracing and lowering, as far as they are known.
    """

    label: str
    text: str | bytes = ""
    arguments: tuple[Argument, ...] = ()
    named: Callable[[list[np.ndarray]], dict[str, np.ndarray]] | None = None
    sources: tuple[str | None, ...] = ()
    file: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    missing: str = ""
    stages: Mapping[str, float] = field(default_factory=dict)

    def place(self, place: str) -> str:
        """Return "file:line" of an operation in the frontend's source, or in the program's text if that is unknown."""
        file, _, line = place.partition(":")
        if file != "-" or not line:
            return place
        known = self.sources[int(line) - 1] if int(line) <= len(self.sources) else None
        return known or f"{self.file or self.label}:{line}"


@dataclass(frozen=True)
class Op:
    """One operation of `main`.

    text: as printed after `=`, in pieces: text, and the number of the value that is read in its place.
    results, operands: value numbers in order. reads: the values that it or its regions read, each once.
    place: "file:line" in the source or "-:line" in the text that was read; "" if unknown. terms: the most that one
    element of a result sums. work: its scalar operations. Both include its regions, see `mlir.generic`.
    """

    number: int
    name: str
    pieces: tuple[str | int, ...]
    results: tuple[int, ...]
    operands: tuple[int, ...]
    place: str = ""
    terms: int = 1
    work: int = 0

    @property
    def reads(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(piece for piece in self.pieces if isinstance(piece, int)))

    def text(self, names: Mapping[int, str]) -> str:
        """Return the operation with these names of the values that it reads."""
        return "".join(piece if isinstance(piece, str) else names[piece] for piece in self.pieces)

    def form(self) -> str:
        """Return the text with its operands numbered by occurrence: equal for operations that compute the same."""
        order = {value: f"%{number}" for number, value in enumerate(self.reads)}
        return self.text(order)


@dataclass
class Graph:
    """The operations of `main`, calls inlined.

    A value is a number. arguments: main's, in order. results: the values that main returns. types: {value: type}.
    functions: {name: text} of private functions that regions call, and of other operations of the module that have a
    name, such as a mesh. names: of all operations, also in regions.
    """

    arguments: list[int] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    types: dict[int, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    names: frozenset[str] = frozenset()

    @cached_property
    def maker(self) -> dict[int, Op]:
        return {value: op for op in self.ops for value in op.results}

    @classmethod
    def read(cls, text: str, facts: Mapping[str, list[dict]] | None = None, names: Iterable[str] = ()) -> Graph:
        """Return the graph of a module in generic form.

        facts: {function: {"place", "terms", "work"} of each of its operations, in order}. names: of all operations.

        :raises GraphError: if it has no function `main`, or one that cannot be taken apart.
        """
        suffix = hashlib.sha256(text.encode()).hexdigest()[:6]
        functions = dict(_functions(text))
        if "main" not in functions:
            raise GraphError(f"expected a function main, got {', '.join(functions) or 'none'}")
        # Named operations of the module that are no functions, such as a mesh, are written again as they are.
        named = {match[1]: line for line in text.splitlines() if (match := _NAMED.match(line))}
        others = {name: line for name, line in named.items() if '"func.func"' not in line}
        result = cls(functions=others, names=frozenset(names))
        reader = _Reader(result, functions, facts or {}, suffix)
        main = functions["main"]
        for name, kind in main.arguments:
            reader.scope[name] = result.value(kind)
        result.arguments = list(reader.scope.values())
        result.results = reader.body("main", main)
        return result

    @property
    def accumulation(self) -> int:
        """The largest number of terms of one of its sums."""
        return max((op.terms for op in self.ops), default=1)

    def value(self, kind: str) -> int:
        """Return a new value of this type."""
        self.types[len(self.types)] = kind
        return len(self.types) - 1

    def needed(self, results: Iterable[int], stop: Iterable[int] = ()) -> list[Op]:
        """Return the operations that these values depend on, except those behind values in `stop`.

        They are in the operands' order, depth first, which is the same in equal parts of a program.
        """
        stopped, chosen = set(stop), {}
        open_ = [(value, False) for value in reversed(list(results))]
        while open_:
            value, is_done = open_.pop()
            op = self.maker.get(value)
            if op is None or value in stopped or op.number in chosen:
                continue
            if is_done:
                chosen[op.number] = op
            else:
                open_ += [(value, True), *((one, False) for one in reversed(op.reads))]
        return list(chosen.values())

    def part(self, ops: Iterable[Op], arguments: Iterable[int], results: Iterable[int]) -> str:
        """Return a module that computes results from arguments by these operations, which are in order."""
        emitter = Emitter()
        names = {value: emitter.argument(self.types[value]) for value in arguments}
        for op in ops:
            emitter.op(self, op, names)
        return emitter.module([(names[value], self.types[value]) for value in results])

    def module(self) -> str:
        return self.part(self.ops, self.arguments, self.results)


class Emitter:
    """Writes a module whose main function has operations of one or more graphs."""

    def __init__(self) -> None:
        self._arguments: list[tuple[str, str]] = []
        self._lines: list[str] = []
        self._functions: dict[str, str] = {}
        self._count = 0

    def argument(self, kind: str) -> str:
        """Return the name of a new argument of this type."""
        self._arguments.append((f"%a{len(self._arguments)}", kind))
        return self._arguments[-1][0]

    def op(self, graph: Graph, op: Op, names: dict[int, str]) -> None:
        """Write an operation that reads values by these names, and add the names of its results."""
        text = op.text(names)
        self._functions |= _called(text, graph.functions)
        name = self._name()
        if len(op.results) == 1:
            names[op.results[0]] = name
            self._lines.append(f"{name} = {text}")
        elif op.results:
            names |= {value: f"{name}#{place}" for place, value in enumerate(op.results)}
            self._lines.append(f"{name}:{len(op.results)} = {text}")
        else:
            self._lines.append(text)

    def line(self, text: str) -> str:
        """Write an operation with one result; return the result's name."""
        name = self._name()
        self._lines.append(f"{name} = {text}")
        return name

    def move(
        self, name: str, kind: str, shapes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    ) -> str:
        """Reshape a value of this type, transpose it, reshape it again; return the result's name.

        shapes: (refined shape, order of its axes, final shape).
        """
        refined, order, final = shapes
        scalar, at = element(kind), shape(kind)
        if at != refined:
            name, at = self._reshape(name, at, refined, scalar), refined
        if order != tuple(range(len(order))):
            moved = tuple(refined[axis] for axis in order)
            axes = ", ".join(map(str, order))
            signature = f"({tensor(at, scalar)}) -> {tensor(moved, scalar)}"
            name = self.line(
                f'"stablehlo.transpose"({name}) <{{permutation = array<i64: {axes}>}}> : {signature}'
            )
            at = moved
        return name if at == final else self._reshape(name, at, final, scalar)

    def _reshape(self, name: str, at: tuple[int, ...], to: tuple[int, ...], scalar: str) -> str:
        return self.line(f'"stablehlo.reshape"({name}) : ({tensor(at, scalar)}) -> {tensor(to, scalar)}')

    def _name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def module(self, results: Iterable[tuple[str, str]]) -> str:
        """Return the module's text. results: name and type of each."""
        results = list(results)
        inputs, kinds = ", ".join(kind for _, kind in self._arguments), ", ".join(kind for _, kind in results)
        label = ", ".join(f"{name}: {kind}" for name, kind in self._arguments)
        lines = [
            *('"builtin.module"() <{sym_name = "part"}> ({', *self._functions.values()),
            f'  "func.func"() <{{function_type = ({inputs}) -> ({kinds}), sym_name = "main"}}> ({{',
            *([f"  ^bb0({label}):"] if label else []),
            *(f"    {line}" for line in self._lines),
            f'    "func.return"({", ".join(name for name, _ in results)}) : ({kinds}) -> ()',
            *("  }) : () -> ()", "}) : () -> ()"),
        ]
        return "\n".join(lines) + "\n"


@dataclass
class _Function:
    """arguments: (name, type). chunks: the text of each operation. text: all lines."""

    arguments: list[tuple[str, str]]
    chunks: list[str]
    text: str


def _functions(text: str) -> Iterator[tuple[str, _Function]]:
    """Yield name and contents of each function of a module."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith('  "func.func"')]
    for start in starts:
        end = next(number for number in range(start + 1, len(lines)) if lines[number].startswith("  })"))
        name = re.search(r'sym_name = "([^"]*)"', lines[start])[1]
        arguments, chunks = [], []
        for line in lines[start + 1 : end]:
            if line.startswith("  ^"):
                inside = line[line.index("(") + 1 : line.rindex(")")]
                arguments = [tuple(one.strip().split(": ", 1)) for one in split(inside)]
            elif line.startswith("    ") and line[4:5] in ("%", '"'):
                chunks.append(line[4:])
            else:
                chunks[-1] += "\n" + line
        yield name, _Function(arguments, chunks, "\n".join(lines[start : end + 1]))


@dataclass
class _Reader:
    """Takes the operations of functions into a graph; scope: {name in the text: value}."""

    graph: Graph
    functions: dict[str, _Function]
    facts: Mapping[str, list[dict]]
    suffix: str
    scope: dict[str, int] = field(default_factory=dict)

    def body(self, name: str, function: _Function) -> list[int]:
        """Add a function's operations; return the values that it returns."""
        facts = self.facts.get(name, [])
        for number, chunk in enumerate(function.chunks):
            known = facts[number] if number < len(facts) else {}
            names, text = _left(chunk)
            kind = text[1 : text.index('"', 1)]
            if kind == "func.return":
                return [self.scope[one] for one in _VALUE.findall(text[: text.index(")")])]
            if kind == "func.call":
                self._call(names, text)
            else:
                self._op(kind, names, text, known)
        raise GraphError(f"expected {name} to return, got no func.return")

    def _call(self, names: list[str], text: str) -> None:
        name = _CALLEE.search(text)[1].strip('"')
        function = self.functions[name]
        operands = [self.scope[one] for one in _VALUE.findall(text[: text.index(")")])]
        inner = replace(self, scope=dict(zip((one for one, _ in function.arguments), operands, strict=True)))
        self.scope |= dict(zip(names, inner.body(name, function), strict=True))

    def _op(self, kind: str, names: list[str], text: str, known: dict) -> None:
        graph = self.graph
        if "@" in text:
            text = self._suffixed(text)
        pieces = self._pieces(text)
        operands = tuple(self.scope[one] for one in _VALUE.findall(text[: text.index(")")]))
        # The types after the last arrow.
        kinds = text.rpartition(" : (")[2].partition(") -> ")[2].strip()
        kinds = split(kinds[1:-1] if kinds.startswith("(") else kinds)
        results = tuple(graph.value(kind.strip()) for kind in kinds)
        if len(results) != len(names):
            raise GraphError(f"expected {len(names)} result types, got {len(results)} in {text[-200:]}")
        graph.ops.append(Op(len(graph.ops), kind, tuple(pieces), results, operands, **known))
        self.scope |= dict(zip(names, results, strict=True))

    def _pieces(self, text: str) -> list[str | int]:
        """Return an operation's text and the values that it reads; values of its regions are numbered."""
        pieces: list[str | int] = []
        inner: dict[str, str] = {}
        at = 0
        for match in _VALUE.finditer(text):
            before, name = text[at : match.start()], match[0]
            at = match.end()
            if name in self.scope:
                pieces += [before, self.scope[name]]
            else:
                base, hash_, place = name.partition("#")
                # Then equal operations have equal texts.
                pieces.append(f"{before}{inner.setdefault(base, f'%r{len(inner)}')}{hash_}{place}")
        return [*pieces, text[at:]]

    def _suffixed(self, text: str) -> str:
        """Rename the functions that a region calls, and take them into the graph, with those that they call."""
        called = [name for name in _SYMBOL.findall(text) if name in self.functions]
        while called:
            name = called.pop()
            renamed = f"{name}_{self.suffix}"
            text = re.sub(rf"@{re.escape(name)}(?![\w$.-])", f"@{renamed}", text)
            if renamed not in self.graph.functions:
                self.graph.functions[renamed] = ""
                body = self.functions[name].text.replace(f'sym_name = "{name}"', f'sym_name = "{renamed}"')
                self.graph.functions[renamed] = self._suffixed(body)
        return text


def _left(chunk: str) -> tuple[list[str], str]:
    """Return (names of the results, the text after `=`)."""
    match = _RESULTS.match(chunk)
    if not match:
        return [], chunk
    name, count = match.groups()
    names = [name] if count is None else [f"{name}#{place}" for place in range(int(count))]
    return names, chunk[match.end() :]


def _called(text: str, functions: Mapping[str, str]) -> dict[str, str]:
    """Return the functions that a text calls, and those that they call."""
    result: dict[str, str] = {}
    open_ = [name for name in _SYMBOL.findall(text) if name in functions] if "@" in text else []
    while open_:
        name = open_.pop()
        if name not in result:
            result[name] = functions[name]
            open_ += [one for one in _SYMBOL.findall(functions[name]) if one in functions]
    return result
