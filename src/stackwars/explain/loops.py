"""The body of a loop as a program of its own, with the values that it carries as arguments.

The carried values are those after some iterations, because the first ones are often zeros, which match
everything.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stackwars.explain.graph import Graph, Op, dtype, shape
from stackwars.explain.workers import Worker

WHILE = "stablehlo.while"
_BETWEEN, _END = "    }, {", "    }) : "
_RETURN = '"stablehlo.return"('
WARM_ITERATIONS = 2


def body(
    reader: Worker, graph: Graph, op: Op, arguments: Sequence[np.ndarray]
) -> tuple[Graph, list[np.ndarray]]:
    """Return the body of a loop, and values of its arguments.

    reader: of an XLA. arguments: the values of the program's. Raises Refused and GraphError.
    """
    text = body_text(graph, op)
    inner = reader.generic(text)
    reader.compile("start", graph.part(graph.needed(op.reads), graph.arguments, op.reads))
    reader.compile("body", text)
    started = dict(zip(op.reads, _run(reader, "start", graph, arguments), strict=True))
    captured = [started[value] for value in op.reads if value not in op.operands]
    values = [started[value] for value in op.operands]
    for _ in range(WARM_ITERATIONS):
        values = _run(reader, "body", inner, [*values, *captured])
    reader.drop("start", "body")
    return inner, [*values, *captured]


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


def _run(reader: Worker, name: str, graph: Graph, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the results of a program with these values of its arguments, whatever is on the device."""
    keys = []
    for value, array in zip(graph.arguments, arrays, strict=True):
        kind = graph.types[value]
        array = np.ascontiguousarray(array).astype(dtype(kind), copy=False).reshape(shape(kind))
        keys.append(reader.put(f"{name} {kind} {hash(array.tobytes())}", array))
    reader.bind(name, keys)
    return reader.run(name)
