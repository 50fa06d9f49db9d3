"""Run in the jax environment: hashes, numbers, claims and drawings of programs as JSON, for test_programs.py."""

import json
import sys
import tempfile
from pathlib import Path

import spellings

from stackwars.core import mlir, program_text
from stackwars.core.ir import canonical, drawing, structure
from stackwars.core.ir.normalise import normalise

FIXTURES = Path(__file__).parent / "fixtures"

BRANCH = spellings.program(
    '%r = "stablehlo.if"(%c) ({\nstablehlo.return %x : V\n}, {\n%n = negate %x : V\nstablehlo.return %n : V\n})'
    " : (tensor<i1>) -> V",
    "%x: V, %c: tensor<i1>",
)
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
SEPARATE = spellings.program(
    """%z = constant dense<0.0> : tensor<f32>
%n = constant dense<4.0> : R
%0 = dot_general %x, %q, contracting_dims = [2] x [0] : (B, M) -> B
%1 = dot_general %x, %k, contracting_dims = [2] x [0] : (B, M) -> B
%2 = dot_general %x, %v, contracting_dims = [2] x [0] : (B, M) -> B
%3 = dot_general %0, %1, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (B, B) -> S
%4 = exponential %3 : S
%5 = dot_general %4, %2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (S, B) -> B
%6 = multiply %5, %5 : B
%7 = stablehlo.reduce(%6 init: %z) applies stablehlo.add across dimensions = [2] : (B, tensor<f32>) -> R
%8 = divide %7, %n : R
%9 = rsqrt %8 : R
%10 = broadcast_in_dim %9, dims = [0, 1] : (R) -> B
%r = multiply %5, %10 : B""",
    "%x: B, %q: M, %k: M, %v: M", "B", R="tensor<2x3xf32>", S="tensor<2x3x3xf32>",
)  # fmt: skip


def hashed(text: str) -> str:
    settled = normalise(mlir.parse(text))
    assert settled.operation.verify()
    return canonical.canonical_hash(settled)


def levels(text: str) -> dict:
    raw = mlir.parse(text)
    before = str(raw)
    settled = normalise(raw)
    assert str(raw) == before, "the program itself was changed"
    again = canonical.canonical_hash(normalise(settled))
    return {
        "raw": structure.metrics(raw),
        "normalised": structure.metrics(settled),
        "again": again,
        "claims": structure.decide(settled),
    }


def drawn(folder: Path) -> dict:
    """Return drawings of two programs and of one, and the lines of programs that cannot be drawn."""
    texts = {"branch": BRANCH, "no_program": "// no program: oom, refused at build\n"}
    texts["truncated"] = (FIXTURES / "mha_jax.mlir").read_text()[:1200]
    for name, text in texts.items():
        (folder / f"{name}.mlir").write_text(text)
    found = {name: drawing.read(folder / f"{name}.mlir") for name in texts}
    sides = {one: drawing.read(FIXTURES / f"ffn_relu_{one}.mlir") for one in ("jax", "torch_xla")}
    return {
        "notes": {name: " ".join(box.lines) for name, [box] in found.items()},
        "text": drawing.side_by_side({"JAX": sides["jax"], "torch_xla": sides["torch_xla"]}),
        "alone": drawing.side_by_side({"JAX": sides["jax"], "torch_xla": found["no_program"]}),
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
    with tempfile.TemporaryDirectory() as folder:
        result["drawn"] = drawn(Path(folder))
    json.dump(result, sys.stdout)


main()
