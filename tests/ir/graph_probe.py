"""Run in the jax environment: graphs of small programs as JSON, for test_graph.py."""

import json
import sys
from pathlib import Path

from stackwars.ir import graph

FIXTURES = Path(__file__).parent / "fixtures"
PROGRAMS = {
    # y - y * y where y is max(x @ w + 1, 0); the square is a function of its own.
    "small": """module {
      func.func public @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3x5xf32>) -> tensor<4x5xf32> {
        %one = stablehlo.constant dense<1.0> : tensor<f32>
        %ones = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<4x5xf32>
        %zeros = stablehlo.constant dense<0.0> : tensor<4x5xf32>
        %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
            : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
        %1 = stablehlo.add %0, %ones : tensor<4x5xf32>
        %2 = stablehlo.maximum %1, %zeros : tensor<4x5xf32>
        %3 = call @_square(%2) : (tensor<4x5xf32>) -> tensor<4x5xf32>
        %4 = stablehlo.subtract %2, %3 : tensor<4x5xf32>
        return %4 : tensor<4x5xf32>
      }
      func.func private @_square(%arg0: tensor<4x5xf32>) -> tensor<4x5xf32> {
        %0 = stablehlo.multiply %arg0, %arg0 : tensor<4x5xf32>
        return %0 : tensor<4x5xf32>
      }
    }""",
    # A constant of several values is a box; a loop reads what its body takes from outside.
    "odd": """module {
      func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<i1>) -> tensor<2xf32> {
        %table = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
        %0 = stablehlo.multiply %arg0, %table : tensor<2xf32>
        %1 = "stablehlo.if"(%arg1) ({
          %2 = stablehlo.add %0, %0 : tensor<2xf32>
          stablehlo.return %2 : tensor<2xf32>
        }, {
          stablehlo.return %0 : tensor<2xf32>
        }) : (tensor<i1>) -> tensor<2xf32>
        return %1 : tensor<2xf32>
      }
    }""",
    "none": "// no program: oom, refused at build\n",
    "unreadable": "module { func.func @main() { foo.bar } }",
}


def main() -> None:
    folder = Path(sys.argv[1])
    found = {}
    for name, text in PROGRAMS.items():
        (folder / name).write_text(text)
        found[name] = graph.described(folder / name)
    for path in sorted(FIXTURES.glob("*.mlir")):
        found[path.stem] = graph.described(path)
    json.dump(found, sys.stdout)


main()
