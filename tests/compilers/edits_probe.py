"""Edits every small program here in a compiler's environment; prints what came of it as JSON."""

import json
import sys

import numpy as np

from stackwars.compilers import arguments, edits
from stackwars.compilers.arguments import Entry
from stackwars.compilers.xla import Compiler

SEED = 2025
INPUTS = {
    "x": np.sin(1.7 * np.arange(24, dtype=np.float32)).reshape(2, 3, 4),
    "image": np.linspace(-2, 2, 96, dtype=np.float32).reshape(2, 3, 4, 4),
    "rows": np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4),
}
X = Entry("input", "x")

FLATTENED = """func.func @main(%w: tensor<6x4xf32>, %x: tensor<2x3x4xf32>) -> tensor<6x6xf32> {
  %0 = stablehlo.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %1 = stablehlo.transpose %w, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0]
    : (tensor<6x4xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  return %2 : tensor<6x6xf32>
}"""
ROWS = """func.func @main(%w: tensor<6x4xf32>, %x: tensor<2x3x4xf32>) -> tensor<2x3x6xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST]
    : (tensor<2x3x4xf32>, tensor<6x4xf32>) -> tensor<2x3x6xf32>
  return %0 : tensor<2x3x6xf32>
}"""
CONVOLUTION = """
func.func @main(%w: tensor<5x3x2x1xf32>, %x: tensor<2x3x4x4xf32>) -> tensor<2x5x3x4xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
    window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1],
      reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x3x4x4xf32>, tensor<5x3x2x1xf32>) -> tensor<2x5x3x4xf32>
  return %0 : tensor<2x5x3x4xf32>
}"""
TIED = """func.func @main(%w: tensor<6x4xf32>, %x: tensor<2x3x4xf32>) -> tensor<2x3x6xf32> {
  %0 = stablehlo.transpose %w, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [2] x [0]
    : (tensor<2x3x4xf32>, tensor<4x6xf32>) -> tensor<2x3x6xf32>
  %2 = stablehlo.slice %w [0:6, 0:1] : (tensor<6x4xf32>) -> tensor<6x1xf32>
  %3 = stablehlo.reshape %2 : (tensor<6x1xf32>) -> tensor<6xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [2] : (tensor<6xf32>) -> tensor<2x3x6xf32>
  %5 = stablehlo.add %1, %4 : tensor<2x3x6xf32>
  return %5 : tensor<2x3x6xf32>
}"""
TRANSPOSED_INPUT = """func.func @main(%x: tensor<2x3x4xf32>) -> tensor<4x3x2xf32> {
  %0 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  return %0 : tensor<4x3x2xf32>
}"""
LAYERNORM = """func.func @main(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<6xf32>
  %1 = stablehlo.constant dense<1.0> : tensor<6xf32>
  %2 = stablehlo.reshape %x : (tensor<2x3x4xf32>) -> tensor<1x6x4xf32>
  %3, %4, %5 = "stablehlo.batch_norm_training"(%2, %1, %0)
    <{epsilon = 0.25 : f32, feature_index = 1 : i64}>
    : (tensor<1x6x4xf32>, tensor<6xf32>, tensor<6xf32>)
    -> (tensor<1x6x4xf32>, tensor<6xf32>, tensor<6xf32>)
  %6 = stablehlo.reshape %3 : (tensor<1x6x4xf32>) -> tensor<2x3x4xf32>
  return %6 : tensor<2x3x4xf32>
}"""
UNSHAPED_LAYERNORM = """func.func @main(%w: tensor<1x6x4xf32>) -> tensor<24xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<6xf32>
  %1 = stablehlo.constant dense<1.0> : tensor<6xf32>
  %3, %4, %5 = "stablehlo.batch_norm_training"(%w, %1, %0)
    <{epsilon = 0.25 : f32, feature_index = 1 : i64}>
    : (tensor<1x6x4xf32>, tensor<6xf32>, tensor<6xf32>)
    -> (tensor<1x6x4xf32>, tensor<6xf32>, tensor<6xf32>)
  %6 = stablehlo.reshape %3 : (tensor<1x6x4xf32>) -> tensor<24xf32>
  return %6 : tensor<24xf32>
}"""
BATCHNORM = LAYERNORM.replace("1x6x4", "2x3x4").replace("<6xf32>", "<3xf32>")
SCALED = LAYERNORM.replace("dense<1.0>", "dense<2.0>")
ERFC = """func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = call @gelu(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
func.func private @gelu(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = chlo.erfc %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}"""

HIGHEST = "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]"

WEIGHT = Entry("weight", "up.weight", (6, 4), (0, 1))
KERNEL = Entry("weight", "conv.weight", (5, 3, 2, 1), (0, 1, 2, 3))
ROWS_WEIGHT = Entry("weight", "position", (1, 6, 4), (0, 1, 2))
CASES = {
    "flattened": (FLATTENED, [WEIGHT, X]),
    # The weight came transposed already: torch's (4, 6), which the program transposes back.
    "transposed_before": (FLATTENED, [Entry("weight", "up.weight", (4, 6), (1, 0)), X]),
    "rows": (ROWS, [WEIGHT, X]),
    "convolution": (CONVOLUTION, [KERNEL, Entry("input", "image")]),
    "tied": (TIED, [WEIGHT, X]),
    "transposed_input": (TRANSPOSED_INPUT, [X]),
    "layernorm": (LAYERNORM, [X]),
    "unshaped_layernorm": (UNSHAPED_LAYERNORM, [ROWS_WEIGHT]),
    "batchnorm": (BATCHNORM, [X]),
    "scaled": (SCALED, [X]),
    "erfc": (ERFC, [Entry("input", "rows")]),
    "highest_convolution": (
        CONVOLUTION.replace("batch_group_count", f"{HIGHEST}, batch_group_count"),
        [KERNEL, Entry("input", "image")],
    ),
    "default": (ROWS.replace("HIGHEST", "DEFAULT"), [WEIGHT, X]),
}


CASES = {case: (f"module @case {{\n{text}\n}}", entries) for case, (text, entries) in CASES.items()}


def output(compiler, text: str, entries: list[Entry]) -> np.ndarray:
    program = compiler.compile(text)
    buffers = [
        compiler.put(np.ascontiguousarray(entry.value(SEED, INPUTS)).reshape(shape))
        for entry, (shape, _) in zip(entries, program.types, strict=True)
    ]
    program.buffers = [buffers]
    return program.fetch(program.call(0))[0]


def main() -> None:
    compiler = Compiler("cpu", {})
    found = {}
    for case, (text, entries) in CASES.items():
        before = output(compiler, text, entries)
        found[case] = {"applicable": edits.applicable(text, entries), "edits": {}}
        for name in found[case]["applicable"]:
            edited, after = edits.apply(text, entries, name)
            found[case]["edits"][name] = {
                "text": edited,
                "arguments": arguments.dump(after),
                "again": edits.applicable(edited, after),
                "difference": float(np.abs(output(compiler, edited, after) - before).max()),
                "size": float(np.abs(before).max()),
            }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
