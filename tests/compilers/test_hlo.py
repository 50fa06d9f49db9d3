"""Reading optimised HLO: every number here can be counted in the text."""

from __future__ import annotations

import random
import time

import pytest

from compilers import hlo_texts
from stackwars.compilers import hlo, hlo_work
from stackwars.compilers.hlo_facts import facts

RUNS, PRODUCT = 10, 2 * 8 * 16 * 16


def test_a_loop_runs_as_often_as_its_counter_says() -> None:
    assert hlo.read(hlo_texts.LOOP).trips == {"body": RUNS}


def test_a_trip_count_that_xla_tells_is_taken() -> None:
    assert hlo.read(hlo_texts.KNOWN).trips == {"body": 7}


def test_sums_over_a_program_count_a_body_as_often_as_it_runs() -> None:
    found = facts(hlo_texts.LOOP)
    assert found["flops"] == RUNS * PRODUCT
    assert found["estimated_cycles"] == 50 + RUNS * (272 + 1000)
    array, weight, scalar = 8 * 16 * 4, 16 * 16 * 4, 4
    # The body's copy, and outside it the transpose and the copy of the counter.
    assert found["layout_bytes"] == RUNS * array + array + scalar
    # The prefetch and the transpose read the main memory; nothing else touches it but the counter's
    # scalars: a copy (read, written), and an addition of two to a third in each run.
    in_hbm = weight + array + 2 * scalar + RUNS * 3 * scalar
    assert found["hbm_bytes_accessed"] == in_hbm
    on_chip = weight + array + RUNS * (2 * array + 2 * array + weight)
    assert found["bytes_accessed"] == in_hbm + on_chip


def test_a_loop_without_a_count_gives_no_sums_but_keeps_its_counts() -> None:
    found = facts(hlo_texts.DATA_DEPENDENT)
    assert (found["loops"], found["unknown_loops"]) == (1, 1)
    assert found["flops"] is None
    assert found["bytes_accessed"] is None
    assert found["estimated_cycles"] is None
    assert found["convolutions"] == 1


def test_operations_are_counted_once_wherever_they_stand() -> None:
    found = facts(hlo_texts.LOOP)
    kinds = found["operations_by_kind"]
    assert kinds["copy"] == found["copies"] == 2
    assert found["transposes"] == kinds["transpose"] == 1
    assert found["constants"] == kinds["constant"] == 3
    assert found["instructions"] == sum(kinds.values()) == 4 + 9 + 4 + 11
    assert found["fusions"] == 1
    assert found["fusion_kinds"] == {"kOutput": 1}
    assert found["fused_computations"] == {"convolution": 1}
    assert found["dot_ranks"] == {"2x2->2": 1}
    assert found["depth"] == 1 + 2  # the transpose, then copy and product of the body


def test_a_program_without_estimates_has_no_cycles() -> None:
    text = hlo_texts.entry("%x = f32[4]{0} parameter(0)", "ROOT %y = f32[4]{0} add(%x, %x)")
    assert facts(text)["estimated_cycles"] is None


def test_a_text_that_is_no_module_is_refused() -> None:
    with pytest.raises(ValueError, match="ENTRY"):
        hlo.read("// no optimised HLO")


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ("f32[2,3]{1,0:T(8,128)S(1)}", 24),
        ("bf16[5]{0}", 10),
        ("pred[7]{0}", 7),
        ("s4[3]{0}", 2),
        ("f8e4m3fn[6]{0}", 6),
        ("(f32[2]{0}, u32[]{:S(2)})", 12),
    ],
)
def test_bytes_of_a_shape(shape: str, size: int) -> None:
    text = hlo_texts.entry(f"ROOT %x = {shape} parameter(0)")
    assert hlo.read(text).computations["main"].root.bytes == size


def test_a_dot_counts_its_contracted_extents() -> None:
    text = hlo_texts.entry(
        "%a = f32[4,8,16]{2,1,0} parameter(0)",
        "%b = f32[4,16,32]{2,1,0} parameter(1)",
        "ROOT %c = f32[4,8,32]{2,1,0} dot(%a, %b), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
        "rhs_batch_dims={0}, rhs_contracting_dims={1}",
    )
    assert facts(text)["flops"] == 2 * 4 * 8 * 32 * 16


def test_a_convolution_counts_no_padding_and_no_holes() -> None:
    def flops(window: str, out: int) -> int:
        text = hlo_texts.entry(
            "%x = f32[1,5,3]{2,1,0} parameter(0)",
            "%k = f32[3,3,7]{2,1,0} parameter(1)",
            f"ROOT %y = f32[1,{out},7]{{2,1,0}} convolution(%x, %k), window={{{window}}}, "
            "dim_labels=b0f_0io->b0f",
        )
        return facts(text)["flops"]

    per_position = 2 * 3 * 7
    assert flops("size=3", 3) == 9 * per_position
    assert flops("size=3 pad=1_1", 5) == (3 * 3 + 2 * 2) * per_position
    # Over an input with a hole between any two elements, every other meeting is with a hole.
    assert flops("size=3 lhs_dilate=2", 7) == sum((2, 1, 2, 1, 2, 1, 2)) * per_position


def test_a_slice_of_a_large_array_reads_the_slice() -> None:
    text = """\
HloModule gather

%fused (table: f32[1000,8], row: s32[2]) -> f32[2,8] {
  %table = f32[1000,8]{1,0} parameter(0)
  %row = s32[2]{0} parameter(1)
  ROOT %rows = f32[2,8]{1,0} gather(%table, %row), offset_dims={1}
}

ENTRY %main (a: f32[1000,8], b: s32[2]) -> f32[2,8] {
  %a = f32[1000,8]{1,0} parameter(0)
  %b = s32[2]{0} parameter(1)
  ROOT %out = f32[2,8]{1,0} fusion(%a, %b), kind=kCustom, calls=%fused
}
"""
    rows, indices = 2 * 8 * 4, 2 * 4
    assert facts(text)["bytes_accessed"] == rows + rows + indices


def test_valid_positions_of_a_convolution_are_those_that_trying_finds():
    def tried(size, kernel, out, stride, low, base, dilation):
        reached = (o * stride + k * dilation - low for o in range(out) for k in range(kernel))
        return sum(0 <= at <= (size - 1) * base and at % base == 0 for at in reached)

    drawn = random.Random(1)
    for _ in range(2000):
        window = [drawn.randint(1, 7) for _ in range(7)]
        window[4] -= 3  # low padding may be negative
        assert hlo_work._valid_positions(*window) == tried(*window), window


def test_batched_dot_of_thousands_is_counted_at_once():
    # As a convolution: kernel, dilation and stride - 1 are the batch.
    start = time.perf_counter()
    assert hlo_work._valid_positions(8192, 8192, 8192, 8191, 0, 8192, 1) == 8192
    assert time.perf_counter() - start < 1
