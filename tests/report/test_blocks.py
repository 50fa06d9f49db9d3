"""Large graphs made small."""

from stackwars.report import blocks


def node(number, kind, text):
    return {
        "id": number,
        "kind": kind,
        "lines": [{"operation": text, "shape": "2"}],
        "ordered": True,
    }


def chain(texts, kind="compute"):
    """Boxes of these texts, each read by the next."""
    nodes = [node(number, kind, text) for number, text in enumerate(texts)]
    ends = range(len(texts) - 1)
    return {"nodes": nodes, "edges": [{"from": at, "to": at + 1, "operand": 1} for at in ends]}


def said(graph):
    return [one["lines"][0]["operation"] for one in graph["nodes"]]


LAYER = [f"step {number}" for number in range(10)]


def test_a_small_graph_stays_as_it_is():
    small = chain(LAYER * 2)
    assert blocks.folded(small) == (small, "")


def test_the_first_block_is_kept_and_the_others_are_counted():
    found, note = blocks.folded(chain(["embed", *LAYER * 12, "head"]))
    assert said(found) == ["embed", *LAYER, "11 more blocks like this", "head"]
    assert [one["id"] for one in found["nodes"]] == list(range(13))
    assert [one.get("block") for one in found["nodes"]][:2] == [None, "12 times"]
    assert {(edge["from"], edge["to"]) for edge in found["edges"]} == {(at, at + 1) for at in range(12)}
    assert note == ""


def test_every_stage_that_repeats_is_folded():
    other = [f"other {number}" for number in range(8)]
    found, _ = blocks.folded(chain([*LAYER * 9, "between", *other * 9]))
    rest = "8 more blocks like this"
    assert said(found) == [*LAYER, rest, "between", *other, rest]


def test_a_value_that_every_block_reads_reaches_the_box_that_stands_for_them():
    graph = chain(["mask", *LAYER * 8])
    graph["edges"] += [{"from": 0, "to": 3 + 10 * layer, "operand": 2} for layer in range(8)]
    found, _ = blocks.folded(graph)
    rest = said(found).index("7 more blocks like this")
    assert [edge["to"] for edge in found["edges"] if edge["from"] == 0] == [1, 3, rest]


def test_a_large_graph_is_without_its_arguments():
    graph = chain([f"{number} of its own" for number in range(70)])
    graph["nodes"].append(node(70, "argument", "arg0"))
    graph["edges"].append({"from": 70, "to": 3, "operand": 2})
    found, note = blocks.folded(graph)
    assert len(found["nodes"]) == 70 and len(found["edges"]) == 69
    assert note == "Its arguments are left out, 1 in number."
