"""Layout and picture of small graphs: valid layers, no box run through, the same bytes again."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import pytest
from pypdf import PdfReader

from stackwars.paper.figures.graph import HEIGHT, MOST, write
from stackwars.paper.figures.graph_layout import BESIDE, layers_of, place, spread
from stackwars.paper.figures.graph_marks import NAMES
from stackwars.paper.style import PAGE
from stackwars.setup.environments import REPOSITORY


def node(at: int, kind: str, *lines: str, shape: str = "2x64x768", ordered: bool = False) -> dict:
    found = [{"operation": text, "shape": shape} for text in lines]
    return {"id": at, "kind": kind, "lines": found, "ordered": ordered}


def edges(*pairs: tuple[int, int]) -> list[dict]:
    return [{"from": a, "to": b, "operand": 1 + (a == 3)} for a, b in pairs]


# x minus its mean times a scale: an edge over two layers, and an argument that is read late.
PAIRS = [(0, 2), (2, 3), (0, 4), (3, 4), (4, 5), (1, 5), (5, 6)]
GRAPH = {
    "status": "ok",
    "nodes": [
        node(0, "argument", "arg0"),
        node(1, "argument", "arg1", shape="768"),
        node(2, "reduction", "reduce add over 2", shape="2x64x1"),
        node(3, "compute", "divide(\u00b7, 768)", "negate"),
        node(4, "compute", "subtract", ordered=True),
        node(5, "product", "dot_general [2] x [0]"),
        node(6, "result", "result"),
    ],
    "edges": edges(*PAIRS),
}
MISSING = {"status": "no program", "reason": "oom, refused at build"}


def test_layers_are_in_order_and_arguments_beside_their_readers():
    layers = layers_of(7, GRAPH["edges"])
    assert all(layers[a] < layers[b] for a, b in PAIRS)
    assert layers == [0, 3, 1, 2, 3, 4, 5]


def test_an_edge_backwards_is_refused():
    with pytest.raises(ValueError, match="expected edges to later nodes, came 2->1"):
        layers_of(3, edges((0, 1), (2, 1)))


def test_boxes_do_not_overlap_and_no_arrow_runs_through_one():
    widths = [0.6, 0.4, 1.5, 1.2, 0.6, 1.1, 0.6]
    layout = place(widths, GRAPH["edges"])
    for layer in layout.layers:
        spans = sorted((layout.x[n] - widths[n] / 2, layout.x[n] + widths[n] / 2) for n in layer)
        assert spans[0][0] >= -1e-9 and spans[-1][1] <= layout.width + 1e-9
        assert all(a[1] + BESIDE <= b[0] + 1e-9 for a, b in itertools.pairwise(spans))
    level = layers_of(7, GRAPH["edges"])
    for edge, route in zip(GRAPH["edges"], layout.routes, strict=True):
        first, last = level[edge["from"]], level[edge["to"]]
        assert len(route) == last - first + 1
        for at, x in zip(range(first + 1, last), route[1:-1], strict=True):
            assert all(abs(x - layout.x[n]) >= widths[n] / 2 for n in layout.layers[at])
        assert abs(route[0] - layout.x[edge["from"]]) < widths[edge["from"]] / 2
        assert abs(route[-1] - layout.x[edge["to"]]) < widths[edge["to"]] / 2


def test_crossing_pairs_are_uncrossed():
    layout = place([1.0] * 4, edges((0, 3), (1, 2)))
    assert (layout.x[0] - layout.x[1]) * (layout.x[3] - layout.x[2]) > 0


def test_places_keep_order_and_gaps_and_are_near_the_wished_ones():
    assert spread([0.0, 5.0], [1.0]) == [0.0, 5.0]
    assert spread([0.0, 0.0, 0.0], [1.0, 1.0]) == pytest.approx([-1, 0, 1])
    assert spread([3.0, 0.0], [1.0], [3.0, 1.0]) == pytest.approx([2, 3])


def text_of(path) -> str:
    return PdfReader(path).pages[0].extract_text()


def test_the_picture_holds_every_label_and_fits_a_page(tmp_path):
    write("small", {"small": {"jax": GRAPH, "torch_xla": GRAPH}}, tmp_path / "small.pdf")
    text = text_of(tmp_path / "small.pdf")
    assert "JAX" in text and "torch_xla" in text
    for box in GRAPH["nodes"]:
        for line in box["lines"]:
            assert text.count(line["operation"]) >= 2
        assert line["shape"].replace("x", "\u00d7") in text
        assert NAMES[box["kind"]] in text
    # The legend tells what is drawn, no more.
    assert NAMES["layout"] not in text and "A box that counts" not in text
    assert "dimensions contracted" in text
    box = PdfReader(tmp_path / "small.pdf").pages[0].mediabox
    assert float(box.width) <= PAGE * 72 + 1 and float(box.height) <= HEIGHT * 72


def test_no_text_is_too_small_and_the_picture_is_vector(tmp_path):
    write("small", {"small": {"jax": GRAPH}}, tmp_path / "small.pdf")
    sizes = set()

    def visit(text, _, matrix, font, size):
        if text.strip():
            sizes.add(round(size * abs(matrix[3]), 2))

    PdfReader(tmp_path / "small.pdf").pages[0].extract_text(visitor_text=visit)
    assert sizes and min(sizes) >= 6.5
    pdf = (tmp_path / "small.pdf").read_bytes()
    assert b"/FontFile2" in pdf and b"/Type3" not in pdf and b"/Subtype /Image" not in pdf


def test_the_same_graphs_give_the_same_bytes(tmp_path):
    for name in ("once", "again"):
        write("small", {"small": {"jax": GRAPH}}, tmp_path / name / "small.pdf")
    first, again = ((tmp_path / name / "small.pdf").read_bytes() for name in ("once", "again"))
    assert first == again and b"/CreationDate" not in first


def test_a_missing_program_and_a_missing_workload_are_said(tmp_path):
    write("small", {"small": {"jax": MISSING, "torch_xla": GRAPH}}, tmp_path / "one.pdf")
    assert "no program: oom, refused at build" in text_of(tmp_path / "one.pdf")
    assert "subtract" in text_of(tmp_path / "one.pdf")
    write("small", {"small": {"jax": MISSING, "torch_xla": MISSING}}, tmp_path / "both.pdf")
    assert text_of(tmp_path / "both.pdf").count("no program") == 2
    write("ffn", {}, tmp_path / "absent.pdf")
    assert "none of ffn was given" in text_of(tmp_path / "absent.pdf")


def test_a_picture_larger_than_a_page_is_told(tmp_path, capsys):
    boxes = [node(at, "compute", "add") for at in range(40)]
    tall = {"status": "ok", "nodes": boxes, "edges": edges(*((a, a + 1) for a in range(39)))}
    write("tall", {"tall": {"jax": tall}}, tmp_path / "tall.pdf")
    assert "tall takes" in capsys.readouterr().err


def test_a_whole_model_is_not_drawn_and_that_is_said(tmp_path):
    boxes = [node(at, "compute", "add") for at in range(MOST + 1)]
    write(
        "model",
        {"model": {"jax": {"status": "ok", "nodes": boxes, "edges": []}}},
        tmp_path / "m.pdf",
    )
    assert f"not drawn: {MOST + 1} boxes" in text_of(tmp_path / "m.pdf")


def test_one_command_draws_every_workload(tmp_path):
    graphs = {"schema": 1, "workloads": {"small": {"jax": GRAPH}, "none": {"jax": MISSING}}}
    (tmp_path / "graphs.json").write_text(json.dumps(graphs))
    command = [sys.executable, "-m", "stackwars.paper.figures.graph", "--graphs", "graphs.json"]
    done = subprocess.run(
        [*command, "--output-dir", "out"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(REPOSITORY / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["none.pdf", "small.pdf"]
