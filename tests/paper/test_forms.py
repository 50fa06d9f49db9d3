"""Excerpts of what compilers make of a program, from the texts that the reference has."""

from stackwars.paper import forms
from stackwars.results.folder import REFERENCE, form


def text(framework: str, name: str) -> str:
    return form(REFERENCE / "cpu" / framework / "elementwise_chain", name)


def cut(framework: str, name: str) -> list[str]:
    return [line for _, line in getattr(forms, name)(text(framework, name))]


def test_a_jaxpr_has_every_equation():
    lines = cut("jax", "jaxpr")
    assert lines[0].startswith("{ lambda ;") and lines[-1].strip() == "in (k,) }"
    assert sum("tanh" in line for line in lines) == 1


def test_an_fx_graph_has_its_nodes_and_not_what_it_frees():
    lines = cut("torch_inductor", "fx_graph")
    assert any("torch.ops.aten.tanh.default(add)" in line for line in lines)
    assert not any("= None" in line or "File:" in line for line in lines)


def test_optimised_hlo_begins_with_the_entry_and_has_every_fused_computation():
    lines = cut("jax", "optimised_hlo")
    assert lines[0].startswith("ENTRY %main")
    heads = [line for line in lines if line.endswith("{")]
    assert len(heads) == 1 + text("jax", "optimised_hlo").count("calls=%")
    assert sum(" tanh(" in line for line in lines) == 1
    assert not any(word in line for line in lines for word in ("metadata", " parameter(", " constant("))


def test_generated_code_has_its_call_and_what_the_kernel_computes():
    lines = cut("torch_inductor", "generated_code")
    assert lines[0].startswith("cpp_fused_") and lines[0].endswith(");")
    assert lines[1] == f"// {lines[0].partition('(')[0]}"
    assert any(".tanh();" in line for line in lines) and lines[-1].startswith("out_ptr0[0L] =")
    assert not any("static_cast<int64_t>" in line or "C10_LIKELY" in line for line in lines)


def test_lines_of_a_kernel_that_are_no_step_are_counted():
    kernel = (
        "    auto tmp0 = a;\n    Helper one;\n    Helper two;\n    {\n    auto tmp1 = b;\n    Helper three;\n"
    )
    code = f"cpp_fused_add_0 = async_compile.cpp_pybinding(['float*'], '''\n{kernel}''')\n"
    assert forms.generated_code(code) == [
        (0, "// cpp_fused_add_0"),
        (1, "auto tmp0 = a;"),
        (1, "// ... 2 lines left out"),
        (1, "auto tmp1 = b;"),
        (1, "// ... 1 line left out"),
    ]
