"""The body of a loop as a program of its own."""

from stackwars.explain.graph import Graph
from stackwars.explain.loops import body_text

PROGRAM = """\
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
    graph = Graph.read(PROGRAM)
    inner = Graph.read(body_text(graph, graph.ops[1]))
    assert [inner.types[value] for value in inner.arguments] == [
        "tensor<i32>",
        "tensor<2xf32>",
        "tensor<2xf32>",
    ]
    assert [op.name for op in inner.ops] == ["stablehlo.add", "stablehlo.negate"]
    assert inner.ops[0].reads == (inner.arguments[1], inner.arguments[2])
    assert inner.results == [inner.ops[1].results[0], inner.ops[0].results[0]]
