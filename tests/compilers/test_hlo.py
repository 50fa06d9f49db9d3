"""Reading optimised HLO: every number here can be counted in the text."""

from __future__ import annotations

import pytest

from compilers import hlo_texts
from stackwars.compilers import hlo
from stackwars.compilers.hlo_facts import counts, facts

RUNS = 7


def test_a_body_counts_as_often_as_xla_says_that_it_runs() -> None:
    assert hlo.read(hlo_texts.KNOWN).runs == {"main.3": 1, "body": RUNS}
    found = facts(hlo_texts.KNOWN)
    assert found["estimated_cycles"] == 50 + RUNS * (272 + 1000)
    array, scalar = 8 * 16 * 4, 4
    # The body's copy, and outside it the transpose and the copy of the counter.
    assert found["layout_bytes"] == RUNS * array + array + scalar


def test_a_loop_of_which_xla_tells_no_count_gives_no_sums() -> None:
    found = facts(hlo_texts.LOOP)
    assert found["layout_bytes"] is found["estimated_cycles"] is None
    assert found["depth"] == 1 + 2  # the transpose, then copy and product of the body


def test_operations_are_counted_once_wherever_they_stand() -> None:
    kinds = facts(hlo_texts.LOOP)["operations_by_kind"]
    assert (kinds["copy"], kinds["transpose"], kinds["constant"]) == (2, 1, 3)
    assert (kinds["fusion"], kinds["convolution"]) == (1, 1)
    assert sum(kinds.values()) == 4 + 9 + 4 + 11


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


def test_what_ynn_computes_is_told_from_xla_s_own_fusions_and_from_other_calls() -> None:
    text = hlo_texts.LOOP.replace(
        "kind=kOutput, calls=%fused, backend_config={",
        'kind=kCustom, calls=%fused, backend_config={"fusion_config":{"kind":"__ynn_fusion"},',
    ).replace("transpose(%Arg_0.1)", 'custom-call(%Arg_0.1), custom_call_target="TopK"')
    assert counts(text) == {
        "fusions": 1, "products": 1, "ynn": 1, "library_calls": 1, "transposes": 0, "copies": 2,
    }  # fmt: skip
    assert counts(hlo_texts.LOOP)["ynn"] == 0
