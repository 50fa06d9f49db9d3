"""The finder on small programs in the environment of a compiler."""

from dataclasses import replace

import numpy as np
import pytest

from explain.pairs import drawn_program, xla
from ir.spellings import program
from stackwars.core.client import Worker
from stackwars.core.program import Argument, Program
from stackwars.explain.bench import Arrays, Bench
from stackwars.explain.cause import Finder, find, pair
from stackwars.explain.hybrids import A, B
from stackwars.explain.task import Kept, Settings, Task

pytestmark = pytest.mark.env
X, S, W = "tensor<128x256xf32>", "tensor<128x128xf32>", {"T": "tensor<768x256xf32>", "U": "tensor<256x768xf32>"}


def attention(weight: str, turn: str, used: str) -> str:
    """Return attention with one product for queries, keys and values, whose weight has this type."""
    return program(
        f"{turn}%low = constant dense<0xFF800000> : F; %zero = constant dense<0.0> : F; "
        f"%p = dot_general %x, {used}, contracting_dims = [1] x [0] : (X, U) -> Q; "
        "%wide = broadcast_in_dim %b, dims = [1] : (C) -> Q; %qkv = add %p, %wide : Q; "
        "%q = slice %qkv [0:128, 0:256] : (Q) -> X; %k = slice %qkv [0:128, 256:512] : (Q) -> X; "
        "%v = slice %qkv [0:128, 512:768] : (Q) -> X; "
        "%scores = dot_general %q, %k, contracting_dims = [1] x [1] : (X, X) -> S; "
        "%top = stablehlo.reduce(%scores init: %low) applies stablehlo.maximum across dimensions = [1] : (S, F) -> R; "
        "%tops = broadcast_in_dim %top, dims = [0] : (R) -> S; %less = subtract %scores, %tops : S; "
        "%power = exponential %less : S; "
        "%sum = stablehlo.reduce(%power init: %zero) applies stablehlo.add across dimensions = [1] : (S, F) -> R; "
        "%sums = broadcast_in_dim %sum, dims = [0] : (R) -> S; %share = divide %power, %sums : S; "
        "%r = dot_general %share, %v, contracting_dims = [1] x [0] : (S, X) -> X",
        f"%x: X, %w: {weight}, %b: C", "X", X=X, S=S, F="tensor<f32>", C="tensor<768xf32>", R="tensor<128xf32>",
        Q="tensor<128x768xf32>", **W,
    )  # fmt: skip


STRAIGHT = attention("U", "", "%w")
TURNED = attention("T", "%t = transpose %w, dims = [1, 0] : (T) -> U; ", "%t")
TYPES = {
    "X": "tensor<64x256xf32>",
    "W": "tensor<256x256xf32>",
    "P": "tensor<64x256x256xf32>",
    "F": "tensor<f32>",
}
SLOW = program(
    "%zero = constant dense<0.0> : F; %a = broadcast_in_dim %x, dims = [0, 1] : (X) -> P; "
    "%b = broadcast_in_dim %w, dims = [1, 2] : (W) -> P; %p = multiply %a, %b : P; "
    "%s = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (P, F) -> X; "
    "%r = tanh %s : X",
    "%x: X, %w: W", "X", **TYPES,
)  # fmt: skip
FAST = program(
    "%s = dot_general %x, %w, contracting_dims = [1] x [0] : (X, W) -> X; %r = tanh %s : X",
    "%x: X, %w: W",
    "X",
    **TYPES,
)
SETTINGS = Settings(seconds=0.05, budget_s=300, memory_cap_gib=8)


@pytest.fixture(scope="module")
def worker():
    with Worker(xla()) as started:
        yield started


@pytest.fixture
def task(worker):
    def of(a, b):
        a, b = (drawn_program(worker, text, name) for name, text in (("a", a), ("b", b)))
        return Task("pair", a, worker.spec, worker.spec, b, is_plain=True, settings=SETTINGS)

    return of


def test_every_hybrid_computes_the_program(tmp_path, worker):
    """One class after another from B, all, and all the other way: the values stay the same."""
    graphs = tuple(worker.graph(text) for text in (TURNED, STRAIGHT))
    x, w, b = (
        np.random.default_rng(k).standard_normal(s).astype(np.float32)
        for k, s in enumerate([(128, 256), (768, 256), 768])
    )
    arguments = tuple(
        {
            # The second set has other values.
            value: Argument(str(value), lambda number, array=array: array * np.float32(1 + number))
            for value, array in zip(graph.arguments, (0.2 * x, weight / 16, b), strict=True)
        }
        for graph, weight in zip(graphs, (w, w.T), strict=True)
    )
    bench = Bench(worker, Arrays((graphs[A].types, graphs[B].types), arguments))
    hybrids = pair(worker, graphs, bench.arrays, tmp_path)
    weights = [kind for kind in hybrids.kinds if kind.is_layout and not kind.is_same]
    first = tuple(graph.arguments[1] for graph in graphs)
    assert [hybrids.classes[kind.classes[0]].first for kind in weights] == [first]
    classes = range(len(hybrids.classes))
    results = []
    for part in (hybrids.hybrid([]), *(hybrids.hybrid([c]) for c in classes), hybrids.hybrid(classes)):
        bench.load("hybrid", part)
        results.append(worker.call("hybrid")[0])
    for found in results[1:]:
        np.testing.assert_allclose(found, results[0], atol=1e-5)


def test_different_programs_have_no_cause(task):
    answer = find(task(STRAIGHT, STRAIGHT.replace("512:768", "256:512")), print)
    assert answer.verdict == "different values" and not answer.regions


def test_what_a_compiler_does_is_a_failure_with_its_reason(task):
    question = task(STRAIGHT, STRAIGHT)
    unparsed = find(replace(question, b=replace(question.b, text="module {")), print)
    assert unparsed.verdict == "failed" and "expected StableHLO text" in unparsed.detail
    missing = find(replace(question, b=Program("b", missing="it has no reverse mode")), print)
    assert (missing.verdict, missing.detail) == ("failed", "it has no reverse mode")
    assert (missing.a, missing.b) == ("a", "b")
    few = find(replace(question, b=replace(question.b, arguments=question.b.arguments[1:])), print)
    assert few.detail == "error: expected 3 arguments of b, got 2; fix: lower it again"
    dead = find(replace(question, compiler=replace(question.compiler, flags="--xla_no_such_flag")), print)
    assert dead.verdict == "failed" and "Unknown flag" in dead.detail


def test_a_slow_operation_is_named_and_a_search_that_is_kept_is_not_measured_again(task, tmp_path, monkeypatch):
    """The product as a sum of products is so much slower that a busy machine shows it too."""
    monkeypatch.setattr(Finder, "processes", 3)
    answer = find(task(FAST, SLOW), print, Kept(tmp_path))
    assert answer.verdict == "cause", answer.detail
    # The slower program is A, whichever was question first.
    assert (answer.a, answer.b) == ("b", "a")
    (region,) = answer.regions
    assert "stablehlo.reduce" in region.a[-1] and "dot_general" in region.b[-1]
    assert region.line_a == "b.mlir:7"
    assert answer.closed.share > 0.8
    assert "product" in region.reason.sentence and region.reason.b.gflops > 0
    again = find(task(FAST, SLOW), print, Kept(tmp_path))
    assert replace(again, seconds=0) == replace(answer, seconds=0)


@pytest.mark.alone
def test_a_planted_layout_is_named_and_a_program_against_itself_has_no_cause_and_both_ratios(task):
    answer = find(task(TURNED, STRAIGHT), print)
    assert answer.verdict == "cause", answer.detail
    assert [row.what for row in answer.regions] == ["argument layout"]
    answer = find(replace(task(STRAIGHT, STRAIGHT), gap=3.0), print)
    assert answer.verdict in ("no gap", "not separable") and not answer.regions
    assert "3.00 in the table, " in answer.detail or answer.ratio.high > 3
