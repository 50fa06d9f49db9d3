"""Handmade programs in generic form, programs of text, and the compilers of environments, for tests."""

from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.launch import REPOSITORY
from stackwars.core.program import Graph, Program
from stackwars.explain.files import plain_arguments
from stackwars.explain.matching import AxisMap, Class
from stackwars.setup.environments import ensure

TRANSPOSE = "permutation = array<i64: 1, 0>"
DOT = (
    "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>"
)


def program(arguments, lines, results):
    """Return the graph of operations such as ("y", "abs", ["x"], "4xf32"). arguments: {name: type without tensor<>}."""
    types = {f"%{name}": f"tensor<{kind}>" for name, kind in arguments.items()}
    body = []
    for name, op, reads, kind, *attributes in lines:
        given = [types[f"%{read}"] for read in reads]
        types[f"%{name}"] = f"tensor<{kind}>"
        operands = ", ".join(f"%{read}" for read in reads)
        extra = f" <{{{attributes[0]}}}>" if attributes else ""
        body.append(
            f'    %{name} = "stablehlo.{op}"({operands}){extra} : ({", ".join(given)}) -> tensor<{kind}>'
        )
    returned = ", ".join(f"%{name}" for name in results)
    kinds = ", ".join(types[f"%{name}"] for name in results)
    inside = ", ".join(f"%{name}: tensor<{kind}>" for name, kind in arguments.items())
    text = [
        '"builtin.module"() ({',
        f'  "func.func"() <{{function_type = () -> ({kinds}), sym_name = "main"}}> ({{',
        f"  ^bb0({inside}):",
        *body,
        f'    "func.return"({returned}) : ({kinds}) -> ()',
        "  }) : () -> ()",
        "}) : () -> ()",
    ]
    graph = Graph.read("\n".join(text) + "\n")
    names = [*arguments, *(line[0] for line in lines)]
    return graph, dict(zip(names, graph.types, strict=True))


def one_class(a, b, shapes=None):
    """Return a class of equal values. a, b: its values in order; shapes: {(side, value): map if no reshape}."""
    same = AxisMap((1,), (0,), (1,))
    maps = tuple({v: (shapes or {}).get((side, v), same) for v in values} for side, values in enumerate((a, b)))
    return Class((a[0], b[0]), maps)


def xla(release: str = "0.7.1", name: str = "") -> CompilerSpec:
    """Return an XLA, whose environment is built if it is missing."""
    python = ensure(REPOSITORY / "envs" / f"xla-{release}.txt")
    return CompilerSpec(name or f"jaxlib-{release}", python=str(python))


def drawn_program(worker: Worker, text: str, label: str = "program", seed: int = 0) -> Program:
    """Return a program of text whose arguments are drawn."""
    return Program(label, text, plain_arguments(worker.graph(text), {}, seed), file=f"{label}.mlir")
