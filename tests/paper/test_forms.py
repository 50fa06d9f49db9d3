"""Excerpts of what compilers make of a program, from the texts that the reference has."""

import pytest

from stackwars.paper import forms
from stackwars.results.folder import REFERENCE
from stackwars.results.forms import form


def cut(framework: str, workload: str, name: str) -> list[str]:
    text = form(REFERENCE / "cpu" / framework / workload, name)
    return [line for _, line in getattr(forms, name)(text)]


def test_a_jaxpr_has_every_equation_in_one_line():
    lines = cut("jax", "layernorm", "jaxpr")
    assert lines[0].startswith("{ lambda ;") and lines[-1].strip() == "in (bd,) }"
    assert any("jit[name=_var, ...] c 0:i32[]" in line for line in lines)
    assert sum("rsqrt" in line for line in lines) == 1
    assert not any("select_n" in line for line in lines), "an inner jaxpr is one equation"


def test_an_fx_graph_has_its_nodes_and_not_what_it_frees():
    lines = cut("torch_inductor", "layernorm", "fx_graph")
    assert any("torch.ops.aten.var_mean.correction(" in line for line in lines)
    assert not any("= None" in line or "File:" in line for line in lines)


@pytest.mark.parametrize("workload", ["ffn", "layernorm", "elementwise_chain"])
def test_optimised_hlo_begins_with_the_entry_and_has_every_fused_computation(workload):
    text = form(REFERENCE / "cpu" / "jax" / workload, "optimised_hlo")
    lines = cut("jax", workload, "optimised_hlo")
    assert lines[0].startswith("ENTRY %main")
    heads = [line for line in lines if line.endswith("{")]
    assert len(heads) == 1 + text.count("calls=%")
    assert not any("metadata" in line or " parameter(" in line for line in lines)


def test_instructions_of_one_primitive_are_counted_and_not_shown():
    lines = cut("jax", "ffn", "optimised_hlo")
    text = form(REFERENCE / "cpu" / "jax" / "ffn", "optimised_hlo")
    [told] = [line for line in lines if "instructions left out" in line]
    steps = [
        line
        for line in text.splitlines()
        if "/erfc" in line and " broadcast(" not in line and " constant(" not in line
    ]
    assert int(told.split()[2]) == len(steps) - 2


def test_generated_code_has_its_calls_and_what_each_kernel_computes():
    lines = cut("torch_inductor", "ffn", "generated_code")
    assert sum(line.startswith("extern_kernels.addmm(") for line in lines) == 2
    [kernel] = [line for line in lines if line.startswith("// cpp_fused_")]
    assert lines.index(kernel) > 2
    assert any(".erf();" in line for line in lines) and any(".store(" in line for line in lines)
    assert not any("static_cast<int64_t>" in line or "C10_LIKELY" in line for line in lines)
