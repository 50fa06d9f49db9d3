"""Reading programs in generic form and writing parts of them."""

import pytest

from stackwars.core.program import Emitter, Graph, GraphError
from stackwars.core.types import ElementTypeError, dtype, shape

PROGRAM = """\
"builtin.module"() <{sym_name = "jit_f"}> ({
  "func.func"() <{function_type = (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>):
    %0 = "func.call"(%arg0) <{callee = @relu}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = "stablehlo.reduce"(%0, %arg1) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %3 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %4 = "stablehlo.multiply"(%3, %arg1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %5 = "func.call"(%4) <{callee = @same}> : (tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%5) : (tensor<f32>) -> ()
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %2:2 = "stablehlo.custom_call"(%1) <{call_target_name = "two"}> : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi32>)
    "func.return"(%2#0) : (tensor<2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x3xf32>) -> tensor<2x3xf32>, sym_name = "relu"}> ({
  ^bb0(%arg0: tensor<2x3xf32>):
    %0 = "stablehlo.abs"(%arg0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    "func.return"(%0) : (tensor<2x3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "same", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<f32>):
    "func.return"(%arg0) : (tensor<f32>) -> ()
  }) : () -> ()
}) : () -> ()
"""


@pytest.fixture
def graph():
    places = {"main": ["a.py:1", "a.py:2", "a.py:3"], "relu": ["b.py:7"]}
    facts = {name: [{"place": place, "terms": 3, "work": 6} for place in each] for name, each in places.items()}
    return Graph.read(PROGRAM, facts)


def test_calls_are_inlined_with_the_places_of_their_operations(graph):
    assert [op.name for op in graph.ops] == ["stablehlo.abs", "stablehlo.reduce", "stablehlo.custom_call"]
    assert [op.place for op in graph.ops] == ["b.py:7", "a.py:2", "a.py:3"]
    assert [(op.terms, op.work) for op in graph.ops] == [(3, 6)] * 3 and graph.accumulation == 3


def test_an_operation_reads_what_its_regions_capture(graph):
    reduce = graph.ops[1]
    assert reduce.reads == (graph.ops[0].results[0], graph.arguments[1])
    assert reduce.operands == reduce.reads


def test_each_result_of_an_operation_is_a_value(graph):
    first, second = graph.ops[2].results
    assert (graph.types[first], graph.types[second]) == ("tensor<2xf32>", "tensor<2xi32>")
    assert graph.results == [first]
    assert graph.maker[second] is graph.ops[2]


def test_functions_that_regions_call_travel_with_the_operation(graph):
    text = graph.part([graph.ops[1]], graph.ops[1].reads, graph.ops[1].results)
    assert text.count('"func.func"') == 2
    (renamed,) = graph.functions
    assert f"callee = @{renamed}" in text and f'sym_name = "{renamed}"' in text
    assert graph.part([graph.ops[0]], graph.ops[0].reads, graph.ops[0].results).count('"func.func"') == 1


def test_needed_operations_end_at_given_values(graph):
    assert [op.number for op in graph.needed(graph.results)] == [0, 1, 2]
    assert [op.number for op in graph.needed(graph.results, stop=graph.ops[1].results)] == [2]


def test_written_module_can_be_read_again(graph):
    again = Graph.read(graph.module())
    assert [op.name for op in again.ops] == [op.name for op in graph.ops]
    (old,), (new,) = graph.functions, again.functions
    assert [op.form().replace(new, old) for op in again.ops] == [op.form() for op in graph.ops]


def test_move_writes_only_the_steps_that_change_something():
    emitter = Emitter()
    name = emitter.argument("tensor<6x4xf32>")
    assert emitter.move(name, "tensor<6x4xf32>", ((6, 4), (0, 1), (6, 4))) == name
    emitter.move(name, "tensor<6x4xf32>", ((2, 3, 4), (2, 0, 1), (4, 6)))
    text = emitter.module([(name, "tensor<6x4xf32>")])
    assert text.count("stablehlo.reshape") == 2 and text.count("stablehlo.transpose") == 1
    assert "(tensor<2x3x4xf32>) -> tensor<4x2x3xf32>" in text


def test_program_without_main_and_types_that_are_no_arrays_are_refused():
    with pytest.raises(GraphError, match="expected a function main, got none"):
        Graph.read('"builtin.module"() ({\n}) : () -> ()\n')
    assert shape("tensor<2x3xf32>") == (2, 3) and shape("tensor<i1>") == ()
    assert dtype("tensor<2xui32>") == "uint32"
    for kind in ("tensor<?x3xf32>", "!stablehlo.token"):
        with pytest.raises(ElementTypeError, match="expected a tensor of known extents"):
            shape(kind)
