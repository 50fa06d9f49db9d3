"""Run in the jax environment: hashes, numbers and claims as JSON, for test_levels.py."""

import json
import sys
from pathlib import Path

import spellings

from stackwars.ir import canonical, metrics, module, program_text, structure
from stackwars.ir.normalise import normalise

FIXTURES = Path(__file__).parent / "fixtures"
LOOP = """module @m {
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
%n = stablehlo.constant dense<3> : tensor<i32>
%i = stablehlo.constant dense<0> : tensor<i32>
%one = stablehlo.constant dense<1> : tensor<i32>
%w:2 = stablehlo.while(%a = %i, %v = %x) : tensor<i32>, tensor<4xf32>
cond { %p = stablehlo.compare LT, %a, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> }
do { %b = stablehlo.add %a, %one : tensor<i32>
  %s = stablehlo.add %v, %v : tensor<4xf32>
  %t = stablehlo.add %v, %v : tensor<4xf32>
  %u = stablehlo.multiply %s, %t : tensor<4xf32>
  stablehlo.return %b, %u : tensor<i32>, tensor<4xf32> }
return %w#1 : tensor<4xf32>
}
}
"""
# Three projections of one value, one head each; then a root mean square over the last axis.
SEPARATE = """module @m {
func.func public @main(%x: tensor<2x3x4xf32>, %q: tensor<4x4xf32>, %k: tensor<4x4xf32>,
                       %v: tensor<4x4xf32>) -> tensor<2x3x4xf32> {
%z = stablehlo.constant dense<0.0> : tensor<f32>
%n = stablehlo.constant dense<4.0> : tensor<2x3xf32>
%0 = stablehlo.dot_general %x, %q, contracting_dims = [2] x [0] :
  (tensor<2x3x4xf32>, tensor<4x4xf32>) -> tensor<2x3x4xf32>
%1 = stablehlo.dot_general %x, %k, contracting_dims = [2] x [0] :
  (tensor<2x3x4xf32>, tensor<4x4xf32>) -> tensor<2x3x4xf32>
%2 = stablehlo.dot_general %x, %v, contracting_dims = [2] x [0] :
  (tensor<2x3x4xf32>, tensor<4x4xf32>) -> tensor<2x3x4xf32>
%3 = stablehlo.dot_general %0, %1, batching_dims = [0] x [0], contracting_dims = [2] x [2] :
  (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x3xf32>
%4 = stablehlo.exponential %3 : tensor<2x3x3xf32>
%5 = stablehlo.dot_general %4, %2, batching_dims = [0] x [0], contracting_dims = [2] x [1] :
  (tensor<2x3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
%6 = stablehlo.multiply %5, %5 : tensor<2x3x4xf32>
%7 = stablehlo.reduce(%6 init: %z) applies stablehlo.add across dimensions = [2] :
  (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3xf32>
%8 = stablehlo.divide %7, %n : tensor<2x3xf32>
%9 = stablehlo.rsqrt %8 : tensor<2x3xf32>
%10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x4xf32>
%11 = stablehlo.multiply %5, %10 : tensor<2x3x4xf32>
return %11 : tensor<2x3x4xf32>
}
}
"""


def hashed(text: str) -> str:
    settled = normalise(module.parse(text))
    assert settled.operation.verify()
    return canonical.canonical_hash(settled)


def levels(text: str) -> dict:
    raw = module.parse(text)
    before = str(raw)
    settled = normalise(raw)
    assert str(raw) == before, "the program itself was changed"
    again = canonical.canonical_hash(normalise(settled))
    return {
        "raw": metrics.metrics(raw),
        "normalised": metrics.metrics(settled),
        "again": again,
        "claims": structure.decide(settled),
    }


def main() -> None:
    programs = {p.name.split(".")[0]: program_text.read(p) for p in sorted(FIXTURES.glob("*.mlir*"))}
    result = {
        "same": {name: list(map(hashed, pair)) for name, pair in spellings.SAME.items()},
        "different": {name: list(map(hashed, pair)) for name, pair in spellings.DIFFERENT.items()},
        "programs": {name: levels(text) for name, text in programs.items()},
        "loop": levels(LOOP),
        "separate": levels(SEPARATE),
    }
    json.dump(result, sys.stdout)


main()
