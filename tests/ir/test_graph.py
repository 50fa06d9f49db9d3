"""Graphs of small programs, found in the jax environment."""

import json
import subprocess
from pathlib import Path

import pytest

from stackwars.setup.environments import REPOSITORY, clean_environ, ensure

pytestmark = pytest.mark.env


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    python = ensure(REPOSITORY / "envs" / "jax.txt")
    probe = Path(__file__).parent / "graph_probe.py"
    done = subprocess.run(
        [str(python), str(probe), str(tmp_path_factory.mktemp("programs"))],
        env=clean_environ({}),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def texts(graph) -> list[list[str]]:
    return [[line["operation"] for line in node["lines"]] for node in graph["nodes"]]


def links(graph) -> set[tuple[str, str, int]]:
    """Edges by the last line of their boxes, and the operand's place."""
    names = [lines[-1] for lines in texts(graph)]
    return {(names[e["from"]], names[e["to"]], e["operand"]) for e in graph["edges"]}


def test_nodes_are_boxes_with_constants_in_their_readers(graphs):
    small = graphs["small"]
    assert small["status"] == "ok"
    found = [line for lines in texts(small) for line in lines]
    assert found[:3] == ["arg0", "arg1", "dot_general [1] x [0]"]
    # The splat and the broadcast scalar are no boxes of their own; the chain is one box.
    assert {"multiply by itself", "subtract", "result"} <= set(found)
    assert [n["kind"] for n in small["nodes"]] == [
        "argument", "argument", "product", "compute", "compute", "compute", "result",
    ]  # fmt: skip
    chain = small["nodes"][3]
    assert [len(line["operation"].split(",")) for line in chain["lines"]] == [2, 2]
    assert "1" in chain["lines"][0]["operation"] and "add" in chain["lines"][0]["operation"]
    assert "0" in chain["lines"][1]["operation"] and "maximum" in chain["lines"][1]["operation"]
    assert {line["shape"] for line in chain["lines"]} == {"4x5"}


def test_edges_run_through_calls_and_keep_the_order_of_operands(graphs):
    small = graphs["small"]
    limit = texts(small)[3][-1]
    assert links(small) == {
        ("arg0", "dot_general [1] x [0]", 1),
        ("arg1", "dot_general [1] x [0]", 2),
        ("dot_general [1] x [0]", limit, 1),
        (limit, "multiply by itself", 1),
        (limit, "subtract", 1),
        ("multiply by itself", "subtract", 2),
        ("subtract", "result", 1),
    }
    assert [n["ordered"] for n in small["nodes"] if n["kind"] in ("product", "compute")] == [
        True, False, False, True,
    ]  # fmt: skip


def test_constants_of_several_values_and_bodies_that_read_from_outside(graphs):
    odd = graphs["odd"]
    kinds = {lines[-1]: n["kind"] for lines, n in zip(texts(odd), odd["nodes"], strict=True)}
    assert kinds["constant"] == "constant" and kinds["if"] == "compute"
    assert {("constant", "multiply", 2), ("multiply", "if", 2), ("arg1", "if", 1)} <= links(odd)
    assert odd["nodes"][1]["lines"][0]["shape"] == "scalar i1"


def test_what_is_no_program_is_a_status(graphs):
    assert graphs["none"] == {"status": "no program", "reason": "oom, refused at build"}
    assert graphs["unreadable"]["status"] == "unreadable"
    assert "expected" in graphs["unreadable"]["reason"]


def test_layer_normalisation_of_both_frameworks(graphs):
    jax, torch = (graphs[f"layernorm_{f}"] for f in ("jax", "torch_xla"))
    kinds = [[n["kind"] for n in g["nodes"]] for g in (jax, torch)]
    assert [k.count("reduction") for k in kinds] == [2, 1]
    batch = next(n for n in torch["nodes"] if n["kind"] == "reduction")
    assert batch["lines"][0]["operation"].startswith("batch_norm_training(\u00b7, 1, 0)")
    assert ("reduce add over 2", "reshape", 1) in links(jax)
    assert len(torch["nodes"]) < len(jax["nodes"])


def test_every_edge_leads_to_a_later_box_and_only_boxes_without_input_are_arguments(graphs):
    for name, graph in graphs.items():
        if graph["status"] == "ok":
            assert [n["id"] for n in graph["nodes"]] == list(range(len(graph["nodes"]))), name
            assert all(e["from"] < e["to"] for e in graph["edges"]), name
            read = {e["to"] for e in graph["edges"]}
            free = {n["kind"] for n in graph["nodes"] if n["id"] not in read}
            assert free <= {"argument", "constant"}, name
