"""The class of an operation follows from what it holds."""

from __future__ import annotations

import pytest

from compilers import hlo_texts
from stackwars.compilers import hlo, op_classes
from stackwars.compilers.op_classes import class_of

BODIES = """\
HloModule bodies

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %add = f32[] add(%a, %b)
}

%of_product (p: f32[8,8]) -> f32[8,8] {
  %p = f32[8,8]{1,0} parameter(0)
  %dot = f32[8,8]{1,0} dot(%p, %p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %zero = f32[] constant(0)
  %total = f32[8]{0} reduce(%dot, %zero), dimensions={1}, to_apply=%sum
  ROOT %wide = f32[8,8]{1,0} broadcast(%total), dimensions={0}
}

%of_reduction (p.1: f32[8,8]) -> f32[8] {
  %p.1 = f32[8,8]{1,0} parameter(0)
  %double = f32[8,8]{1,0} add(%p.1, %p.1)
  %zero.1 = f32[] constant(0)
  ROOT %total.1 = f32[8]{0} reduce(%double, %zero.1), dimensions={1}, to_apply=%sum
}

%of_moves (p.2: f32[8,8]) -> f32[8,8] {
  %p.2 = f32[8,8]{1,0} parameter(0)
  %bitcast = f32[8,8]{0,1} bitcast(%p.2)
  %turned = f32[8,8]{0,1} transpose(%bitcast), dimensions={1,0}
  ROOT %copied = f32[8,8]{1,0} copy(%turned)
}

%of_more (p.3: f32[8,8]) -> f32[8,8] {
  %p.3 = f32[8,8]{1,0} parameter(0)
  %turned.1 = f32[8,8]{0,1} transpose(%p.3), dimensions={1,0}
  ROOT %sum.1 = f32[8,8]{1,0} add(%turned.1, %p.3)
}

%parallel (p.4: f32[8,8]) -> f32[8,8] {
  %p.4 = f32[8,8]{1,0} parameter(0)
  ROOT %inner = f32[8,8]{1,0} fusion(%p.4), kind=kLoop, calls=%of_moves
}

ENTRY %main (x: f32[8,8]) -> f32[8,8] {
  %x = f32[8,8]{1,0} parameter(0)
  %product = f32[8,8]{1,0} fusion(%x), kind=kCustom, calls=%of_product, \
backend_config={"fusion_config":{"kind":"__ynn_fusion"}}
  %reduction = f32[8]{0} fusion(%x), kind=kLoop, calls=%of_reduction
  %moves = f32[8,8]{1,0} fusion(%x), kind=kLoop, calls=%of_moves
  %more = f32[8,8]{1,0} fusion(%x), kind=kLoop, calls=%of_more
  %called = f32[8,8]{1,0} call(%x), to_apply=%parallel
  %alone = f32[8,8]{1,0} tanh(%x)
  %copy = f32[8,8]{1,0} copy(%x)
  %multiplied = f32[8,8]{1,0} custom-call(%x), custom_call_target="__onednn$matmul"
  %normed = f32[8,8]{1,0} custom-call(%x), custom_call_target="__onednn$layernorm"
  %other = f32[8,8]{1,0} custom-call(%x), custom_call_target="TopK"
  ROOT %fourier = f32[8,8]{1,0} fft(%x), fft_type=FFT, fft_length={8}
}
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    {
        "product": "products",
        "reduction": "reductions",
        "moves": "transposes",
        "more": "elementwise",
        "called": "transposes",
        "alone": "elementwise",
        "copy": "transposes",
        "multiplied": "products",
        "normed": "reductions",
        "other": "library",
        "fourier": "library",
    }.items(),
)
def test_the_class_is_of_the_work_in_the_operation(name: str, expected: str) -> None:
    module = hlo.read(BODIES)
    assert class_of(module, module.computations["main"].instructions[name]) == expected


def test_a_loop_s_own_work_is_dispatch_and_it_calls_what_its_body_holds() -> None:
    module = hlo.read(hlo_texts.LOOP)
    assert class_of(module, module.computations["main.3"].instructions["while"]) == "dispatch"
    callers = op_classes.callers(module)
    assert callers["product"] == callers["compare.0"] == "while"
    assert "transposed" not in callers
    assert "convolution.3" not in callers  # in a fusion
