"""Two spellings of one small function, and programs that are nearly it, with their lists of arguments.

The function: 2 x left (16, 32) times the transpose of a weight (64, 32). "jax" takes the weight transposed
and has the 2 in its text; "torch_xla" transposes the weight itself and gets the 2 as an argument.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from made_tables import check, outcome
from stackwars.core import judge
from stackwars.measure.workloads import values
from stackwars.measure.workloads.gemm import WORKLOAD as gemm

SIZES = {"m": 16, "k": 32, "n": 64}
SEED = 2025
JAX = """module @first {
  func.func public @main(%w: tensor<32x64xf32>, %x: tensor<16x32xf32>) -> tensor<16x64xf32> {
    %c = stablehlo.constant dense<2.0> : tensor<16x64xf32>
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] \
: (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
    %1 = stablehlo.multiply %0, %c : tensor<16x64xf32>
    return %1 : tensor<16x64xf32>
  }
}
"""
TORCH = """module @second {
  func.func @main(%x: tensor<16x32xf32>, %c: tensor<1xf32>, %w: tensor<64x32xf32>) -> tensor<16x64xf32> {
    %0 = stablehlo.transpose %w, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
    %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] \
: (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
    %2 = stablehlo.reshape %c : (tensor<1xf32>) -> tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %4 = stablehlo.multiply %1, %3 : tensor<16x64xf32>
    return %4 : tensor<16x64xf32>
  }
}
"""
OTHER_CONSTANT = JAX.replace("2.0", "2.001")
OTHER_SHAPE = JAX.replace("return %1 : tensor<16x64xf32>", "return %2 : tensor<64x16xf32>").replace(
    "    return", "    %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<16x64xf32>) -> "
    "tensor<64x16xf32>\n    return",
).replace(") -> tensor<16x64xf32> {", ") -> tensor<64x16xf32> {")  # fmt: skip
# Both again, as a step that doubles its weight: JAX's first result takes over the weight's memory.
JAX_STEP = JAX.replace("%w: tensor<32x64xf32>", "%w: tensor<32x64xf32> {tf.aliasing_output = 0 : i32}").replace(
    "-> tensor<16x64xf32> {", "-> (tensor<32x64xf32>, tensor<16x64xf32>) {"
).replace(
    "    return %1 : tensor<16x64xf32>",
    "    %2 = stablehlo.add %w, %w : tensor<32x64xf32>\n"
    "    return %2, %1 : tensor<32x64xf32>, tensor<16x64xf32>",
)  # fmt: skip
TORCH_STEP = TORCH.replace("-> tensor<16x64xf32> {", "-> (tensor<16x64xf32>, tensor<64x32xf32>) {").replace(
    "    return %4 : tensor<16x64xf32>",
    "    %5 = stablehlo.add %w, %w : tensor<64x32xf32>\n"
    "    return %4, %5 : tensor<16x64xf32>, tensor<64x32xf32>",
)  # fmt: skip
RESULTS = {
    "jax": [{"name": "up.weight", "axes": [1, 0]}, {"name": "output"}],
    "torch_xla": [{"name": "output"}, {"name": "up.weight"}],
}
_WEIGHT = {"kind": "weight", "name": "up.weight", "shape": [64, 32]}
_INPUT = {"kind": "input", "name": "left"}
_TWO = {
    "kind": "constant", "dtype": "float32", "shape": [],
    "base64": base64.b64encode(np.array(2.0, "<f4").tobytes()).decode(),
}  # fmt: skip
ARGUMENTS = {
    "jax": [{**_WEIGHT, "axes": [1, 0]}, _INPUT],
    "torch_xla": [_INPUT, _TWO, {**_WEIGHT, "axes": [0, 1]}],
}


def expected() -> np.ndarray:
    """The function's values (2, 16, 64) for both sets of inputs, in float64."""
    left = np.stack([one["left"] for one in gemm.input_sets(SIZES, SEED)]).astype(np.float64)
    return 2 * left @ values.leaf("up.weight", (64, 32), SEED).T.astype(np.float64)


def write(
    folder: Path, name: str, text: str, listed: str | None = None, steps: bool = False, rows: list | None = None
) -> dict[str, str]:
    """A program and its arguments in a folder, as a ReplayJob names them.

    name: a framework, whose arguments the program has; anything may stand behind a plus. listed: the digest in the
    list, where it is not the program's. steps: whether it updates its weight. rows: of arguments other than these.
    """
    home = folder / name
    home.mkdir(parents=True)
    (home / "program.mlir.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    digest = hashlib.sha256(text.encode()).hexdigest()
    framework = name.partition("+")[0]
    document = {"program_sha256": listed or digest, "arguments": rows or ARGUMENTS[framework]}
    document |= {"results": RESULTS[framework]} if steps else {}
    (home / "arguments.json").write_text(json.dumps(document))
    return {"program": str(home / "program.mlir.gz"), "arguments": str(home / "arguments.json")}


def write_cell(folder: Path, text: str, status: str = "ok") -> Path:
    """The folder of a framework's own cell, which ran this program."""
    folder.mkdir(parents=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / "cell.json").write_text(json.dumps({"status": status, "ir": {"sha256": digest}}))
    return folder


def write_expected(folder: Path, steps: bool = False, reason: str = "") -> str:
    """The folder of the function's expected values; of a step's if it updates its weight."""
    one, other = expected()
    weight = values.leaf("up.weight", (64, 32), SEED)
    values_ = {"output0": one, **({"state/up.weight": 2.0 * weight} if steps else {"output1": other})}
    limits = dict.fromkeys(values_, 1e-5)
    judge.write(folder, values_, {"judge": "NumPy in float64", "reason": reason, "limits": limits})
    return str(folder)


def checked(names: Iterable[str], **bad: dict) -> dict:
    """The check of programs, all ok but those whose outcomes are given."""
    return check({name: outcome() | {"total": None} for name in names} | bad)


def write_check(path: Path, names: Iterable[str], **bad: dict) -> str:
    """The file of the check of programs."""
    path.write_text(json.dumps(checked(names, **bad)))
    return str(path)
