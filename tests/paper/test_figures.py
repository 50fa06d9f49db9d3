"""What the figures draw of small tables: vector, embedded TrueType, the same bytes again."""

import json
import time
from pathlib import Path

import pytest
from matplotlib import pyplot
from matplotlib.collections import QuadMesh
from PIL import Image

from made_tables import NEW, OLD, cell, comparison, measured_cell, replay, write_tables
from made_tables import accepted as accepted_run
from snapshots import assert_snapshot
from stackwars.core.launch import REPOSITORY
from stackwars.measure import workloads
from stackwars.publish.paper.figures import of_cells, of_compilers, ratios, style
from stackwars.study.config import load
from stackwars.study.keys import Config
from stackwars.study.results import dataset
from stackwars.study.results.folder import Folder
from stackwars.study.results.runs import REFERENCE
from stackwars.study.studies import Comparison

PAIR = Comparison("torch_xla", "jax")
NO_YNN, IREE = "jaxlib-0.10.2-no-ynn", "iree-3.13"
FIGURES = (
    "ratios", "calls", "stacks", "beyond", "compilers", "stack", "split", "matrix", "releases", "products", "sizes",
)  # fmt: skip
STUDIES = ["tables", "stacks", "matrix", "beyond", "releases", "products", "sizes"]


def replayed(name: str, compiler: str, ratio: float) -> dict:
    return comparison(name, ratio, quantity="replay", compiler=compiler)


def replays(workload: str, jax: dict[str, float], torch_xla: dict[str, float]) -> list[dict]:
    return [
        replay(name, compiler, workload, steady_ms=ms, cores=ms / 10)
        for name, times in (("jax", jax), ("torch_xla", torch_xla))
        for compiler, ms in times.items()
    ]


CELLS = [
    *(
        cell(name, w, steady_ms=ms)
        for w in ("mha", "train_mlp")
        for name, ms in (("jax", 2.0), ("torch_xla", 5.0))
    ),
    cell("numpy", "mha", status="unsupported"),
    *(cell(name, "conv", steady_ms=3.0) for name in ("jax", "torch_xla")),
    *(cell(name, "llama3_8b", status="oom") for name in ("jax", "numpy")),
    *replays("mha", {OLD: 1.0, NEW: 4.0}, {OLD: 2.0, NEW: 8.0}),
    # No compiler slows it down, so it is named and has no panel.
    *replays("gemm", {OLD: 1.0, NEW: 1.2}, {OLD: 1.0, NEW: 1.2}),
    *replays("linear", {OLD: 5.5, NEW: 5.0}, {OLD: 19.1}),
]
COMPARISONS = [
    comparison("mha", 1.4),
    comparison("conv", 1.02, verdict="inconclusive"),
    comparison("resnet50", 1.3, subject="torch_xla_pending"),
    # Its interval is longer than the axis, and its title is drawn as it is.
    comparison("bert_base", 5.0, error=1.0, title=r"$\input{x}$ & 50 %"),
    # Neither NumPy nor one core is drawn.
    comparison("mha", 3.0, subject="numpy"),
    comparison("mha", 4.0, device="cpu-1t"),
    {**comparison("llama3_8b", 1.0), **dict.fromkeys(("ratio", "low", "high", "verdict"))},
    *(replayed("mha", one, ratio) for one, ratio in ((OLD, 1.7), (NEW, 1.0), (NO_YNN, 1.6), (IREE, 0.8))),
    *(replayed("conv", one, ratio) for one, ratio in ((OLD, 1.01), (NEW, 0.99), (NO_YNN, 1.02), (IREE, 1.03))),
    replayed("train_mlp", OLD, 1.2),
    {**replayed("gemm", OLD, 1.0), **dict.fromkeys(("ratio", "low", "high"))},
    comparison("mha", 2.0, quantity="native", compiler=OLD),
    comparison("mha", 1.25, quantity="everything else", compiler=OLD),
    comparison("mha", 9.0, quantity="native", compiler=OLD, subject="torchax"),
    *(comparison(f"mha@{size}", 1.5) for size in ("b8", "b2s256")),
    replayed("mha@b8", OLD, 1.25),
]
RELEASES = [
    {"project": "jaxlib", "workload": "mha", "framework": framework, "version": version, "status": status, **numbers}
    for framework, version, status, numbers in (
        ("jax", "0.7.1", "ok", {"ratio": 1.0}),
        ("jax", "0.4.30", "ok", {"ratio": 0.5, "low": 0.4, "high": 0.6}),
        ("torch_xla", "0.7.1", "ok", {"ratio": 1.0}),
        ("torch_xla", "0.4.30", "crash", {}),
    )
]  # fmt: skip


def folder_of(path: Path, **tables: list[dict]) -> Folder:
    """Return a folder of results with these rows of its tables, without a graph."""
    named = {
        name: [{"title": workloads.load(row["workload"]).TITLE, **row} for row in rows]
        for name, rows in tables.items()
    }
    return Folder(write_tables(path, {}, **named))


def filled(path: Path) -> Folder:
    """Return a folder of results with something to draw in every figure."""
    files = folder_of(path, cells=CELLS, comparisons=COMPARISONS, releases=RELEASES)
    for workload, name, medians, status in (
        ("mha", "jax", (2.0, 3.0), "ok"),
        ("mha", "torch_xla", (4.0,), "ok"),
        ("conv", "jax", (200.0,), "ok"),
        ("conv", "torch_xla", (2.0,), "oom"),
    ):
        home = path / "cpu" / name / workload
        home.mkdir(parents=True)
        made = measured_cell(name, medians, workload=workload) | {"status": status}
        (home / "cell.json").write_text(json.dumps(made))
    return files


def config(*calls: str, measure: list[str] = STUDIES) -> Config:
    return load(measure=measure, paper=load().paper.changed(calls=list(calls or ("mha", "conv"))))


def pdfs(files: Folder) -> dict[str, bytes]:
    of_cells.write(config(), files)
    of_compilers.write(config(), files)
    return {path.stem: path.read_bytes() for path in files.results.glob("*_figures/*.pdf")}


def described(figure) -> str:
    """Return what a figure shows: its texts, and of each axis the ticks, the marks at their places and the texts."""

    def points(*data) -> str:
        return " ".join(":".join(f"{value:.4g}" for value in point) for point in zip(*data, strict=True))

    legends = [text.get_text() for one in figure.legends for text in one.get_texts()]
    lines = [
        f"legend: {legends}",
        f"around: {[figure.get_suptitle(), figure.get_supxlabel(), figure.get_supylabel()]}",
    ]
    for axis in (one for one in figure.axes if one.axison or one.texts):
        limits = points((*axis.get_xlim(), *axis.get_ylim()))
        lines += ["", f"{axis.get_title()!r} {axis.get_xscale()} {axis.get_yscale()} within {limits}"]
        for side in (axis.xaxis, axis.yaxis):
            lines.append(f"  {side.get_label_text()!r}: {[one.get_text() for one in side.get_ticklabels()]}")
        for one in axis.lines:
            hollow = "hollow " if one.get_markerfacecolor() == "white" else ""
            look = f"{hollow}{one.get_marker()} {one.get_linestyle()} {one.get_color()}"
            lines.append(f"  {look}: {points(one.get_xdata(), one.get_ydata())}")
        for one in axis.collections:
            if isinstance(one, QuadMesh):
                lines.append(f"  shades to {one.norm.vmax:.3g}: {points(one.get_array().filled(0).ravel())}")
            else:
                lines += [f"  band: {points(*path.vertices.T)}" for path in one.get_paths()]
        lines += [f"  text {text.get_text()!r}" for text in axis.texts]
    return "\n".join(line.rstrip() for line in lines)


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def accepted(tmp_path_factory) -> Folder:
    """A reference with other ratios, in a compiler more."""
    rows = [replayed("mha", one, ratio) for one, ratio in ((OLD, 2.5), (NEW, 1.3), (IREE, 0.5))]
    return folder_of(tmp_path_factory.mktemp("accepted"), comparisons=rows)


@pytest.fixture(scope="module", autouse=True)
def reference(accepted):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset, "REFERENCE_TABLES", accepted.results)
        yield


@pytest.fixture(scope="module")
def full(tmp_path_factory) -> Folder:
    return filled(tmp_path_factory.mktemp("full"))


@pytest.fixture(scope="module")
def drawn(full) -> dict[str, str]:
    every = of_cells.figures(config(), full) | of_compilers.figures(config(), full)
    return {name: described(figure) for name, figure in every.items()}


@pytest.mark.parametrize("name", FIGURES)
def test_figure(name, drawn):
    assert_snapshot(f"figure_{name}.txt", drawn[name])


def test_every_figure_is_a_vector_and_the_same_tables_give_the_same_bytes(full):
    first = pdfs(full)
    assert set(first) == set(FIGURES)
    assert first == pdfs(full)
    for pdf in first.values():
        assert b"/CreationDate" not in pdf
        assert b"/FontFile2" in pdf  # TrueType is embedded
        assert b"/Type3" not in pdf and b"/Subtype /Image" not in pdf


def test_tables_without_a_row_still_give_every_figure(tmp_path):
    made = pdfs(folder_of(tmp_path))
    assert set(made) == set(FIGURES) and all(pdf.startswith(b"%PDF") for pdf in made.values())


def test_a_study_that_this_run_did_not_measure_is_drawn_from_the_reference(tmp_path, full, monkeypatch):
    monkeypatch.setattr(dataset, "REFERENCE_TABLES", full.results)
    monkeypatch.setattr(dataset, "REFERENCE", full.results)
    here = folder_of(tmp_path / "run", comparisons=[comparison("gemm", 3.0)])
    for measured, expected in ((["stacks"], "MHA"), (["tables"], "GEMM")):
        figures = of_cells.figures(config(measure=measured), here)
        assert figures["ratios"].axes[0].get_yticklabels()[0].get_text() == expected
    figures = of_cells.figures(config(measure=["stacks"]), here)
    assert [axis.get_title() for axis in figures["calls"].axes if axis.axison] == ["MHA", "Conv 3x3"]


def test_the_figure_of_the_readme_shows_the_committed_reference(tmp_path):
    ratios.write_answer(tmp_path, REFERENCE)
    with Image.open(REPOSITORY / ratios.PICTURE) as committed, Image.open(tmp_path / ratios.PICTURE) as drawn:
        is_current = committed.text[ratios.NUMBERS] == drawn.text[ratios.NUMBERS]
    assert is_current, (
        "docs/answer.png has other numbers; fix: .venv/bin/python -m stackwars.publish.paper.figures.ratios"
    )
    assert drawn.text[ratios.NUMBERS].count("\n") > 20


def test_a_run_is_drawn_over_the_reference_in_the_compilers_that_it_measured(tmp_path):
    run = folder_of(tmp_path, comparisons=[replayed("mha", OLD, 1.7)])
    figure = of_compilers.figures(config(measure=["tables"]), run)["compilers"]
    marks = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert [(line.get_color(), *line.get_xdata()) for line in marks] == [(ratios.BEHIND, 2.5), ("#14213d", 1.7)]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["jaxlib 0.7.1"]
    nothing = folder_of(tmp_path / "nothing")
    figure = of_compilers.figures(config(measure=["tables"]), nothing)["compilers"]
    assert len(figure.legends[0].get_texts()) == 3 and ratios.BEHIND not in described(figure)


def test_sizes_of_the_reference_are_of_the_newest_run_of_the_study_that_has_the_workload(tmp_path, monkeypatch):
    """A ratio pooled over other machines would not fit those at other sizes."""
    made = [
        accepted_run(tmp_path / date, studies=(study,), comparisons=[comparison(name, ratio)])
        for date, study, name, ratio in (
            ("2026-01-01", "sizes", "mha", 4.0),
            ("2026-01-02", "sizes", "mha", 2.0),
            ("2026-01-03", "sizes", "bert_base", 1.5),
            ("2026-01-04", "tables", "mha", 3.0),
        )
    ]
    monkeypatch.setattr(of_compilers.runs, "read", lambda: made)
    write_tables(tmp_path / "reference", {}, comparisons=[comparison("mha", 3.0), comparison("bert_base", 2.0)])
    found = of_compilers.sweeps(dataset.Dataset(load(), tmp_path / "reference", True), PAIR)
    assert set(zip(found["workload"], found["ratio"], strict=True)) == {("MHA", 2.0), ("BERT-Base", 1.5)}


def test_a_graph_has_the_same_bytes_a_second_later(tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "chain.dot").write_text('digraph { graph [fontname="FONT"]; a -> b }')
    bytes_ = []
    for name in ("first", "second"):
        output = tmp_path / name
        output.mkdir()
        style.draw_graphs(texts, output)
        bytes_.append((output / "graph-chain.pdf").read_bytes())
        time.sleep(1.1)
    assert bytes_[0].startswith(b"%PDF")
    assert bytes_[0] == bytes_[1]
