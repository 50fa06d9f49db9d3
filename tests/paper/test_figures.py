"""Figures from synthetic results: vector, embedded TrueType, the same bytes again."""

from __future__ import annotations

import pandas
import pytest
from matplotlib import pyplot

import claims_fixture
import drawn
import paper_fixture
from stackwars.findings.growth import growth_findings
from stackwars.frameworks import title
from stackwars.paper.figures.calls import draw_calls
from stackwars.paper.figures.files import literal
from stackwars.paper.figures.growth import draw_growth
from stackwars.paper.figures.headline import draw_headline
from stackwars.paper.figures.of_cells import shown
from stackwars.paper.figures.op_times import OFF, draw_op_times
from stackwars.paper.figures.rows import draw_ratios
from stackwars.paper.figures.split import draw_split
from stackwars.paper.figures.verdicts import draw_verdicts
from stackwars.paper.style import OPERATION_LOOKS, round_ticks
from stackwars.results import growth
from stackwars.results.folder import FIGURES, Folder
from stackwars.results.read_cells import read_calls, read_frame, read_ratios
from stackwars.results.read_compilers import read_op_times, read_split
from stackwars.study.comparisons import Comparison
from stackwars.study.config import load

NAMES = ("stacks", "calls", "ratio", "memory", "op_times", "matrix", "stacks_over_best", "split")
NAMES += ("beyond_over_best", "growth", "headline", "calls_chosen", "stacks_steady")
NAMES += ("beyond_steady", "verdicts", "op_times_chosen")


def figures_of(folder) -> dict[str, bytes]:
    claims_fixture.decide(folder)
    drawn.draw(load(), Folder(folder))
    paths = [path for name in FIGURES for path in (folder / name).iterdir()]
    return {path.stem: path.read_bytes() for path in paths}


def test_the_same_results_give_the_same_bytes(tmp_path):
    paper_fixture.write(tmp_path, "two_subjects")
    first = figures_of(tmp_path)
    assert first == figures_of(tmp_path)
    assert set(first) == {*NAMES, "split-torch_xla_pending"}
    for pdf in first.values():
        assert b"/CreationDate" not in pdf
        assert b"/FontFile2" in pdf  # TrueType is embedded
        assert b"/Type3" not in pdf
        assert b"/Subtype /Image" not in pdf  # vector, not a bitmap


@pytest.mark.parametrize("variant", ["nothing", "single", "one_failed"])
def test_missing_results_still_give_every_figure(tmp_path, variant):
    paper_fixture.write(tmp_path, variant)
    made = figures_of(tmp_path)
    assert set(made) == set(NAMES)
    assert all(pdf.startswith(b"%PDF") for pdf in made.values())


def test_the_figure_of_a_split_has_one_subject(tmp_path):
    files = Folder(paper_fixture.write(tmp_path, "two_subjects"))
    split = read_split(files["split"])
    for subject in ("torch_xla", "torch_xla_pending"):
        figure = draw_split(split, Comparison(subject, "jax"))
        drawn = {float(x) for line in figure.axes[1].lines for x in line.get_xdata()}
        own = split.framework == subject
        assert set(split[own].ir_ratio.dropna()) <= drawn
        assert not set(split[~own].ir_ratio) & drawn
        assert title(subject) in figure.axes[1].get_xlabel()
        pyplot.close(figure)


def test_a_study_without_programs_has_an_empty_figure_of_operations(tmp_path):
    table = read_op_times(Folder(paper_fixture.write(tmp_path))["op_times"])
    first = draw_op_times(table, []).axes[0]
    assert "no program was profiled" in [text.get_text() for text in first.texts]
    assert not first.patches


def test_the_bars_of_a_program_sum_to_its_time_over_the_baselines(tmp_path):
    table = read_op_times(Folder(paper_fixture.write(tmp_path))["op_times"])
    figure = draw_op_times(table, ["jax", "torch_xla"])
    old = table[table.compiler == "jaxlib-0.7.1"].groupby(["workload", "framework"], sort=False).ms
    whole = old.sum()
    axis = figure.axes[0]
    ends: dict[float, float] = {}
    for bar in axis.patches:
        middle = round(bar.get_y() + bar.get_height() / 2, 3)
        ends[middle] = max(ends.get(middle, 0.0), bar.get_x() + bar.get_width())
    expected = [ms / whole[workload, "jax"] for (workload, _), ms in whole.items()]
    assert list(ends.values()) == pytest.approx(expected)
    assert len(axis.patches) == len(OPERATION_LOOKS) * len(expected)
    labels = [label.get_text() for label in axis.get_yticklabels()]
    assert labels[:2] == [f"GEMM,  {title('jax')}", title("torch_xla")]
    # One program's classes do not add up.
    assert [text.get_text() for text in axis.texts].count(OFF) == 1
    pyplot.close(figure)


def test_a_claimed_direction_is_filled_and_an_open_one_is_not(tmp_path):
    paper_fixture.write(tmp_path)
    files = Folder(tmp_path)
    figure = draw_ratios(read_frame(files["frame"]), read_ratios(files["ratios"]))
    marks = [line for line in figure.axes[0].lines if line.get_marker() not in ("None", "", None)]
    at = {round(float(line.get_xdata()[0]), 3): line.get_markerfacecolor() for line in marks}
    assert len(marks) == 16 + 6
    assert at[1.02] == at[1.01] == "white"
    assert at[1.31] != "white"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        *("torch_xla", "torch_xla (pending)", "torch_xla, one core"),
    ]
    pyplot.close(figure)


def test_the_legend_of_growth_has_the_frameworks_of_every_panel_once():
    series = [("decode", "jax"), ("attention_window", "jax"), ("attention_window", "torch_xla")]
    what = {"status": "ok", "size": "layers"}
    rows = [
        {**what, "workload": w, "title": w, "framework": f, "value": v, "compile_cost_ms": 1e3 * v}
        for w, f in series
        for v in (1, 2, 4)
    ]
    shapes = pandas.DataFrame(columns=list(growth.SHAPES))
    rows = pandas.DataFrame(rows).assign(run="", here=True)
    figure = draw_growth(rows, growth_findings(rows, shapes))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["JAX", "torch_xla"]
    pyplot.close(figure)


def test_a_panel_is_drawn_for_each_workload_that_is_asked_for(tmp_path):
    files = Folder(paper_fixture.write(tmp_path))
    frame, calls = read_frame(files["frame"]), read_calls(files["calls"])
    figure = draw_calls(frame, calls, ["layernorm", "gemm", "not in the grid"])
    shown = [axis.get_title() for axis in figure.axes if axis.get_visible()]
    assert shown == ["GEMM", "LayerNorm"]
    pyplot.close(figure)


def test_the_headline_s_bars_are_the_shares_and_fill_the_axis(tmp_path):
    effects = pandas.read_csv(paper_fixture.write(tmp_path) / "matrix_effects.csv")
    titles = {name: name for name in effects.workload.unique() if name != "all"}
    figure = draw_headline(effects, titles)
    bars = figure.axes[0].patches
    assert len(bars) == 3 * (len(titles) + 1)
    parts = effects[effects.workload == "all"].set_index("effect").share.clip(lower=0)
    widths = [bar.get_width() for bar in bars[-3:]]
    assert widths == pytest.approx(list(parts[["frontend", "both", "compiler"]] / parts.sum()))
    assert sum(widths) == pytest.approx(1)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [*titles, "all workloads"]
    pyplot.close(figure)


def test_the_figure_of_verdicts_has_a_square_for_every_claim_and_run():
    rows = {"this build": {"a": "supported", "b": "contradicted"}, "2026": {"a": "not decided"}}
    figure = draw_verdicts({"a": "published", "b": "ours"}, rows)
    squares = figure.axes[0].patches
    assert len(squares) == 4
    assert [line.get_xdata()[0] for line in figure.axes[0].lines] == [0.5]  # between the origins
    supported, contradicted, open_, unknown = (square.get_facecolor() for square in squares)
    assert len({supported, contradicted, open_, unknown}) == 4
    assert unknown[:3] == (1, 1, 1)  # a claim that a run does not know
    pyplot.close(figure)


def test_the_figure_of_verdicts_is_no_higher_with_more_runs_and_leaves_out_what_tests_nothing():
    runs = {f"run {number}": {"a": "supported"} for number in range(60)}
    nothing = {"none": {"a": "not testable here"}}
    figures = [draw_verdicts({"a": "ours"}, dict([*runs.items()][:n]) | nothing) for n in (20, 60)]
    heights = [figure.get_figheight() for figure in figures]
    assert heights[0] == pytest.approx(heights[1])
    assert heights[0] < 4
    for figure, count in zip(figures, (20, 60), strict=True):
        labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        assert labels == [*runs][:count]
        pyplot.close(figure)


def test_titles_are_drawn_as_they_are(tmp_path):
    folder = paper_fixture.write(tmp_path)
    frame = pandas.read_csv(folder / "frame.csv")
    frame["title"] = frame["title"].replace("GEMM", r"$\input{x}$ & 50 %")
    drawn = literal(frame)
    assert drawn["title"][0] == r"\$\input{x}\$ & 50 %"
    figure = draw_ratios(drawn, read_ratios(folder / "ratios.csv"))
    figure.savefig(tmp_path / "ratio.pdf")
    pyplot.close(figure)


def test_a_run_without_the_workloads_of_the_text_shows_its_first_ones(tmp_path):
    frame = read_frame(Folder(paper_fixture.write(tmp_path))["frame"])
    here = list(frame["workload"].drop_duplicates())
    config = load()
    config["paper"]["calls"] = [here[1], "a workload of another study"]
    assert shown(config, frame) == [here[1]]
    config["paper"]["calls"] = ["a workload of another study"]
    assert shown(config, frame) == here[:4]


def test_ticks_are_round_and_few():
    assert round_ticks(0.7, 2.6, most=7) == pytest.approx([0.7, 1, 1.5, 2])
    assert round_ticks(1, 1000, most=5) == [1, 10, 100, 1000]
    assert len(round_ticks(70, 140, most=5)) >= 2
