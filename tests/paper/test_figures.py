"""What the figures draw of small tables: vector, embedded TrueType, the same bytes again."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgba
from PIL import Image
from pypdf import PdfReader

from made_tables import NEW, OLD, cell, class_times, comparison, measured_cell, replay, write_tables
from stackwars.core.hlo import PRODUCTS, TRANSPOSES
from stackwars.core.launch import REPOSITORY
from stackwars.measure.frameworks import title
from stackwars.measure.workloads import load as workload
from stackwars.publish.paper.figures import answer, heat, of_cells, of_compilers, ratios
from stackwars.publish.paper.figures.style import LOOKS, draw_graphs, round_ticks, save
from stackwars.study.comparisons import Comparison
from stackwars.study.config import load
from stackwars.study.results import dataset, schema
from stackwars.study.results.folder import Folder
from stackwars.study.results.runs import REFERENCE

PAIR = Comparison("torch_xla", "jax")
NO_YNN, IREE = "jaxlib-0.10.2-no-ynn", "iree-3.13"
FIGURES = {
    "ratios",
    "calls",
    "stacks",
    "beyond",
    "compilers",
    "stack",
    "split",
    "matrix",
    "releases",
    "products",
    "sizes",
}
STUDIES = ["tables", "stacks", "matrix", "beyond", "releases", "products", "sizes"]


def named(*rows: dict) -> list[dict]:
    return [row | {"title": workload(row["workload"]).TITLE} for row in rows]


def compared(*rows: dict):
    return schema.table("comparisons", named(*rows))


def replayed(name: str, compiler: str, ratio: float, **columns) -> dict:
    return comparison(name, ratio, **{"quantity": "replay", "compiler": compiler, **columns})


def folder_of(path: Path, cells=(), comparisons=(), profiles=()) -> Folder:
    """Return a folder of results with these rows of its tables, without a graph."""
    tables = {"cells": cells, "comparisons": comparisons, "profile": profiles}
    return Folder(write_tables(path, {}, **{name: named(*rows) for name, rows in tables.items()}))


def filled(path: Path) -> Folder:
    """A folder of results with something to draw in every figure."""
    natives = [cell(name, w, steady_ms=2.0) for w in ("mha", "train_mlp") for name in ("jax", "torch_xla")]
    replays = [replay(name, one, "mha", steady_ms=3.0) for name in ("jax", "torch_xla") for one in (OLD, NEW)]
    rows = [comparison("mha", 2.0), replayed("mha", OLD, 1.6), replayed("mha", NEW, 1.1)]
    rows += [comparison("mha", 1.25, quantity=name, compiler=OLD) for name in ("native", "everything else")]
    ms = {PRODUCTS: 2.0, TRANSPOSES: 1.0}
    profiles = [row for name in ("jax", "torch_xla") for row in class_times(name, ms, "mha")]
    files = folder_of(path, natives + replays, rows, profiles)
    for name in ("jax", "torch_xla"):
        home = path / "cpu" / name / "mha"
        home.mkdir(parents=True)
        (home / "cell.json").write_text(json.dumps(measured_cell(name, (2.0, 3.0), workload="mha")))
    return files


def config(**changes) -> dict:
    return {**load(), "measure": STUDIES, **changes}


def pdfs(files: Folder) -> dict[str, bytes]:
    of_cells.write(config(), files)
    of_compilers.write(config(), files)
    return {path.stem: path.read_bytes() for path in files.results.glob("*_figures/*.pdf")}


def words(figure) -> list[str]:
    """Every text of a figure's axes and legends."""
    legends = [text.get_text() for one in figure.legends for text in one.get_texts()]
    return legends + [text.get_text() for axis in figure.axes for text in axis.texts]


def drawn(axis) -> dict[tuple[str, float], object]:
    """{(shape, ratio): its mark} of an axis, without the heads of cut intervals."""
    lines = [one for one in axis.lines if one.get_marker() not in ("None", "", None, "<", ">")]
    return {(one.get_marker(), round(float(one.get_xdata()[0]), 3)): one for one in lines}


def labels(axis) -> list[str]:
    return [label.get_text() for label in axis.get_yticklabels()]


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def test_every_figure_is_a_vector_and_the_same_tables_give_the_same_bytes(tmp_path):
    files = filled(tmp_path)
    first = pdfs(files)
    assert set(first) == FIGURES
    assert first == pdfs(files)
    for pdf in first.values():
        assert b"/CreationDate" not in pdf
        assert b"/FontFile2" in pdf  # TrueType is embedded
        assert b"/Type3" not in pdf and b"/Subtype /Image" not in pdf


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
def test_a_graph_is_drawn_in_the_font_of_the_figures(tmp_path):
    (tmp_path / "small.dot").write_text('digraph { node [fontname="FONT"]; a [label="2\u00d73"]; a -> b }')
    draw_graphs(tmp_path, tmp_path)
    pdf = (tmp_path / "graph-small.pdf").read_bytes()
    assert b"STIXGeneral" in pdf and b"DejaVu" not in pdf and b"/Subtype /Image" not in pdf
    assert "2\u00d73" in PdfReader(tmp_path / "graph-small.pdf").pages[0].extract_text()


def test_tables_without_a_row_still_give_every_figure(tmp_path):
    made = pdfs(folder_of(tmp_path))
    assert set(made) == FIGURES and all(pdf.startswith(b"%PDF") for pdf in made.values())


def test_a_study_that_this_run_did_not_measure_is_drawn_from_the_reference(tmp_path, monkeypatch):
    reference = filled(tmp_path / "reference")
    monkeypatch.setattr(dataset, "REFERENCE_TABLES", reference.results)
    monkeypatch.setattr(dataset, "REFERENCE", reference.results)
    here = folder_of(tmp_path / "run", comparisons=[comparison("gemm", 3.0)])
    for measured, expected in ((["stacks"], "MHA"), (["tables"], "GEMM")):
        figures = of_cells.figures(config(measure=measured), here)
        assert labels(figures["ratios"].axes[0]) == [expected]
    figures = of_cells.figures(config(measure=["stacks"]), here)
    assert [axis.get_title() for axis in figures["calls"].axes if axis.axison] == ["MHA"]


def test_each_compiler_has_a_mark_at_its_ratio_in_the_row_of_the_workload():
    order = [OLD, NEW, NO_YNN, IREE]
    found = {"mha": (1.7, 1.0, 1.6, 0.8), "conv": (1.01, 0.99, 1.02, 1.03)}
    rows = [replayed(w, c, r) for w, values in found.items() for c, r in zip(order, values, strict=True)]
    rows += [replayed("train_mlp", OLD, 1.2), {"quantity": "replay", "workload": "gemm", "compiler": OLD}]
    figure = ratios.draw_compilers(compared(*rows), PAIR, order)
    (axis,) = figure.axes
    expected = {(look["marker"], r) for v in found.values() for look, r in zip(LOOKS, v, strict=True)}
    assert set(drawn(axis)) == expected | {("o", 1.2)}
    assert labels(axis) == ["MHA", "Conv 3x3", "Train MLP"], "a workload without a ratio has no row"
    mark = drawn(axis)["o", 1.7]
    assert round(float(mark.get_ydata()[0])) == 0
    said = words(figure)
    assert said[:4] == ["jaxlib 0.7.1", "jaxlib 0.10.2", "jaxlib 0.10.2 without YNN", "IREE 3.13"]
    assert any("torch_xla's program faster" in text for text in said)
    assert any("JAX's program faster" in text for text in said)
    assert axis.get_xscale() == "log"


def test_an_interval_beyond_the_axis_is_cut_with_a_head():
    wide = comparison("mha", 5.0, error=1.0)
    figure = ratios.draw_ratios(compared(wide, comparison("conv", 2.0)), "jax")
    (axis,) = figure.axes
    low, high = axis.get_xlim()
    assert high == pytest.approx(5.0 * ratios.REACH) and wide["high"] > high
    heads = {
        one.get_marker(): float(one.get_xdata()[0]) for one in axis.lines if one.get_marker() in ("<", ">")
    }
    assert heads == pytest.approx({"<": low, ">": high})
    ends = [max(one.get_xdata()) for one in axis.lines if len(one.get_xdata()) == 2]
    assert max(ends) == pytest.approx(high)


def test_a_claimed_direction_is_filled_and_an_open_one_is_not(tmp_path):
    rows = [comparison("mha", 1.4), comparison("conv", 1.02, verdict="inconclusive")]
    rows += [comparison("resnet50", 1.3, subject="torch_xla_pending"), comparison("mha", 3.0, subject="numpy")]
    rows += [comparison("mha", 4.0, device="cpu-1t"), {"quantity": "steady", "workload": "llama3_8b"}]
    rows[-1] |= {"subject": "torch_xla", "baseline": "jax", "device": "cpu"}
    figure = of_cells.figures(config(), folder_of(tmp_path, comparisons=rows))["ratios"]
    (axis,) = figure.axes
    # Neither NumPy nor one core is drawn.
    assert {ratio for _, ratio in drawn(axis)} == {1.4, 1.02, 1.3}
    fills = {ratio: to_rgba(mark.get_markerfacecolor()) for (_, ratio), mark in drawn(axis).items()}
    assert fills[1.02] == to_rgba("white") and fills[1.4] != to_rgba("white") != fills[1.3]
    said = words(figure)
    assert said[:2] == [title("torch_xla"), title("torch_xla_pending")]
    assert said.count(ratios.NO_RATIO) == 1 and labels(axis)[-1] == "LLaMA-3.1 8B"


def test_a_native_ratio_stands_above_its_factors_in_the_native_compiler(tmp_path):
    rows = [comparison("mha", 2.0, quantity="native", compiler=OLD)]
    rows += [replayed("mha", OLD, 1.6), replayed("mha", NEW, 1.1)]
    rows += [comparison("mha", 1.25, quantity="everything else", compiler=OLD)]
    rows += [comparison("mha", 9.0, subject="torchax")]
    figure = of_compilers.figures(config(), folder_of(tmp_path, comparisons=rows))["split"]
    by_height = sorted(drawn(figure.axes[0]).items(), key=lambda one: float(one[1].get_ydata()[0]))
    assert [ratio for (_, ratio), _ in by_height] == [2.0, 1.6, 1.25]
    assert words(figure)[:3] == list(ratios.FACTORS.values())


def test_every_stack_is_drawn_over_the_best_of_its_workload():
    rows = [cell("jax", "gemm", steady_ms=2.0), cell("numpy", "gemm", steady_ms=5.0)]
    rows += [cell("jax", "conv", steady_ms=3.0), cell("numpy", "conv", status="unsupported")]
    rows += [cell(name, "llama3_8b", status="oom") for name in ("jax", "numpy")]
    (axis,) = heat.draw_stacks(schema.table("cells", named(*rows))).axes
    columns = [label.get_text() for label in axis.get_xticklabels()]
    assert columns == ["GEMM", "Conv 3x3"], "nothing ran of LLaMA"
    assert labels(axis) == ["JAX", "NumPy"]
    assert [text.get_text() for text in axis.texts] == ["1", "1", "2.50", "\N{EN DASH}"]


def test_a_workload_that_no_compiler_slows_down_has_no_panel_and_is_named():
    times = {"gemm": (1.0, 1.2), "mha": (1.0, 4.0)}
    rows = [replay(p, c, w, steady_ms=ms) for w, both in times.items() for p in ("jax", "torch_xla")
            for c, ms in zip((OLD, NEW), both, strict=True)]  # fmt: skip
    figure = heat.draw_matrix(schema.table("cells", named(*rows)))
    shown = [axis for axis in figure.axes if axis.axison]
    assert [axis.get_title() for axis in shown] == ["MHA"]
    assert [text.get_text() for text in shown[0].texts] == ["1", "4.00", "1", "4.00"]
    assert figure.get_suptitle().split("   ")[0] == "a  jaxlib 0.7.1"
    assert figure.get_supxlabel().endswith("nothing above 1.7: GEMM")


def test_a_block_of_calls_stands_at_its_first_call_and_cells_that_failed_are_left_out(tmp_path):
    for name, status in (("jax", "ok"), ("torch_xla", "oom")):
        home = tmp_path / "cpu" / name / "gemm"
        home.mkdir(parents=True)
        (home / "cell.json").write_text(json.dumps(measured_cell(name, (2.0,)) | {"status": status}))
    found = of_cells.read_calls(tmp_path, ["gemm", "conv"], ["jax", "torch_xla"])
    assert set(found.framework) == {"jax"} and set(found.workload) == {"gemm"}
    assert list(found.call) == [1, 2, 3, 4, 5]
    assert list(found.latency_ms) == pytest.approx([100.0, 2.0, 1.0, 2.0, 18.0])


def test_each_panel_of_calls_has_its_own_range():
    made = [("gemm", "jax", number, 5.0 / number) for number in range(1, 301)]
    made += [("conv", framework, number, 7.0) for framework in ("jax", "numpy") for number in (1, 2, 3)]
    columns = ["workload", "framework", "call", "latency_ms"]
    figure = of_cells.draw_calls(pd.DataFrame(made, columns=columns), ["jax", "torch_xla", "numpy"])
    first, second = (axis for axis in figure.axes if axis.axison)
    assert [axis.get_title() for axis in (first, second)] == ["GEMM", "Conv 3x3"]
    assert first.get_xlim()[1] > 300 and second.get_xlim()[1] < 5
    assert len(first.lines) == 1 and len(second.lines) == 2
    assert words(figure) == ["JAX", "NumPy"]


def test_calls_are_of_the_workloads_that_are_asked_for_or_else_of_the_first_that_ran(tmp_path):
    rows = [cell("jax", name, steady_ms=1.0) for name in ("gemm", "ffn", "mha", "conv", "layernorm")]
    rows += [cell("jax", "resnet50", status="oom")]
    data = dataset.Dataset(config(), folder_of(tmp_path, rows).results)

    def chosen(*calls: str) -> list[str]:
        return of_cells.chosen(config(paper=load()["paper"] | {"calls": list(calls)}), data)

    assert chosen("resnet50", "mha") == ["mha"]
    assert chosen("resnet50") == ["gemm", "ffn", "mha", "layernorm"]


def test_the_diagram_has_three_stacks_and_where_a_replay_enters():
    said = words(of_compilers.draw_stack())
    for name in ("jax.jit", "torch_xla", "TorchInductor", "XLA", "IREE", of_compilers.REPLAY):
        assert name in said


def test_looks_differ_in_shape_and_colour():
    assert len({look["marker"] for look in LOOKS}) == len({look["color"] for look in LOOKS}) == len(LOOKS)


def test_titles_are_drawn_as_they_are(tmp_path):
    rows = compared(comparison("mha", 2.0)).assign(title=r"$\input{x}$ & 50 %")
    save(lambda: {"ratios": ratios.draw_ratios(rows, "jax")}, tmp_path)
    assert (tmp_path / "ratios.pdf").read_bytes().startswith(b"%PDF")


def test_ticks_are_round_and_few():
    assert round_ticks(0.7, 2.6, most=7) == pytest.approx([0.7, 1, 1.5, 2])
    assert round_ticks(1, 1000, most=5) == [1, 10, 100, 1000]
    assert len(round_ticks(70, 140, most=5)) >= 2


def test_a_product_has_the_time_and_the_cores_of_each_layout_in_each_compiler():
    times = {("jax", OLD): (5.5, 1.8), ("torch_xla", OLD): (19.1, 1.3), ("jax", NEW): (5.0, 1.9)}
    rows = pd.DataFrame(
        {"product": "128, 768, 3072", "framework": f, "compiler": c, "steady_ms": ms, "cores": cores}
        for (f, c), (ms, cores) in times.items()
    )
    figure = of_compilers.draw_products(rows, PAIR, [OLD, NEW])
    old, new = figure.axes
    assert {x for _, x in drawn(old)} == {5.5, 19.1} and {x for _, x in drawn(new)} == {5.0}
    assert {"1.8", "1.3"} <= {text.get_text() for text in old.texts}
    assert labels(old) == ["128, 768, 3072"]
    assert any("(out, in)" in text for text in words(figure))


def test_the_figure_of_the_readme_shows_the_committed_reference(tmp_path):
    answer.write(tmp_path, REFERENCE)
    with Image.open(REPOSITORY / answer.PICTURE) as committed, Image.open(tmp_path / answer.PICTURE) as drawn:
        is_current = committed.text[answer.NUMBERS] == drawn.text[answer.NUMBERS]
    assert is_current, (
        "docs/answer.png has other numbers; fix: .venv/bin/python -m stackwars.publish.paper.figures.answer"
    )
    assert drawn.text[answer.NUMBERS].count("\n") > 20
