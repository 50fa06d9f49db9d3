"""Facts read from a program's text alone."""

from pathlib import Path

import pytest

from stackwars.core.program_text import (
    dump_sources,
    load_sources,
    missing_reason,
    no_program_line,
    not_donated,
    readable,
    readback,
    source_lines,
    sources_of_plain,
    with_chlo_erf,
)

FIXTURES = Path(__file__).parents[1] / "ir" / "fixtures"
TEXT = """#loc1 = loc("x"("x"))
module @jit_f {
  func.func public @main(%arg0: tensor<2xf32> loc("x"("x"))) -> tensor<2xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<2xf32> loc(#loc5)
    %1 = stablehlo.add %0, %0 : tensor<2xf32> loc(callsite("jit(f)/add"("/a/b/in_jax.py":7:4 to :12) at #loc2))
    return %1 : tensor<2xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc2 = loc("/a/b/caller.py":99:0)
#loc4 = loc("/a/b/in_jax.py":3:8)
#loc5 = loc("jit(f)/tanh"(#loc4))
"""


def test_reason_comes_back_as_one_line_and_a_program_is_not_missing():
    assert missing_reason(no_program_line("oom: refused at build")) == "oom: refused at build"
    assert no_program_line("error: it stopped\nhere and there") == "// no program: error: it stopped\n"
    assert missing_reason("module @main {\n  // no program: a comment\n}") is None


# The second has a product in its short form; the third has none: its result has the type.
@pytest.mark.parametrize(
    ("name", "precision"), [("mha_torch_xla", "HIGHEST"), ("ffn_torch_tpu", "HIGHEST"), ("layernorm_jax", "")]
)
def test_precision_and_type_are_read_back(name, precision):
    text = (FIXTURES / f"{name}.mlir").read_text()
    assert ("stablehlo.dot " in text) == (name == "ffn_torch_tpu")
    assert readback(text) == {"precision": precision, "dtype": "f32"}


def test_mixed_and_missing_precision():
    dot = "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]"
    types = "(tensor<2x?xbf16>, tensor<3x4xbf16>) -> tensor<2x4xf32>"
    text = f"{dot}, precision = [HIGHEST, DEFAULT] : {types}\n{dot} : {types}"
    assert readback(text) == {"precision": "DEFAULT+HIGHEST", "dtype": "bf16+f32"}
    assert readback(f"{dot} : {types}")["precision"] == "DEFAULT"
    assert readback("// no program: timeout") == {"precision": "", "dtype": ""}


@pytest.mark.parametrize(
    "text",
    ["%0 = stablehlo.tanh %a : tensor<2xf32>\nreturn %0",
     "%0 = a.b %a loc(#loc1)\n#loc1 = loc(#loc2)\n#loc2 = loc(#loc1)"],
)  # fmt: skip
def test_a_text_without_locations_or_with_one_that_refers_to_itself_has_none(text):
    assert source_lines(text) is None


def test_a_text_without_locations_takes_those_of_the_same_text_with_them_and_of_no_other():
    plain = [line.split(" loc(")[0] for line in TEXT.splitlines() if not line.startswith("#loc")]
    found = sources_of_plain("\n".join(plain), TEXT)
    assert [(plain[place].strip()[:2], source) for place, source in enumerate(found) if source] == [
        ("%0", "b/in_jax.py:3"),
        ("%1", "b/in_jax.py:7"),  # where it was called from is not where it is
    ]
    assert load_sources(dump_sources(found)) == found
    assert sources_of_plain("return %0", "") is None
    with pytest.raises(ValueError, match="expected the 1 lines of the plain text, got 7"):
        sources_of_plain("return %0", TEXT)


def test_donated_memory_is_taken_back_and_nothing_else():
    donated = "%a: t {tf.aliasing_output = 0 : i32}, %b: u {jax.buffer_donor = true, x = 1}) {} = {}"
    assert not_donated(donated) == "%a: t, %b: u {x = 1}) {} = {}"
    alias = "mhlo.input_output_alias = [{alias = {parameter_number = 2 : i64}, output_index = array<i64: 1>}]"
    assert not_donated(f"module @m attributes {{a = [], {alias}}} {{") == "module @m attributes {a = []} {"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        # Eight a byte, as jaxlib 0.7.1 packs them.
        ('dense<"0x0DFF01"> : tensor<3x6xi1>',
         "dense<[[true, false, true, true, false, false], [false, false, true, true, true, true], "
         "[true, true, true, true, true, false]]> : tensor<3x6xi1>"),
        # A byte each, as jaxlib 0.10.2 prints them, which jaxlib 0.7.1 refuses.
        ('value = dense<"0x0100010001000101"> : tensor<2x4xi1>',
         "value = dense<[[true, false, true, false], [true, false, true, true]]> : tensor<2x4xi1>"),
        *((other, other) for other in ('dense<"0x01"> : tensor<4x2xi32>', 'dense<"0x000102"> : tensor<2xi1>')),
    ],
)  # fmt: skip
def test_truth_values_are_spelled_out_and_nothing_else(text, read):
    assert readable(text) == read


def test_the_error_function_is_chlo_s_and_no_other_call_is():
    types = ": (tensor<2xf32>) -> tensor<2xf32>"
    call = "stablehlo.custom_call @mhlo.erf(%3) {mhlo.version = 1 : i64}"
    assert with_chlo_erf(f"%4 = {call} {types}") == "%4 = chlo.erf %3 : tensor<2xf32> -> tensor<2xf32>"
    other = f"%4 = stablehlo.custom_call @mhlo.topk(%3) {types}"
    assert with_chlo_erf(other) == other
