"""Listings as text: cut forms of compilers, figures of two columns, and drawings."""

import gzip
import re
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from measured import config
from snapshots import assert_snapshot
from stackwars.core.layout import LEFT_OUT
from stackwars.publish.paper import listings
from stackwars.publish.paper.listings import CHARACTERS, PAGE_LINES
from stackwars.study.cells import Cell
from stackwars.study.config import load
from stackwars.study.programs import Program
from stackwars.study.results.folder import REFERENCE, Folder, form

FIXTURES = Path(__file__).parents[1] / "ir" / "fixtures"


def form_text(framework: str, name: str) -> str:
    return form(REFERENCE / "cpu" / framework / "elementwise_chain", name)


def cut(framework: str, name: str) -> list[str]:
    return [line for _, line in listings.FORMS[name](form_text(framework, name))]


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


@pytest.mark.parametrize(
    ("framework", "name", "start", "once", "without"),
    [
        ("jax", "jaxpr", "{ lambda ;", "tanh", ()),
        ("torch_inductor", "fx_graph", "class <lambda>", "aten.tanh.default(add)", ("= None", "File:")),
        ("jax", "optimised_hlo", "ENTRY %main", " tanh(", ("metadata", " parameter(", " constant(")),
        ("torch_inductor", "generated_code", "cpp_fused_", ".tanh();", ("static_cast<int64_t>", "C10_LIKELY")),
    ],
)
def test_a_form_is_cut_to_its_operations(framework, name, start, once, without):
    lines = cut(framework, name)
    assert lines[0].startswith(start) and sum(once in line for line in lines) == 1
    assert not [line for line in lines if any(word in line for word in without)]


def test_optimised_hlo_has_every_fused_computation():
    heads = [line for line in cut("jax", "optimised_hlo") if line.endswith("{")]
    assert len(heads) == 1 + form_text("jax", "optimised_hlo").count("calls=%")


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


def test_text_that_would_end_the_listing_is_refused():
    with pytest.raises(ValueError, match="fix: rename"):
        listings.environment([r"call @\end{lstlisting}"])


# In the jax environment.


def run(folder: Path, texts: dict[Cell | Program, str], **changes) -> dict[str, str]:
    """Return the listings by name, and the drawings as `<name>.dot`, from what cells and programs have as text."""
    for one, text in texts.items():
        name = "stablehlo.mlir.gz" if isinstance(one, Cell) else "program.mlir.gz"
        (folder / one.path).mkdir(parents=True, exist_ok=True)
        (folder / one.path / name).write_bytes(gzip.compress(text.encode()))
    paper = {"listings": ["ffn_relu", "mha", "layernorm"], "graphs": ["ffn_relu", "layernorm"]}
    paper |= {"forms": ["elementwise_chain"], "forms_of": ["jax", "torch_inductor"]}
    workloads = [*paper["listings"], *paper["forms"]]
    asked = config(workloads=workloads, preset="full", paper=paper, **changes)
    listings.write(asked, Folder(folder))
    written = {path.stem: path.read_text() for path in (folder / "listings").glob("*.tex")}
    return {**written, **{path.name: path.read_text() for path in (folder / "graphs").glob("*.dot")}}


def blocks(figure: str) -> list[str]:
    return re.findall(r"(?s)\\begin{lstlisting}.*?\n(.*?)\\end", figure)


def text(workload: str, framework: str) -> str:
    return (FIXTURES / f"{workload}_{framework}.mlir").read_text()


@pytest.mark.env
def test_listings_and_graphs_of_a_run(tmp_path):
    cells = {
        Cell(framework, workload, "cpu"): text(workload, framework)
        for workload in ("mha", "layernorm")
        for framework in ("jax", "torch_xla")
    }
    cells[Cell("torch_xla", "mha", "cpu")] = "// no program: oom, refused at build\n"
    programs = {Program(f, "layernorm"): text("layernorm", f) for f in ("torch_xla", "jax")}
    written = run(tmp_path, cells | programs)
    drawing = written.pop("layernorm.dot")
    assert (
        drawing.index('label="JAX"') < drawing.index('label="torch_xla"') and "batch_norm_training" in drawing
    )
    assert set(written) == {"style", "mha", "layernorm"}, "a program that was not measured is left out"
    assert [len(blocks(written[name])) for name in ("mha", "layernorm")] == [2, 2]
    lines = [
        line for name in ("mha", "layernorm") for block in blocks(written[name]) for line in block.splitlines()
    ]
    assert max(map(len, lines)) <= CHARACTERS
    assert "// no program: oom, refused at build" in written["mha"]
    assert "from the programs of this run" in written["mha"]


@pytest.mark.env
def test_what_a_run_does_not_measure_is_of_the_reference(tmp_path):
    written = run(tmp_path, {}, measure=["beyond"], frameworks=load().frameworks)
    drawings = {"ffn_relu.dot", "layernorm.dot"}
    assert set(written) == {"style", "ffn_relu", "mha", "layernorm", "forms-elementwise_chain"} | drawings
    assert all("the reference" in written[name] for name in ("ffn_relu", "forms-elementwise_chain"))
    assert "FFN (ReLU), which the original shows too: the whole program." in written["ffn_relu"]


@pytest.mark.env
def test_the_forms_of_two_compilers_are_whole_and_fit_a_page(tmp_path):
    for framework in ("jax", "torch_inductor"):
        folder = tmp_path / "cpu" / framework / "elementwise_chain"
        shutil.copytree(REFERENCE / folder.relative_to(tmp_path), folder)
    figure = run(tmp_path, {}, measure=["stacks"], frameworks=load().frameworks)["forms-elementwise_chain"]
    assert "in this run" in figure and LEFT_OUT not in figure
    found = blocks(figure)
    starts = ["{ lambda", "// {...} stands", "ENTRY", "class <lambda>", "cpp_fused_"]
    assert all(block.startswith(start) for block, start in zip(found, starts, strict=True))
    assert "stablehlo.tanh" in found[1]
    for column in (found[:3], found[3:]):
        lines = [line for block in column for line in block.splitlines()]
        assert max(map(len, lines)) <= CHARACTERS and len(lines) <= PAGE_LINES


@pytest.mark.env
def test_a_program_that_is_cut_short_is_not_called_whole(tmp_path):
    of = "tensor<4xf32>"
    names = ["%arg0", *(f"%{n}" for n in range(200))]
    lines = [f"  {b} = stablehlo.abs {a} : {of}" for a, b in pairwise(names)]
    head = f"func.func public @main(%arg0: {of}) -> {of} {{"
    long = "\n".join([head, *lines, f"  return {names[-1]} : {of}", "}"])
    made = run(tmp_path, {Cell(name, "ffn_relu", "cpu"): long for name in ("jax", "torch_xla")})["ffn_relu"]
    assert "the original shows too: the beginning of the program." in made and LEFT_OUT in made
