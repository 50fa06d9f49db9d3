"""Cutting attributes and breaking lines: plain text."""

import pytest

from stackwars.core.layout import elide, listing, split, wrap

DOT = (
    "%2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0], "
    "precision = [HIGHEST, HIGHEST] : (tensor<8192x256xf32>, tensor<256x1024xf32>) "
    "-> tensor<8192x1024xf32>"
)
TRANSPOSE = (
    "%1 = stablehlo.transpose %arg3, dims = [1, 0] "
    '{result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[256,1024]{0,1}"} '
    ": (tensor<1024x256xf32>) -> tensor<256x1024xf32>"
)


@pytest.mark.parametrize(
    ("line", "text", "names"),
    [
        (TRANSPOSE, TRANSPOSE[: TRANSPOSE.index("{result")] + "{...} : (tensor<1024x256xf32>) -> tensor<256x1024xf32>",
         {"result_layout", "xla_shape"}),
        ("%0 = stablehlo.convolution(%a, %b) {groups = 1 : i64, mhlo.x = {}} : t",
         "%0 = stablehlo.convolution(%a, %b) {groups = 1 : i64, ...} : t", {"mhlo.x"}),
        ('"stablehlo.batch_norm_training"(%0) <{epsilon = 1.0 : f32}> : t',
         '"stablehlo.batch_norm_training"(%0) <{epsilon = 1.0 : f32}> : t', set()),
        # The brace that opens a body stays.
        ("module @jit_f attributes {mhlo.num_replicas = 1 : i32} {", "module @jit_f attributes {...} {",
         {"mhlo.num_replicas"}),
        ("func.func @main(%arg0: tensor<f32>) {", "func.func @main(%arg0: tensor<f32>) {", set()),
        ('%arg0: t {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %arg1: u {jax.x = "}, {"}) -> v {',
         "%arg0: t {...}, %arg1: u {...}) -> v {", {"sdy.sharding", "jax.x"}),
    ],
)  # fmt: skip
def test_attributes_of_layouts_and_frameworks_become_an_ellipsis(line, text, names):
    assert elide(line) == (text, names)


def test_split_heeds_brackets_arrows_and_strings():
    assert split('a = [1, 2], b = (x, y) -> z, c = "p, q"') == ["a = [1, 2]", " b = (x, y) -> z", ' c = "p, q"']
    assert split("  ") == []


@pytest.mark.parametrize("columns", [40, 76, 200])
@pytest.mark.parametrize("line", [DOT, TRANSPOSE, "x" * 300, "// " + "word " * 60, "a" * 90 + ", b"])
def test_nothing_runs_over_and_nothing_is_lost(columns, line):
    parts = wrap(line, columns, 2)
    assert max(map(len, parts)) <= columns
    joined = "".join(part.strip().removeprefix("//") for part in parts)
    assert joined.replace(" ", "") == line.removeprefix("//").replace(" ", "")


def test_breaks_come_after_commas_and_colons_and_before_arrows():
    assert wrap(DOT, 62, 1) == [
        " %2 = stablehlo.dot_general %0, %1,",
        "     contracting_dims = [1] x [0],",
        "     precision = [HIGHEST, HIGHEST] : (tensor<8192x256xf32>,",
        "     tensor<256x1024xf32>) -> tensor<8192x1024xf32>",
    ]


def test_a_continued_comment_is_a_comment_and_beyond_ascii_is_escaped():
    assert all(part.startswith(" // ") for part in wrap("// " + "word " * 40, 50, 1))
    assert wrap("// caf\u00e9", 40, 0) == ["// caf\\xe9"]


def test_a_listing_names_what_was_cut_and_counts_lines_beyond_its_limit():
    lines = listing([(0, "module attributes {mhlo.a = 1} {"), (1, TRANSPOSE), (0, "}")], 76, 50)
    assert lines[0] == "// {...} stands for attributes left out: mhlo.a, result_layout, xla_shape"
    assert listing([(0, "module {")], 76, 50) == ["module {"]
    lines = listing([(0, f"%{i} = stablehlo.add") for i in range(30)], 76, 10)
    assert len(lines) == 10 and lines[-1] == "// ... 21 further lines of the program left out"
