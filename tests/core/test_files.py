"""Files of StableHLO in all forms that tools write: opened, or refused in one line."""

import gzip

import numpy as np
import pytest

from running import run
from stackwars.core import program_text
from stackwars.explain import files
from stackwars.explain.files import BadInput

MAIN = """func.func public @main(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = call @moved(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
func.func private @moved(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
"""
DYNAMIC = MAIN.replace("3x2x", "3x?x").replace("2x3x", "?x3x")


WRITE = """
import sys
from pathlib import Path
from stackwars.core.mlir import parse, run_passes, stablehlo
folder, text = Path(sys.argv[1]), sys.argv[2]
module = parse(text)
with (folder / "bytecode.mlirbc").open("wb") as file:
    module.operation.write_bytecode(file)
artifact = stablehlo.serialize_portable_artifact(module, "1.0.0")
(folder / "artifact.mlir").write_bytes(artifact)
(folder / "generic.mlir").write_text(module.operation.get_asm(print_generic_op_form=True))
run_passes(module, "builtin.module(stablehlo-legalize-to-vhlo)")
(folder / "vhlo.mlir").write_text(str(module))
"""
FORMS = ("text.mlir", "renamed.mlir", "generic.mlir", "artifact.mlir", "packed.mlir.gz", "exported.bin",
         "bytecode.mlirbc", "vhlo.mlir")  # fmt: skip


@pytest.mark.env
def test_every_form_of_a_program_is_opened_and_runs(worker, tmp_path):
    run(worker.spec.python, "-c", WRITE, tmp_path, MAIN)
    artifact = (tmp_path / "artifact.mlir").read_bytes()
    (tmp_path / "packed.mlir.gz").write_bytes(gzip.compress(artifact))
    # JAX's export has the artifact after its length.
    exported = b"\x18\0\0\0jax." + len(artifact).to_bytes(4, "little") + artifact + bytes(9)
    (tmp_path / "exported.bin").write_bytes(exported)
    (tmp_path / "renamed.mlir").write_text(MAIN.replace("@main", "@forward"))
    (tmp_path / "text.mlir").write_text(MAIN)
    programs = files.load([tmp_path / name for name in FORMS], worker.spec)
    for program in programs:
        worker.load(program.label, program.text)
        worker.place(program.label, program.arguments)
        result = worker.call(program.label)[0]
        np.testing.assert_array_equal(result, program.arguments[0](0).T, program.label)
    assert programs[0].text == MAIN


REFUSED = {
    "binary.mlir": (bytes(range(256)), "expected a StableHLO program, got neither text nor MLIR bytecode"),
    "cut.mlir.gz": (gzip.compress(MAIN.encode())[:-20], "expected a StableHLO program, got Compressed file ended"),
    "cut.mlir": (b"ML\xefR\r", "expected a StableHLO program, got "),
    "large.mlir.gz": (gzip.compress(bytes(5000)), "expected a StableHLO program, got more than "),
    "dynamic.mlir": (DYNAMIC.encode(), "expected known extents, got tensor<?x3xf32>"),
    "two.mlir": (MAIN.replace("@main", "@f").replace("private", "public").encode(), "expected a function main, got f"),
    "hlo.mlir": (b"HloModule f, entry_computation_layout={()->f32[]}", "expected StableHLO, got HLO"),
    "quantised.mlir": (MAIN.replace("f32", "!quant.uniform<i8:f32, 0.5>").encode(), "expected elements of plain types"),
    "reason.mlir": (b"// no program: too hard\n", "expected a StableHLO program, got too hard"),
}  # fmt: skip


@pytest.mark.env
@pytest.mark.parametrize("name", REFUSED)
def test_file_that_cannot_be_read_is_refused_in_one_line(worker, tmp_path, monkeypatch, name):
    monkeypatch.setattr(program_text, "MOST_BYTES", 2000)
    data, message = REFUSED[name]
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(BadInput) as refused:
        files.load([path], worker.spec)
    assert str(refused.value).startswith(f"{path}: {message}")
    assert "\n" not in str(refused.value) and str(refused.value).count("; fix: ") == 1
