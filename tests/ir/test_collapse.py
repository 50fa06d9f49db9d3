"""Boxes joined: chains, and elementwise regions too large to draw."""

from stackwars.ir.collapse import LARGE, collapse

COUNT = LARGE + 3


def node(at: int, kind: str = "compute", name: str = "add") -> dict:
    lines = [{"operation": name, "shape": "2"}]
    return {"id": at, "kind": kind, "ordered": False, "lines": lines}


def edges(*pairs: tuple[int, int]) -> list[dict]:
    return [{"from": a, "to": b, "operand": 1} for a, b in pairs]


def texts(graph: dict) -> list[list[str]]:
    return [[line["operation"] for line in node["lines"]] for node in graph["nodes"]]


def test_a_chain_of_one_kind_is_one_box_and_a_fork_ends_it():
    names = ["abs", "negate", "sine", "cosine", "add"]
    nodes = [node(0, "argument", "arg0"), *(node(1 + i, name=n) for i, n in enumerate(names))]
    nodes.append(node(6, "layout", "reshape"))
    pairs = [(0, 1), (1, 2), (2, 3), (2, 4), (3, 5), (4, 5), (5, 6)]
    found = collapse({"nodes": nodes, "edges": edges(*pairs)})
    assert texts(found) == [["arg0"], ["abs", "negate"], ["sine"], ["cosine"], ["add"], ["reshape"]]
    assert found["edges"] == edges((0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5))


def region(inputs: int) -> dict:
    """COUNT operations on the one before, the first of them and, in turn, one of the inputs."""
    nodes = [node(at, "argument", f"arg{at}") for at in range(inputs)]
    nodes += [node(inputs + at) for at in range(COUNT)]
    pairs = [(at % inputs, inputs + at) for at in range(COUNT)]
    pairs += [(inputs + at - 1, inputs + at) for at in range(1, COUNT)]
    pairs += [(inputs, inputs + at) for at in range(2, COUNT)]
    return {"nodes": nodes, "edges": edges(*pairs)}


def test_a_large_region_from_one_value_is_told_by_its_counts():
    found = collapse(region(inputs=1))
    assert texts(found) == [["arg0"], [f"{COUNT} elementwise operations:", f"{COUNT} add"]]
    assert found["edges"] == edges((0, 1))


def test_a_region_from_two_values_is_drawn_as_it_is():
    found = collapse(region(inputs=2))
    assert len(found["nodes"]) == COUNT + 2
    assert len(found["edges"]) == len(region(inputs=2)["edges"])
