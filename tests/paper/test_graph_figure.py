"""Layout and picture of small graphs: no overlap, every label, the same bytes again."""

from __future__ import annotations

import itertools
import json
import shutil

import pytest
from pypdf import PdfReader

from stackwars.paper.figures.graph import NAMES, write_all
from stackwars.paper.figures.graph_layout import even, place
from stackwars.paper.style import PAGE

pytestmark = pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")


def node(at: int, kind: str, *lines: str, shape: str = "2x64x768", ordered: bool = False) -> dict:
    found = [{"operation": text, "shape": shape} for text in lines]
    return {"id": at, "kind": kind, "lines": found, "ordered": ordered}


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
    "edges": [{"from": a, "to": b, "operand": 1 + (a == 3)} for a, b in PAIRS],
}
MISSING = {"status": "no program", "reason": "oom, refused at build"}


def drawn(folder, **workloads: dict) -> dict[str, PdfReader]:
    """The pictures of these workloads' programs."""
    folder.mkdir(exist_ok=True)
    (folder / "graphs.json").write_text(json.dumps({"schema": 1, "workloads": workloads}))
    write_all(folder / "graphs.json", folder)
    return {path.stem: PdfReader(path) for path in folder.glob("*.pdf")}


def text_of(picture: PdfReader) -> str:
    return picture.pages[0].extract_text()


def test_boxes_do_not_overlap_and_every_arrow_leads_down_from_box_to_box():
    widths, height = [0.6, 0.4, 1.5, 1.2, 0.6, 1.1, 0.6], even(0.3)
    sizes = [(even(width), height) for width in widths]
    layout = place(sizes, GRAPH["edges"])
    spans = []
    for at, (x, y) in layout.middles.items():
        width, height = sizes[at]
        assert width / 2 <= x + 1e-3 and x + width / 2 <= layout.width + 1e-3
        assert height / 2 <= y + 1e-3 and y + height / 2 <= layout.height + 1e-3
        spans.append((x - width / 2, x + width / 2, y - height / 2, y + height / 2))
    for (left, right, low, high), (other, end, floor, top) in itertools.combinations(spans, 2):
        assert right < other or end < left or high < floor or top < low
    assert set(layout.routes) == set(PAIRS)
    for (source, reader), route in layout.routes.items():
        assert len(route) % 3 == 1
        (x, y), (end, top) = route[0], route[-1]
        assert spans[source][0] <= x <= spans[source][1] and abs(y - spans[source][2]) < 0.02
        assert spans[reader][0] <= end <= spans[reader][1] and abs(top - spans[reader][3]) < 0.02


def test_the_picture_holds_every_label_and_fits_a_page(tmp_path):
    picture = drawn(tmp_path, small={"jax": GRAPH, "torch_xla": GRAPH})["small"]
    text = text_of(picture)
    assert "JAX" in text and "torch_xla" in text
    for box in GRAPH["nodes"]:
        for line in box["lines"]:
            assert text.count(line["operation"]) >= 2
        assert line["shape"].replace("x", "\u00d7") in text
        assert NAMES[box["kind"]] in text
    assert NAMES["layout"] not in text, "the legend names what is drawn, no more"
    assert float(picture.pages[0].mediabox.width) <= PAGE * 72 + 1


def test_no_text_is_too_small_and_the_picture_is_vector(tmp_path):
    sizes = set()

    def visit(text, _, matrix, font, size):
        if text.strip():
            sizes.add(round(size * abs(matrix[3]), 2))

    drawn(tmp_path, small={"jax": GRAPH})["small"].pages[0].extract_text(visitor_text=visit)
    assert sizes and min(sizes) >= 6.5
    pdf = (tmp_path / "small.pdf").read_bytes()
    assert b"/FontFile2" in pdf and b"/Type3" not in pdf and b"/Subtype /Image" not in pdf


def test_the_same_graphs_give_the_same_bytes(tmp_path):
    for name in ("once", "again"):
        drawn(tmp_path / name, small={"jax": GRAPH})
    first, again = ((tmp_path / name / "small.pdf").read_bytes() for name in ("once", "again"))
    assert first == again and b"/CreationDate" not in first


def test_a_missing_program_is_said(tmp_path):
    neither = {"jax": MISSING, "torch_xla": MISSING}
    found = drawn(tmp_path, one={"jax": MISSING, "torch_xla": GRAPH}, neither=neither)
    assert "no program: oom, refused at build" in text_of(found["one"])
    assert "subtract" in text_of(found["one"])
    assert text_of(found["neither"]).count("no program") == 2
