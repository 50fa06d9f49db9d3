"""Collectives: every number here can be counted in the text."""

from compilers import hlo_texts
from stackwars.compilers import collectives, hlo

EMITTED = """
    %1 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %9 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %2 = "stablehlo.all_gather"(%1) <{all_gather_dim = 0 : i64}> : (tensor<8x16xf32>) -> tensor<16x16xf32>
    %3 = stablehlo.add %2, %2 : tensor<16x16xf32>
    %4 = stablehlo.reshape %3 : (tensor<16x16xf32>) -> tensor<256xf32>
"""
DIVIDED = hlo_texts.entry(
    "%x = f32[4]{0} parameter(0)",
    "%r = (f32[4]{0}, f32[]) all-reduce(%x, %x), to_apply=%sum",
    "%s = (f32[4]{0}, f32[8]{0}) all-gather-start(%x), dimensions={0}",
    "%d = f32[8]{0} all-gather-done(%s)",
    "%p = (f32[4]{0}, f32[4]{0}, u32[], u32[]) collective-permute-start(%x)",
    "%q = f32[4]{0} collective-permute-done(%p)",
    "ROOT %y = f32[4]{0} add(%q, %q)",
)


def test_emitted_collectives_and_the_bytes_of_their_results():
    found = collectives.emitted(EMITTED)
    assert {kind: count for kind, count in found.items() if count} == {
        **{"all_reduce": 1, "all_gather": 1},
        "bytes": 4 * (8 * 16 + 16 * 16),
    }


def test_one_that_is_started_and_awaited_is_one():
    found = collectives.partitioned(hlo.read(DIVIDED))
    assert {kind: count for kind, count in found.items() if count} == {
        **{"all_reduce": 1, "all_gather": 1, "collective_permute": 1},
        "bytes": 4 * (4 + 1 + 8 + 4),
    }
