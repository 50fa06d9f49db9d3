"""Descend into a loop: its body as a program of its own, with the values that it carries as arguments.

The carried values are those after some iterations, because the first ones are often zeros, which match
everything.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.explain.answer import Answer
from stackwars.explain.bench import Arrays, Bench, typical
from stackwars.explain.graph import Graph, Op, dtype, shape
from stackwars.explain.hybrids import A, B, Part
from stackwars.explain.paired import pair
from stackwars.explain.question import Side
from stackwars.explain.search import Search
from stackwars.explain.workers import Worker
from stackwars.workloads.base import INPUT_SETS

WHILE = "stablehlo.while"
_BETWEEN, _END = "    }, {", "    }) : "
_RETURN = '"stablehlo.return"('
WARM_ITERATIONS = 2


@dataclass
class Body:
    """The body of a loop. values: per argument of its graph, the array in each set of inputs."""

    text: str
    graph: Graph
    values: list[list[np.ndarray]]


def loops(parts: Sequence[Part]) -> tuple[Op, Op] | None:
    """Return the loop of A's region and that of B's, if each has one."""
    found = [[op for _, op in part.ops if op.name == WHILE] for part in parts]
    return (found[A][0], found[B][0]) if all(len(ops) == 1 for ops in found) else None


def body(reader: Worker, graph: Graph, op: Op, arguments: Sequence[Sequence[np.ndarray]]) -> Body:
    """Return the body of a loop with values to call it with.

    reader: of an XLA. arguments: the program's, [set of inputs][argument]. Raises Refused and GraphError.
    """
    text = body_text(graph, op)
    inner = reader.generic(text)
    start = graph.needed(op.reads)
    reader.compile("start", graph.part(start, graph.arguments, op.reads))
    reader.compile("body", text)
    sets = [_carried(reader, graph, op, inner, arrays) for arrays in arguments]
    reader.drop("start", "body")
    return Body(text, inner, [list(pair) for pair in zip(*sets, strict=True)])


def search_inside(
    reader: Worker, search: Search, ops: tuple[Op, Op], sides: tuple[Side, Side], folder: Path
) -> dict[str, Any]:
    """Search the cause of the difference between the bodies of two loops; return its rows and times.

    folder: for the regions. Raises Verdict if the bodies do not compute one thing, and Refused.
    """
    graphs, arrays = search.hybrids.graphs, search.bench.arrays
    bodies = []
    for side, op in enumerate(ops):
        given = [
            [arrays.arguments[side][v](number) for v in graphs[side].arguments] for number in range(INPUT_SETS)
        ]
        bodies.append(body(reader, graphs[side], op, given))
    given = tuple({v: _get(sets) for v, sets in zip(b.graph.arguments, b.values, strict=True)} for b in bodies)
    inner = tuple(one.graph for one in bodies)
    bench = Bench(search.bench.worker, Arrays(tuple(one.types for one in inner), given), search.bench.clock)
    for side, name in enumerate("AB"):
        bench.load(name, bodies[side].text, [(side, value) for value in inner[side].arguments])
    with tempfile.TemporaryDirectory() as values:
        hybrids, _ = pair(reader, inner, bench.arrays, Path(values))
        within = replace(search, bench=bench, hybrids=hybrids)
        outcome = within.run()
        times = bench.time("AB", search.seconds)
        a, b = (typical(times[name], bench.clock) for name in "AB")
        own = folder / "loop"
        own.mkdir(exist_ok=True)
        rows = Answer((bench, bench), hybrids, sides, own, search.seconds).causes(outcome, a - b)
    return {"a_ms": a / 1e6, "b_ms": b / 1e6, "regions": rows}


def _get(sets: list[np.ndarray]) -> Callable[[int], np.ndarray]:
    return lambda number: sets[number]


def body_text(graph: Graph, op: Op) -> str:
    """Return the body as a module: arguments are the carried values, and then the values that it captures."""
    captured = [value for value in op.reads if value not in op.operands]
    names = {value: f"%captured{value}" for value in op.reads}
    lines = op.text(names).splitlines()
    first, last = lines.index(_BETWEEN), next(n for n, line in enumerate(lines) if line.startswith(_END))
    header, *inside = lines[first + 1 : last]
    given = header[header.index("(") + 1 : header.rindex(")")]
    label = ", ".join([given, *(f"{names[value]}: {graph.types[value]}" for value in captured)])
    *inside, returned = inside
    takes = ", ".join(graph.types[value] for value in (*op.operands, *captured))
    gives = ", ".join(graph.types[value] for value in op.results)
    lines = [
        *('"builtin.module"() <{sym_name = "body"}> ({', *graph.functions.values()),
        f'  "func.func"() <{{function_type = ({takes}) -> ({gives}), sym_name = "main"}}> ({{',
        f"  ^bb0({label}):",
        *(line[2:] for line in [*inside, returned.replace(_RETURN, '"func.return"(', 1)]),
        *("  }) : () -> ()", "}) : () -> ()"),
    ]
    return "\n".join(lines) + "\n"


def _carried(
    reader: Worker, graph: Graph, op: Op, inner: Graph, arguments: Sequence[np.ndarray]
) -> Iterator[np.ndarray]:
    """Return the body's arguments after some iterations."""
    _bind(reader, "start", graph, graph.arguments, arguments)
    started = dict(zip(op.reads, reader.run("start"), strict=True))
    captured = [started[value] for value in op.reads if value not in op.operands]
    values = [started[value] for value in op.operands]
    for _ in range(WARM_ITERATIONS):
        _bind(reader, "body", inner, inner.arguments, [*values, *captured])
        values = reader.run("body")
    return iter([*values, *captured])


def _bind(
    reader: Worker, name: str, graph: Graph, arguments: Sequence[int], arrays: Sequence[np.ndarray]
) -> None:
    """Give a program these arrays, whatever is on the device."""
    keys = []
    for value, array in zip(arguments, arrays, strict=True):
        kind = graph.types[value]
        array = np.ascontiguousarray(array).astype(dtype(kind), copy=False).reshape(shape(kind))
        keys.append(reader.put(f"{name} {kind} {hash(array.tobytes())}", array))
    reader.bind(name, keys)
