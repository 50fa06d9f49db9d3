"""Precision and element type from a program's text."""

from pathlib import Path

import pytest

from stackwars.ir.readback import readback

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.mark.parametrize("workload", ["gemm", "ffn", "mha", "conv"])
@pytest.mark.parametrize("framework", ["jax", "torch_xla"])
def test_products_of_both_frameworks(workload, framework):
    text = (FIXTURES / f"{workload}_{framework}.mlir").read_text()
    assert readback(text) == {"precision": "HIGHEST", "dtype": "f32"}


def test_product_in_its_short_form():
    text = (FIXTURES / "ffn_torch_tpu.mlir").read_text()
    assert "stablehlo.dot " in text
    assert readback(text) == {"precision": "HIGHEST", "dtype": "f32"}


def test_without_a_product_the_result_tells_the_type():
    text = (FIXTURES / "layernorm_jax.mlir").read_text()
    assert readback(text) == {"precision": "", "dtype": "f32"}


def test_mixed_and_missing_precision():
    dot = "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]"
    types = "(tensor<2x?xbf16>, tensor<3x4xbf16>) -> tensor<2x4xf32>"
    text = f"{dot}, precision = [HIGHEST, DEFAULT] : {types}\n{dot} : {types}"
    assert readback(text) == {"precision": "DEFAULT+HIGHEST", "dtype": "bf16+f32"}
    assert readback(f"{dot} : {types}")["precision"] == "DEFAULT"


def test_product_of_two_matrices_in_its_old_form():
    text = "%1 = stablehlo.dot %a, %b, precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<3x4xf32>)"
    assert readback(text) == {"precision": "HIGHEST", "dtype": "f32"}


def test_no_program():
    assert readback("// no program: timeout") == {"precision": "", "dtype": ""}
