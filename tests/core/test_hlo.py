"""Reading optimised HLO: every number here can be counted in the text."""

import pytest

from stablehlo import hlo_texts
from stackwars.core import hlo
from stackwars.core.hlo import class_of, counts, facts

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


def test_a_program_without_estimates_has_no_cycles_and_a_text_that_is_no_module_is_refused() -> None:
    text = hlo_texts.entry("%x = f32[4]{0} parameter(0)", "ROOT %y = f32[4]{0} add(%x, %x)")
    assert facts(text)["estimated_cycles"] is None
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
    assert hlo.read(text).computations["main"].instructions["x"].bytes == size


def test_what_ynn_computes_is_told_from_xla_s_own_fusions_and_from_other_calls() -> None:
    text = hlo_texts.LOOP.replace(
        "kind=kOutput, calls=%fused, backend_config={",
        'kind=kCustom, calls=%fused, backend_config={"fusion_config":{"kind":"__ynn_fusion"},',
    ).replace("transpose(%Arg_0.1)", 'custom-call(%Arg_0.1), custom_call_target="TopK"')
    assert counts(text) == {
        "fusions": 1, "products": 1, "ynn": 1, "library_calls": 1, "transposes": 0, "copies": 2,
    }  # fmt: skip
    assert counts(hlo_texts.LOOP)["ynn"] == 0


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


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (hlo.emitted_collectives(EMITTED), {"all_reduce": 1, "all_gather": 1, "bytes": 4 * (8 * 16 + 16 * 16)}),
        # A collective that is started and awaited is one.
        (
            hlo.partitioned_collectives(hlo.read(DIVIDED)),
            {"all_reduce": 1, "all_gather": 1, "collective_permute": 1, "bytes": 4 * (4 + 1 + 8 + 4)},
        ),
    ],
)
def test_collectives_and_the_bytes_of_their_results(found, expected) -> None:
    assert {kind: count for kind, count in found.items() if count} == expected


FUSED = {
    "of_product": ("dot(%p, %p), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
                   "reduce(%1, %p), dimensions={1}, to_apply=%sum", "broadcast(%2), dimensions={0}"),
    "of_reduction": ("add(%p, %p)", "reduce(%1, %p), dimensions={1}, to_apply=%sum"),
    "of_moves": ("bitcast(%p)", "transpose(%1), dimensions={1,0}", "copy(%2)"),
    "of_more": ("transpose(%p), dimensions={1,0}", "add(%1, %p)"),
    "parallel": ("fusion(%p), kind=kLoop, calls=%of_moves",),
}  # fmt: skip
"""{computation: its operations, which have the numbers 1, 2, ...}. All arrays have one shape here."""
OPERATIONS = {
    "product": 'fusion(%x), kind=kCustom, calls=%of_product, backend_config={"fusion_config":{"kind":"__ynn_fusion"}}',
    "reduction": "fusion(%x), kind=kLoop, calls=%of_reduction",
    "moves": "fusion(%x), kind=kLoop, calls=%of_moves",
    "more": "fusion(%x), kind=kLoop, calls=%of_more",
    "called": "call(%x), to_apply=%parallel",
    "alone": "tanh(%x)",
    "copy": "copy(%x)",
    "multiplied": 'custom-call(%x), custom_call_target="__onednn$matmul"',
    "normed": 'custom-call(%x), custom_call_target="__onednn$layernorm"',
    "other": 'custom-call(%x), custom_call_target="TopK"',
    "fourier": "fft(%x), fft_type=FFT, fft_length={8}",
}


def bodies() -> str:
    """Return a module with these computations, and these operations in its entry."""
    fused = {name: enumerate(("parameter(0)", *lines)) for name, lines in FUSED.items()}
    computations = ["%sum (p: f32[]) -> f32[] {\n  ROOT %p = f32[] parameter(0)\n}"]
    for name, lines in fused.items():
        body = "".join(f"  %{number or 'p'} = f32[8,8]{{1,0}} {line}\n" for number, line in lines)
        computations.append(f"%{name} (p: f32[8,8]) -> f32[8,8] {{\n{body}}}")
    entry = "".join(f"  %{name} = f32[8,8]{{1,0}} {line}\n" for name, line in OPERATIONS.items())
    computations.append(
        f"ENTRY %main (x: f32[8,8]) -> f32[8,8] {{\n  %x = f32[8,8]{{1,0}} parameter(0)\n{entry}}}"
    )
    return "\n\n".join(("HloModule bodies", *computations))


CLASSES = {
    "products": ("product", "multiplied"), "reductions": ("reduction", "normed"), "library": ("other", "fourier"),
    "transposes": ("moves", "called", "copy"), "elementwise": ("more", "alone"),
}  # fmt: skip


def test_the_class_is_of_the_work_in_the_operation() -> None:
    module = hlo.read(bodies())
    operations = module.computations["main"].instructions
    for expected, names in CLASSES.items():
        assert {name: class_of(module, operations[name]) for name in names} == dict.fromkeys(names, expected)


def test_a_loop_s_own_work_is_dispatch_and_it_calls_what_its_body_holds() -> None:
    module = hlo.read(hlo_texts.LOOP)
    assert class_of(module, module.computations["main.3"].instructions["while"]) == "dispatch"
    callers = hlo.callers(module)
    assert callers["product"] == callers["compare.0"] == "while"
    assert "transposed" not in callers
    assert "convolution.3" not in callers  # in a fusion
