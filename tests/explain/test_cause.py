"""The finder on small programs in the environment of a compiler."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from running import python
from stackwars.explain.bench import Arrays
from stackwars.explain.cause import pair, search
from stackwars.explain.hybrids import A, B
from stackwars.explain.question import Question, Side
from stackwars.explain.workers import CompilerSpec, Worker
from stackwars.setup.environments import REPOSITORY

pytestmark = pytest.mark.env
ATTENTION = """
func.func @main(%x: tensor<128x256xf32>, %w: tensor<{weight}xf32>, %b: tensor<768xf32>) -> tensor<128x256xf32> {{
  {turn}
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.dot_general %x, {used}, contracting_dims = [1] x [0]
    : (tensor<128x256xf32>, tensor<256x768xf32>) -> tensor<128x768xf32>
  %wide = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<768xf32>) -> tensor<128x768xf32>
  %qkv = stablehlo.add %p, %wide : tensor<128x768xf32>
  %q = stablehlo.slice %qkv [0:128, 0:256] : (tensor<128x768xf32>) -> tensor<128x256xf32>
  %k = stablehlo.slice %qkv [0:128, 256:512] : (tensor<128x768xf32>) -> tensor<128x256xf32>
  %v = stablehlo.slice %qkv [0:128, 512:768] : (tensor<128x768xf32>) -> tensor<128x256xf32>
  %scores = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1]
    : (tensor<128x256xf32>, tensor<128x256xf32>) -> tensor<128x128xf32>
  %top = stablehlo.reduce(%scores init: %low) applies stablehlo.maximum across dimensions = [1]
    : (tensor<128x128xf32>, tensor<f32>) -> tensor<128xf32>
  %tops = stablehlo.broadcast_in_dim %top, dims = [0] : (tensor<128xf32>) -> tensor<128x128xf32>
  %less = stablehlo.subtract %scores, %tops : tensor<128x128xf32>
  %power = stablehlo.exponential %less : tensor<128x128xf32>
  %sum = stablehlo.reduce(%power init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<128x128xf32>, tensor<f32>) -> tensor<128xf32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<128xf32>) -> tensor<128x128xf32>
  %share = stablehlo.divide %power, %sums : tensor<128x128xf32>
  %y = stablehlo.dot_general %share, %v, contracting_dims = [1] x [0]
    : (tensor<128x128xf32>, tensor<128x256xf32>) -> tensor<128x256xf32>
  return %y : tensor<128x256xf32>
}}
"""
TURN = "%t = stablehlo.transpose %w, dims = [1, 0] : (tensor<768x256xf32>) -> tensor<256x768xf32>"
STRAIGHT = ATTENTION.format(weight="256x768", turn="", used="%w")
TURNED = ATTENTION.format(weight="768x256", turn=TURN, used="%t")
SLOW = """
func.func @main(%x: tensor<64x256xf32>, %w: tensor<256x256xf32>) -> tensor<64x256xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<64x256xf32>) -> tensor<64x256x256xf32>
  %b = stablehlo.broadcast_in_dim %w, dims = [1, 2] : (tensor<256x256xf32>) -> tensor<64x256x256xf32>
  %p = stablehlo.multiply %a, %b : tensor<64x256x256xf32>
  %s = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<64x256x256xf32>, tensor<f32>) -> tensor<64x256xf32>
  %y = stablehlo.tanh %s : tensor<64x256xf32>
  return %y : tensor<64x256xf32>
}
"""
FAST = """
func.func @main(%x: tensor<64x256xf32>, %w: tensor<256x256xf32>) -> tensor<64x256xf32> {
  %s = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
  %y = stablehlo.tanh %s : tensor<64x256xf32>
  return %y : tensor<64x256xf32>
}
"""
SETTINGS = {"bound": 0.1, "seconds": 0.1, "budget_s": 300, "memory_cap_gib": 8, "timeout_s": 120}


@pytest.fixture(scope="module")
def spec():
    return CompilerSpec("jaxlib-0.7.1", pins=str(REPOSITORY / "envs" / "xla-0.7.1.txt"))


def question(folder, spec, a, b):
    for name, text in (("a", a), ("b", b)):
        (folder / f"{name}.mlir").write_text(text)
    sides = [Side(name, str(folder / f"{name}.mlir")) for name in "ab"]
    return Question("pair", sides[0], spec, spec, b=sides[1], settings=SETTINGS)


def get(array):
    """Return a function of the set of inputs: the second set has other values."""
    return lambda number: array.astype(np.float32) * (1 + number)


def test_every_hybrid_computes_the_program(tmp_path, spec):
    """One class after another from B, all, and all the other way: the values stay the same."""
    with Worker(spec) as worker:
        graphs = tuple(worker.generic(text) for text in (TURNED, STRAIGHT))
        x, w, b = (
            np.random.default_rng(k).standard_normal(s) for k, s in enumerate([(128, 256), (768, 256), 768])
        )
        values = [[0.2 * x, w / 16, b], [0.2 * x, w.T / 16, b]]
        given = tuple(
            dict(zip(graph.arguments, map(get, sets), strict=True))
            for graph, sets in zip(graphs, values, strict=True)
        )
        arrays = Arrays((graphs[A].types, graphs[B].types), given)
        hybrids = pair(worker, graphs, arrays, tmp_path)
        weight = [kind for kind in hybrids.kinds if kind.is_layout and not kind.is_same]
        first = tuple(graph.arguments[1] for graph in graphs)
        assert [hybrids.classes[one.classes[0]].first for one in weight] == [first]
        every = range(len(hybrids.classes))
        parts = [*(hybrids.hybrid([c]) for c in every), hybrids.hybrid(every)]
        results = []
        for part in [hybrids.hybrid([]), *parts]:
            worker.compile("hybrid", part.text)
            worker.bind("hybrid", arrays.place(worker, part.arguments))
            results.append(worker.run("hybrid")[0])
    for found in results[1:]:
        np.testing.assert_allclose(found, results[0], atol=1e-5)


def test_different_programs_have_no_cause(tmp_path, spec):
    other = STRAIGHT.replace("512:768", "256:512")
    answer = search(question(tmp_path, spec, STRAIGHT, other))
    assert answer["verdict"] == "different values" and not answer["regions"]


def test_a_program_that_does_not_compile_is_a_failure_with_its_reason(tmp_path, spec):
    answer = search(question(tmp_path, spec, STRAIGHT, "module {"))
    assert answer["verdict"] == "failed" and "Unable to parse" in answer["detail"]


def test_a_slow_operation_is_named(tmp_path, spec):
    """The product as a sum of products is so much slower that a busy machine shows it too."""
    job = tmp_path / "job.json"
    job.write_text(json.dumps(asdict(question(tmp_path, spec, FAST, SLOW))))
    python("-m", "stackwars.explain.cause", "--job", job, "--output", tmp_path)
    answer = json.loads((tmp_path / "cause.json").read_text())
    assert answer["verdict"] == "cause", answer["detail"]
    # The slower program is A, whichever was given first.
    assert (answer["a"], answer["b"]) == ("b", "a")
    (region,) = answer["regions"]
    assert "stablehlo.reduce" in region["a"][-1] and "dot_general" in region["b"][-1]
    assert answer["closed"]["share"] > 0.8
    assert "product" in region["reason"]["sentence"]


@pytest.mark.alone
def test_a_planted_layout_is_named(tmp_path, spec):
    answer = search(question(tmp_path, spec, TURNED, STRAIGHT))
    assert answer["verdict"] == "cause", answer["detail"]
    assert [row["what"] for row in answer["regions"]] == ["argument layout"]


@pytest.mark.alone
def test_a_program_against_itself_has_no_cause(tmp_path, spec):
    answer = search(question(tmp_path, spec, STRAIGHT, STRAIGHT))
    assert answer["verdict"] in ("no gap", "not separable") and not answer["regions"]
