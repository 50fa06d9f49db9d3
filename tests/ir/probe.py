"""Run in the jax environment: counts and drawings of the fixtures as JSON, for test_programs.py."""

import json
import sys
import tempfile
from pathlib import Path

from stackwars.ir import drawing, metrics, module, program_text
from stackwars.ir.program_text import missing_reason

FIXTURES = Path(__file__).parent / "fixtures"
ODD = {
    "no_program": "// no program: oom, refused at build\n",
    "truncated": (FIXTURES / "mha_jax.mlir").read_text()[:1200],
}

# y - y * y where y is max(x @ w + 1, 0); the square is a function of its own.
SMALL = """module {
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
}"""
BRANCH = """module {
  func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<i1>) -> tensor<2xf32> {
    %1 = "stablehlo.if"(%arg1) ({
      stablehlo.return %arg0 : tensor<2xf32>
    }, {
      %2 = stablehlo.negate %arg0 : tensor<2xf32>
      stablehlo.return %2 : tensor<2xf32>
    }) : (tensor<i1>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}"""


def drawn(folder: Path) -> dict:
    """Return the boxes of small programs, which pairs of the fixtures match, and a drawing."""
    texts = {"small": SMALL, "branch": BRANCH, **ODD}
    for name, text in texts.items():
        (folder / f"{name}.mlir").write_text(text)
    found = {name: drawing.read(folder / f"{name}.mlir") for name in texts}
    sides = {one: drawing.read(FIXTURES / f"ffn_relu_{one}.mlir") for one in ("jax", "torch_xla")}
    pairs = drawing.matched(*sides.values())
    return {
        "boxes": {name: [[box.lines, box.reads] for box in boxes] for name, boxes in found.items()},
        "matched": [[sides["jax"][a].kind, sides["torch_xla"][b].kind] for a, b in pairs],
        "text": drawing.side_by_side({"JAX": sides["jax"], "torch_xla": sides["torch_xla"]}),
        "alone": drawing.side_by_side({"JAX": sides["jax"], "torch_xla": found["no_program"]}),
    }


def problem(text: str) -> str:
    """Return why a text is no program."""
    try:
        module.parse(text)
    except module.ProgramError as error:
        return str(error)
    return ""


def main() -> None:
    result = {"metrics": {}}
    for path in sorted(FIXTURES.glob("*.mlir*")):
        stem = path.name.split(".")[0]
        text = program_text.read(path)
        result["metrics"][stem] = metrics.metrics(module.parse(text))
    result["odd"] = {name: missing_reason(text) or problem(text) for name, text in ODD.items()}
    with tempfile.TemporaryDirectory() as folder:
        result["drawn"] = drawn(Path(folder))
    json.dump(result, sys.stdout)


main()
