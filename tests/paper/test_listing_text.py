"""Listings as text: cut forms of compilers, and figures of two columns."""

import pytest

from snapshots import assert_snapshot
from stackwars.publish.paper import listings
from stackwars.study.results.folder import REFERENCE, form


def text(framework: str, name: str) -> str:
    return form(REFERENCE / "cpu" / framework / "elementwise_chain", name)


def cut(framework: str, name: str) -> list[str]:
    return [line for _, line in listings.FORMS[name](text(framework, name))]


def test_stablehlo_keeps_every_line_and_its_depth_and_no_values_of_large_constants():
    values = "0x" + "00" * 64
    program = f"""module {{
  func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {{
    %c = stablehlo.constant dense<"{values}"> : tensor<16xf32>
    %one = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>

    return %arg0 : tensor<2xf32>
  }}
}}
"""
    assert listings.stablehlo(program) == [
        (0, "module {"),
        (1, "  func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {"),
        (2, "    %c = stablehlo.constant dense<...> : tensor<16xf32>"),
        (2, "    %one = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>"),
        (2, "    return %arg0 : tensor<2xf32>"),
        (1, "  }"),
        (0, "}"),
    ]


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
    assert listings.generated_code(code) == [
        (0, "// cpp_fused_add_0"),
        (1, "auto tmp0 = a;"),
        (1, "// ... 2 lines left out"),
        (1, "auto tmp1 = b;"),
        (1, "// ... 1 line left out"),
    ]


def test_a_figure_has_its_listings_below_and_beside_each_other():
    """A listing is verbatim; titles and captions are escaped."""
    columns = [[("JAX", ["%0 = a_b"]), ("two", ["2"])], [("torch_xla", ["}"])]]
    assert_snapshot("listing.tex", listings.figure(columns, "50 % of {...}", "ffn"))


def test_more_characters_are_smaller_and_so_more_lines():
    assert listings.page_lines(62) < listings.page_lines(76) < 100
    # The font grows no further than 8 pt.
    assert listings.page_lines(40) == listings.page_lines(50)


def test_text_that_would_end_the_listing_is_refused():
    with pytest.raises(ValueError, match="fix: rename"):
        listings.environment([r"call @\end{lstlisting}"])
