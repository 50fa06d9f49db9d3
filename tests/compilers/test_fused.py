"""What a kernel computes together with others: by the texts of XLA and of TorchInductor."""

import pytest

from stackwars.compilers.op_classes import APART, FUSED, IN_PART, fused_by_inductor, fused_by_xla

HLO = """HloModule jit_f

%add_them (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b), metadata={op_name="jit(f)/reduce_sum"}
}

%fused (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %two = f32[8]{0} multiply(%p, %p), metadata={op_name="jit(f)/square"}
  %more = f32[8]{0} add(%two, %p), metadata={op_name="jit(f)/add"}
  ROOT %last = f32[8]{0} tanh(%more), metadata={op_name="jit(f)/jit(inner)/tanh"}
}

%alone (p.1: f32[8], p.2: f32[8]) -> f32[8] {
  %p.1 = f32[8]{0} parameter(0)
  %p.2 = f32[8]{0} parameter(1)
  ROOT %only = f32[8]{0} add(%p.1, %p.2), metadata={op_name="jit(f)/add"}
}

%called (q: f32[8]) -> f32[8] {
  %q = f32[8]{0} parameter(0)
  ROOT %in_call = f32[8]{0} fusion(%q), kind=kLoop, calls=%fused
}

ENTRY %main (x: f32[8], w: f32[8,8]) -> f32[] {
  %x = f32[8]{0} parameter(0), metadata={op_name="x"}
  %w = f32[8,8]{1,0} parameter(1)
  %zero = f32[] constant(0)
  %dot = f32[8]{0} dot(%x, %w), metadata={op_name="jit(f)/dot_general"}
  %first = f32[8]{0} call(%dot), to_apply=%called
  %second = f32[8]{0} fusion(%first, %x), kind=kLoop, calls=%alone
  %tree = f32[2]{0} reduce-window(%second, %zero), window={size=4 stride=4}, to_apply=%add_them
  ROOT %result = f32[] reduce(%tree, %zero), dimensions={0}, to_apply=%add_them
}
"""
GRAPH = """class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[8]"):
        permute: "f32[8, 8]" = torch.ops.aten.permute.default(arg1_1, [1, 0])
        addmm: "f32[8, 8]" = torch.ops.aten.addmm.default(arg0_1, arg2_1, permute)
        add: "f32[8]" = torch.ops.aten.add.Tensor(addmm, 1)
        add_1: "f32[8]" = torch.ops.aten.add.Tensor(add, 1);  add = None
        tanh: "f32[8]" = torch.ops.aten.tanh.default(add_1);  add_1 = None
        var_mean = torch.ops.aten.var_mean.correction(tanh, [0], correction = 0)
"""


def kernels(*names: str) -> str:
    return "".join(f"cpp_fused_{n}_{i} = async_compile.cpp(...)\n" for i, n in enumerate(names))


def test_an_instruction_of_xla_is_fused_where_its_fusion_computes_another_kind_too():
    found = fused_by_xla(HLO)
    assert found == {
        "add": IN_PART, "product": APART, "square": FUSED, "sum": APART, "tanh": FUSED
    }  # fmt: skip


def test_a_node_of_inductor_is_fused_where_its_kernel_computes_another_kind_too():
    one = fused_by_inductor(GRAPH, kernels("add_add_1_tanh_var_mean"))
    assert one == {"add": FUSED, "product": APART, "sum": FUSED, "tanh": FUSED}
    two = fused_by_inductor(GRAPH, kernels("add", "permute_add_1_tanh", "var_mean"))
    assert two == {"add": IN_PART, "product": APART, "sum": APART, "tanh": FUSED}


def test_adds_alone_are_not_fused_with_another_kind():
    assert fused_by_inductor(GRAPH, kernels("add_add_1", "tanh"))["add"] == APART


def test_a_text_without_operations_is_refused():
    with pytest.raises(ValueError, match="FX graph with nodes"):
        fused_by_inductor("", "")
    with pytest.raises(ValueError, match="ENTRY"):
        fused_by_xla("")
