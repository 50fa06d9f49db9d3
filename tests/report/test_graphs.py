"""The graphs of the reference's programs, as the report draws them: in JAX's environment, placed by dot."""

import json
import subprocess

import pytest

from stackwars.results.folder import REFERENCE
from stackwars.setup.environments import clean_environ
from stackwars.study.config import load
from stackwars.workflow import job_files

pytestmark = pytest.mark.env
KEPT = ("mha", "bert_base", "llama3_8b")


@pytest.fixture(scope="module")
def graphs(jax_python, tmp_path_factory):
    """{(workload, framework): its graph}, of KEPT."""
    folder = tmp_path_factory.mktemp("results")
    config = load()
    config |= {"results": "reference", "workloads": [w for w in config["workloads"] if w in KEPT]}
    step = ("--config", job_files.file("config", config, folder), "--results", folder)
    subprocess.run(
        [jax_python, "-m", "stackwars.report.graphs", *step, "--measured", REFERENCE],
        env=clean_environ({}), check=True,
    )  # fmt: skip
    found = json.loads((folder / "report_graphs.json").read_text())["graphs"]
    return {(one["workload"], one["framework"]): one for one in found}


def test_every_program_is_drawn_or_says_why_not(graphs):
    assert {workload for workload, _ in graphs} == set(KEPT)
    assert {name for _, name in graphs} == {"jax", "torch_xla"}
    for one in graphs.values():
        assert (one["graph"] is None) == bool(one["reason"])
    assert "characters" in graphs["llama3_8b", "jax"]["reason"]


@pytest.mark.parametrize(("framework", "again"), [("jax", 11), ("torch_xla", 10)])
def test_layers_of_a_model_are_one_block_and_a_box(graphs, framework, again):
    """BERT's twelve: in torch_xla's program one of them is not in the order of the others."""
    found = graphs["bert_base", framework]
    nodes = found["graph"]["nodes"]
    assert "arguments are left out" in found["note"]
    assert any(f"{again} more blocks like this" in node["lines"][0] for node in nodes)
    assert any(node["block"] == f"{again + 1} times" for node in nodes)
    assert len(nodes) < 180
    # Asked for, the other layers are drawn too, and nothing stands for them.
    whole = found["unfolded"]["nodes"]
    assert len(whole) > 800 and all(node["kind"] != "block" for node in whole)


def test_what_has_no_folded_block_is_drawn_once(graphs):
    assert graphs["mha", "jax"]["unfolded"] is None


def test_boxes_lie_within_the_drawing_and_apart(graphs):
    drawn = graphs["mha", "jax"]["graph"]
    assert {node["class"] for node in drawn["nodes"]} >= {"products", "reductions", "elementwise"}
    for at, one in enumerate(drawn["nodes"]):
        assert one["width"] / 2 - 1 <= one["x"] <= drawn["width"] - one["width"] / 2 + 1
        assert one["height"] / 2 - 1 <= one["y"] <= drawn["height"] - one["height"] / 2 + 1
        for other in drawn["nodes"][at + 1 :]:
            aside = abs(one["x"] - other["x"]) >= (one["width"] + other["width"]) / 2 - 1
            below = abs(one["y"] - other["y"]) >= (one["height"] + other["height"]) / 2 - 1
            assert aside or below


def test_arrows_go_down_from_box_to_box(graphs):
    for edge in graphs["mha", "torch_xla"]["graph"]["edges"]:
        assert edge["points"][0][1] < edge["points"][-1][1]
        # A chain of cubic curves.
        assert len(edge["points"]) % 3 == 1
