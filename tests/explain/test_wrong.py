"""Reduction of programs: what is left is the smallest part on which a predicate holds, and it is a program."""

import re

import numpy as np
import pytest

from explain.pairs import program
from stackwars.explain import wrong
from stackwars.explain.wrong import Part, Parts, Reduction, shrink

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


def names(parts, part):
    return [op.name.removeprefix("stablehlo.") for op in parts.operations(part)]


def reduced(graph, *, needs=(), fuse=()):
    """Reduce by a predicate: the part has these operations, and the results of those in `fuse` stay inside it."""
    parts = Parts(graph)
    by_name = {op.name.removeprefix("stablehlo."): op for op in parts.graph.ops}
    seen = []

    def is_faulty(part):
        seen.append(part)
        there = names(parts, part)
        inside = all(value not in part.results for name in fuse for value in by_name[name].results)
        return set(needs) <= set(there) and inside

    assert is_faulty(parts.whole())
    return parts, Reduction(parts, is_faulty).run(), seen


CHAIN = [f"v{number} = op{number} {'a0' if number == 0 else f'v{number - 1}'}" for number in range(100)]


def test_one_bad_operation_of_a_long_chain_is_found_in_few_trials():
    parts, part, seen = reduced(module(*CHAIN), needs=["op37"])
    assert names(parts, part) == ["op37"]
    assert len(seen) < 20
    text = parts.text(part)
    assert text.count('"stablehlo.') == 1 and f"(tensor<{KIND}>) -> (tensor<{KIND}>)" in text


def test_operations_that_must_be_fused_stay_together():
    """As if the compiler fused them: the fault vanishes if the value between them becomes a result."""
    parts, part, _ = reduced(module(*CHAIN), needs=["op40", "op42"], fuse=["op40", "op41"])
    assert names(parts, part) == ["op40", "op41", "op42"]


def test_operations_of_two_chains_lose_what_is_between_them():
    other = [line.replace("v", "w").replace("op", "other") for line in CHAIN[:50]]
    parts, part, _ = reduced(module(*CHAIN[:50], *other, "s = add v49 w49"), needs=["op10", "other30", "add"])
    assert names(parts, part)[::20] == ["op10", "op30", "other30", "add"]
    # other30 reads the value of other29, and op10 that of op9; both are arguments.
    assert len(parts.arguments(part)) == 2


def test_unused_results_and_arguments_are_dropped():
    graph = module("s = add a0 a1", "t = tanh a0", "u = multiply s t", arguments=2)
    parts, part, _ = reduced(graph, needs=["tanh"])
    assert names(parts, part) == ["tanh"]
    assert parts.arguments(part) == [parts.graph.arguments[0]]
    assert len(part.results) == 1


def test_a_program_that_cannot_be_made_smaller_stays_whole():
    parts, part, _ = reduced(module("s = add a0 a0", "t = tanh s"), needs=["add", "tanh"])
    assert part == parts.whole()


CONSTANTS = module("c = constant", "d = negate c", "e = exponential d", "s = add a0 e", "t = tanh s")


def test_constants_and_what_is_made_of_them_are_never_arguments():
    parts = Parts(CONSTANTS)
    numbers = {op.name: op.number for op in parts.graph.ops}
    part = parts.part([numbers["stablehlo.add"]], parts.graph.ops[3].results)
    assert names(parts, part) == ["constant", "negate", "exponential", "add"]
    assert parts.arguments(part) == parts.graph.arguments


def test_an_expression_of_constants_alone_is_found():
    parts, part, _ = reduced(CONSTANTS, needs=["exponential", "negate"])
    assert names(parts, part) == ["constant", "negate", "exponential"]
    assert part.chosen == () and parts.arguments(part) == []


def test_values_of_constants_are_spelled_out_where_the_fault_allows():
    parts, part, _ = reduced(CONSTANTS, needs=["add"])
    assert names(parts, part) == ["add"] and len(part.literals) == 1
    [value] = part.literals
    text = parts.text(part, {value: np.array([1, 2.5, np.inf, -0.0], np.float32)})
    assert (
        "dense<[1.00000000000000000e+00, 2.50000000000000000e+00, 0x7F800000, -0.00000000000000000e+00]>"
        in text
    )


def test_random_numbers_are_no_constants():
    parts = Parts(module("c = constant", "r = rng c c", "s = add a0 r"))
    assert [op.name for op in parts.graph.ops if parts.is_constant(op)] == ["stablehlo.constant"]


def test_the_smallest_part_so_far_is_the_answer_once_time_is_up():
    parts = Parts(module(*CHAIN))
    count = 0

    def is_faulty(part):
        nonlocal count
        count += 1
        if count > 3:
            raise TimeoutError
        return "op90" in names(parts, part)

    part = Reduction(parts, is_faulty).run()
    assert 1 < len(names(parts, part)) < 100 and "op90" in names(parts, part)


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
    assert re.search(r"dense<(.*?)> :", wrong.constant(array, kind))[1] == body


def test_a_part_knows_results_made_elsewhere():
    parts = Parts(module("s = add a0 a0", "t = tanh s"))
    first, second = parts.graph.ops
    part = parts.part([first.number], [*first.results, *second.results])
    assert part == Part((first.number,), first.results)
