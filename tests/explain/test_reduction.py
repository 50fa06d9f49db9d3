"""Reduction of programs: what is left is the smallest subset on which a predicate holds, and it is a program."""

import itertools
import re

import numpy as np
import pytest

from explain.pairs import program
from stackwars.core.program import Graph
from stackwars.explain.reduction import Reduction, Subsets, constant, loop_body, shrink, smallest_sizes

KIND = "4xf32"


def module(*lines, arguments=1):
    """Return the graph of lines such as `name = op operands`, with the arguments a0, ..."""
    ops = []
    for line in lines:
        name, _, rest = line.partition(" = ")
        op, *reads = rest.split()
        value = [f"value = dense<1.0> : tensor<{KIND}>"] if op == "constant" else []
        ops.append((name, op, reads, KIND, *value))
    return program({f"a{number}": KIND for number in range(arguments)}, ops, [ops[-1][0]])[0]


def names(subsets, subset):
    return [op.name.removeprefix("stablehlo.") for op in subsets.operations(subset)]


def reduced(graph, *, needs=(), fuse=()):
    """Reduce by a predicate: the subset has these operations, and the results of those in `fuse` stay inside it."""
    subsets = Subsets(graph)
    by_name = {op.name.removeprefix("stablehlo."): op for op in subsets.graph.ops}
    seen = []

    def is_faulty(subset):
        seen.append(subset)
        there = names(subsets, subset)
        inside = all(value not in subset.results for name in fuse for value in by_name[name].results)
        return set(needs) <= set(there) and inside

    assert is_faulty(subsets.whole())
    return subsets, Reduction(subsets, is_faulty).run(), seen


CHAIN = [f"v{number} = op{number} {'a0' if number == 0 else f'v{number - 1}'}" for number in range(100)]


def test_one_bad_operation_of_a_long_chain_is_found_in_few_trials():
    subsets, subset, seen = reduced(module(*CHAIN), needs=["op37"])
    assert names(subsets, subset) == ["op37"]
    assert len(seen) < 20
    text = subsets.text(subset)
    assert text.count('"stablehlo.') == 1 and f"(tensor<{KIND}>) -> (tensor<{KIND}>)" in text


@pytest.mark.parametrize(
    ("lines", "needs", "fuse", "left", "arguments"),
    [
        (
            CHAIN,
            ["op40", "op42"],
            ["op40", "op41"],
            ["op40", "op41", "op42"],
            1,
        ),  # as if the compiler fused them
        (["s = add a0 a1", "t = tanh a0", "u = multiply s t"], ["tanh"], [], ["tanh"], 1),
        (["s = add a0 a1", "t = tanh s"], ["add", "tanh"], [], ["add", "tanh"], 2),
    ],
)
def test_what_the_fault_does_not_need_is_dropped_with_its_results_and_arguments(
    lines, needs, fuse, left, arguments
):
    subsets, subset, _ = reduced(module(*lines, arguments=2), needs=needs, fuse=fuse)
    assert names(subsets, subset) == left
    assert (len(subsets.arguments(subset)), len(subset.results)) == (arguments, 1)
    assert (subset == subsets.whole()) == (len(left) == len(lines))


CONSTANTS = module("c = constant", "d = negate c", "e = exponential d", "s = add a0 e", "t = tanh s")


def test_constants_and_what_is_made_of_them_are_never_arguments():
    subsets = Subsets(CONSTANTS)
    numbers = {op.name: op.number for op in subsets.graph.ops}
    subset = subsets.subset([numbers["stablehlo.add"]], subsets.graph.ops[3].results)
    assert names(subsets, subset) == ["constant", "negate", "exponential", "add"]
    assert subsets.arguments(subset) == subsets.graph.arguments


def test_an_expression_of_constants_alone_is_found_and_values_are_spelled_out_where_the_fault_allows():
    subsets, subset, _ = reduced(CONSTANTS, needs=["exponential", "negate"])
    assert names(subsets, subset) == ["constant", "negate", "exponential"]
    assert subset.chosen == () and subsets.arguments(subset) == []
    subsets, subset, _ = reduced(CONSTANTS, needs=["add"])
    assert names(subsets, subset) == ["add"] and len(subset.literals) == 1
    text = subsets.text(subset, {next(iter(subset.literals)): np.array([1, 2.5, np.inf, -0.0], np.float32)})
    numbers = ("1.00000000000000000e+00", "2.50000000000000000e+00", "0x7F800000", "-0.00000000000000000e+00")
    assert f"dense<[{', '.join(numbers)}]>" in text


def test_random_numbers_are_no_constants():
    subsets = Subsets(module("c = constant", "r = rng c c", "s = add a0 r"))
    assert [op.name for op in subsets.graph.ops if subsets.is_constant(op)] == ["stablehlo.constant"]


def until(count, is_faulty, error=TimeoutError):
    """Return a predicate that raises an error, by default that time is up, after so many calls."""
    calls = itertools.count()

    def limited(one):
        if next(calls) >= count:
            raise error
        return is_faulty(one)

    return limited


def test_the_smallest_so_far_is_the_answer_once_time_is_up():
    subsets = Subsets(module(*CHAIN))
    is_faulty = until(3, lambda subset: "op90" in names(subsets, subset))
    found = names(subsets, Reduction(subsets, is_faulty).run())
    assert 1 < len(found) < 100 and "op90" in found
    assert 10 < smallest_sizes({"rows": 1000}, until(6, lambda sizes: sizes["rows"] > 10))["rows"] < 1000


@pytest.mark.parametrize("needed", [[], [0], [99], [3, 50, 51], list(range(0, 100, 7)), list(range(100))])
def test_shrink_keeps_exactly_what_is_needed(needed):
    assert shrink(range(100), lambda items: set(needed) <= set(items)) == needed


def test_shrink_is_minimal_if_items_depend_on_each_other():
    # 5 is needed with 4, or 9 alone.
    found = shrink(range(10), lambda items: {4, 5} <= set(items) or 9 in items)
    assert found in ([4, 5], [9])


@pytest.mark.parametrize(
    ("array", "kind", "body"),
    [
        (np.array(3, np.int32), "tensor<i32>", "3"),
        (np.array([[True], [False]]), "tensor<2x1xi1>", "[[true], [false]]"),
        (np.array([7], np.uint8), "tensor<1xui8>", "[7]"),
        (np.array([np.nan], np.float16), "tensor<1xf16>", "[0x7E00]"),
        (np.zeros((0, 2), np.float32), "tensor<0x2xf32>", ""),
    ],
)
def test_constants_are_written_as_their_types_want(array, kind, body):
    assert re.search(r"dense<(.*?)> :", constant(array, kind))[1] == body


@pytest.mark.parametrize(
    ("sizes", "is_faulty", "least"),
    [
        ({"rows": 40961, "columns": 3}, lambda s: s["rows"] > 32768 and s["columns"] == 3, [32769, 3]),
        ({"rows": 1024, "columns": 1024}, lambda s: s["rows"] > 2, [3, 1]),
        ({"rows": 100, "columns": 100}, lambda s: s["rows"] * s["columns"] >= 4096, None),
        ({"hidden": 768, "heads": 12}, lambda s: s["hidden"] % s["heads"] == 0 and s["hidden"] > 90, [91, 1]),
        ({"hidden": 768}, lambda s: s["hidden"] % 12 == 0 and s["hidden"] > 90, [96]),
        ({"rows": 5}, lambda s: s["rows"] == 5, [5]),
        ({}, lambda s: True, []),
    ],
)
def test_none_can_be_made_smaller_alone(sizes, is_faulty, least):
    found = smallest_sizes(sizes, until(60, is_faulty, AssertionError))
    assert is_faulty(found)
    if least is None:
        assert not any(is_faulty({**found, name: extent - 1}) for name, extent in found.items())
    else:
        assert list(found.values()) == least


LOOP = """\
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<i32>, tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<i32>, %arg1: tensor<2xf32>):
    %0 = "stablehlo.sine"(%arg1) : (tensor<2xf32>) -> tensor<2xf32>
    %1:2 = "stablehlo.while"(%arg0, %0) ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<2xf32>):
      %2 = "stablehlo.compare"(%arg2, %arg0) : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%2) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<2xf32>):
      %2 = "stablehlo.add"(%arg3, %arg1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %3 = "func.call"(%arg2) <{callee = @next}> : (tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%3, %2) : (tensor<i32>, tensor<2xf32>) -> ()
    }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
    "func.return"(%1#1) : (tensor<2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>) -> tensor<i32>, sym_name = "next"}> ({
  ^bb0(%arg0: tensor<i32>):
    %0 = "stablehlo.negate"(%arg0) : (tensor<i32>) -> tensor<i32>
    "func.return"(%0) : (tensor<i32>) -> ()
  }) : () -> ()
}) : () -> ()
"""


def test_a_body_takes_what_it_carries_and_what_it_captures():
    graph = Graph.read(LOOP)
    inner = Graph.read(loop_body(graph, graph.ops[1]))
    assert [inner.types[value] for value in inner.arguments] == ["tensor<i32>", *["tensor<2xf32>"] * 2]
    assert [op.name for op in inner.ops] == ["stablehlo.add", "stablehlo.negate"]
    assert inner.ops[0].reads == (inner.arguments[1], inner.arguments[2])
    assert inner.results == [inner.ops[1].results[0], inner.ops[0].results[0]]
