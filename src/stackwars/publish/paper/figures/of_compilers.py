"""Draw the figures of programs and compilers: stacks, matrix, linear layers, releases, sizes, and graphs."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from stackwars.core.outcome import Status
from stackwars.measure.frameworks import title
from stackwars.measure.workloads import load, sized
from stackwars.publish.paper.figures.of_cells import draw_matrix
from stackwars.publish.paper.figures.ratios import FACTORS, draw_answer, draw_split
from stackwars.publish.paper.figures.style import (
    COLUMN,
    GREY,
    LOOKS,
    draw_graphs,
    draw_legend,
    draw_ratio_line,
    label_rows,
    line_look,
    panels,
    save,
    set_log_scale,
    set_ratio_scale,
)
from stackwars.publish.paper.tables.compilers import PRODUCTS, layer
from stackwars.setup.device import CPU
from stackwars.study import cells
from stackwars.study.keys import Config
from stackwars.study.programs import native_compiler
from stackwars.study.results import runs, schema
from stackwars.study.results.dataset import Dataset, sources
from stackwars.study.results.folder import Folder, command
from stackwars.study.results.programs import compiler_title
from stackwars.study.studies import PROGRAMS, Comparison, comparisons

FOLDER = "compiler_figures"
SIZES = "sizes"
SWEEPS = ("batch", "sequence")
STAGES = [
    (0, 0, 1, "JAX program", "functions, arrays", "white"),
    (0, 1, 2, "PyTorch program", "nn.Module, tensors", "white"),
    (1, 0, 1, "jax.jit", "traced once per shape", "white"),
    (1, 1, 1, "torch_xla", "lazy tensors, call by call", "white"),
    (1, 2, 1, "torch.compile", "Dynamo reads bytecode", "white"),
    (2, 0, 1, "jaxpr", "lowered to StableHLO", "white"),
    (2, 1, 1, "graph, cut at sync", "lowered to HLO", "white"),
    (2, 2, 1, "FX graph", "of ATen operations", "white"),
    (3, 0, 2, "StableHLO", "also from torchax, TorchTPU and TensorFlow", GREY),
    (4, 0, 1, "XLA", "two generations", GREY),
    (4, 1, 1, "IREE", "in replays alone", GREY),
    (3, 2, 1, "TorchInductor", "fuses, schedules", "white"),
    (4, 2, 1, "C++ compiler", "kernels, libraries", "white"),
    (5, 0, 1, "PJRT", "load, execute", GREY),
    (5, 1, 1, "IREE runtime", "load, execute", GREY),
    (5, 2, 1, "PyTorch runtime", "load, execute", "white"),
    (6, 0, 3, "CPU", "XLA also compiles ahead of time for a TPU and a GPU", GREY),
]
"""Level, column, columns wide, name, detail, fill. Grey: shared by several frontends."""
ENTRY = 3
"""The level of what is replayed, with more room below it."""
HEIGHT, STEP, GAP, ROOM = 0.72, 1.0, 0.03, 0.25
LEVELS = 1 + max(stage[0] for stage in STAGES)


def figures(config: Config, folder: Folder) -> dict[str, Figure]:
    datasets = sources(config, folder)
    tables, matrix = datasets.dataset_for("tables"), datasets.dataset_for("matrix")
    main = comparisons(config, PROGRAMS)[0]
    compilers = {name: list(config.studies[name].compilers) for name in (PRODUCTS, SIZES)}
    return {
        "compilers": draw_answer(datasets.reference, None if datasets.run.is_reference else datasets.run),
        "stack": draw_stack(),
        "split": draw_split(factors(config, tables, main), main),
        "matrix": draw_matrix(matrix.rows("cells", "matrix", schema.REPLAY)),
        "releases": draw_releases(datasets.dataset_for("releases").table("releases"), "jaxlib"),
        "products": draw_products(products_of(datasets.dataset_for(PRODUCTS), main), main, compilers[PRODUCTS]),
        "sizes": draw_sweeps(sweeps(datasets.dataset_for(SIZES), main), compilers[SIZES]),
    }


def products_of(data: Dataset, pair: Comparison) -> pd.DataFrame:
    """Return the replays of both frontends' linear layers, with the sizes of the product."""
    rows = data.rows("cells", PRODUCTS, schema.REPLAY)
    rows = rows[rows["framework"].isin(pair.sides)]
    layers = (layer(cells.sizes(data.config, name)) for name in rows["workload"])
    return rows.assign(product=[", ".join(map(str, one)) for one in layers])


def factors(config: Config, data: Dataset, pair: Comparison) -> pd.DataFrame:
    """Return the native ratios of a pair and their two factors, in the compiler that both use natively."""
    where = {"device": CPU, "compiler": native_compiler(config)}
    rows = data.comparisons("tables", subject=pair.subject, baseline=pair.baseline, **where)
    return rows[rows["quantity"].isin(FACTORS)]


def write(config: Config, folder: Folder) -> None:
    """Write each to <name>.pdf, and the graph of a workload's programs to graph-<workload>.pdf."""
    save(lambda: figures(config, folder), folder[FOLDER])
    draw_graphs(folder["graphs"], folder[FOLDER])


def draw_stack() -> plt.Figure:
    """Draw user code at the top and the device at the bottom, and where a replay enters."""
    figure, axis = plt.subplots(figsize=(COLUMN, 0.41 * LEVELS))
    axis.set(xlim=(0, 3), ylim=(_top(LEVELS - 1) - HEIGHT - 0.05, 0.05))
    axis.axis("off")
    for level, column, width, name, detail, fill in STAGES:
        _box(axis, column, level, width, name, detail, fill)
    for level in range(LEVELS - 1):
        for column in range(3):
            _arrow(axis, column + 0.5, level, dashed=column == 1 and level >= ENTRY)
    y = (_top(ENTRY) - HEIGHT + _top(ENTRY + 1)) / 2 + 0.04
    axis.plot([GAP, 2 - GAP], [y, y], color="#c4571b", linewidth=1.2, linestyle=(0, (4, 2)), zorder=3)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
    look = {"ha": "center", "va": "center", "fontsize": 7.5, "color": "#a84512", "zorder": 4, "bbox": box}
    axis.text(1.0, y, "replay enters here", **look)
    return figure


def _top(level: int) -> float:
    return -level * STEP - (ROOM if level > ENTRY else 0.0)


def _box(axis: plt.Axes, column: int, level: int, width: int, name: str, detail: str, fill: str) -> None:
    left, top = column + GAP, _top(level)
    look = {"facecolor": fill, "edgecolor": "black", "linewidth": 0.7}
    axis.add_patch(plt.Rectangle((left, top - HEIGHT), width - 2 * GAP, HEIGHT, **look))
    middle = (column + width / 2, top - HEIGHT / 2)
    place = {"ha": "center", "va": "center"}
    axis.text(middle[0], middle[1] + 0.17, name, fontsize=7.5, **place)
    axis.text(middle[0], middle[1] - 0.17, detail, fontsize=6.5, style="italic", **place)


def _arrow(axis: plt.Axes, x: float, level: int, dashed: bool) -> None:
    look = {"arrowstyle": "-|>", "linewidth": 0.7, "color": "black", "shrinkA": 0, "shrinkB": 0}
    look["linestyle"] = "--" if dashed else "-"
    axis.annotate("", xy=(x, _top(level + 1)), xytext=(x, _top(level) - HEIGHT), arrowprops=look)


def draw_products(rows: pd.DataFrame, pair: Comparison, compilers: list[str]) -> plt.Figure:
    """Draw the times of both frontends' programs of each linear layer: a panel a compiler, with the cores used.

    rows: replays of cells.csv, with the column `product`.
    """
    products = list(rows["product"].drop_duplicates())
    height = 0.9 + 0.2 * max(3, len(products))
    across = max(1, len(compilers))
    figure, axes = panels(across, across, height, 0, sharex=True, sharey=True)
    for axis, compiler in zip(axes[0], compilers, strict=False):
        _dumbbells(axis, rows[rows["compiler"] == compiler], products, pair)
        axis.set_title(compiler_title(compiler))
        axis.set_xlabel("ms a call")
    first, times = axes[0][0], rows["steady_ms"]
    first.set_ylabel("rows, in, out")
    first.set_xscale("log")
    if times.notna().any():
        set_log_scale(first, "x", times.min() / 1.8, times.max() * 1.8, most=6)
    layouts = zip(pair.sides, ("(in, out)", "(out, in)"), strict=True)
    looks = ((f"{title(side)}, weight as {layout}", _layout_mark(side, pair)) for side, layout in layouts)
    draw_legend(figure, looks, 2, handletextpad=0.4)
    return figure


def _dumbbells(axis: plt.Axes, rows: pd.DataFrame, products: list[str], pair: Comparison) -> None:
    label_rows(axis, products)
    for y, product in enumerate(products):
        selected = rows[rows["product"] == product].set_index("framework")
        times = selected["steady_ms"].dropna()
        axis.plot(times, [y] * len(times), color="#888888", linewidth=1.0, zorder=1)
        for side in (one for one in pair.sides if one in times.index):
            axis.plot(times[side], y, **_layout_mark(side, pair))
            is_longer = times[side] >= times.max()
            place = {"ha": "left" if is_longer else "right", "va": "center", "fontsize": 6.5}
            axis.annotate(
                f"{selected['cores'][side]:.1f}", (times[side], y), (4 if is_longer else -4, 0),
                textcoords="offset points", **place,
            )  # fmt: skip


def _layout_mark(side: str, pair: Comparison) -> dict:
    return line_look(side, list(pair.sides)) | {"linestyle": "none"}


def draw_releases(table: pd.DataFrame, project: str) -> plt.Figure:
    """Draw a panel for each workload, the oldest release at the left, with the interval of the ratio to the newest."""
    rows = table[table["project"] == project]
    timed = list(dict.fromkeys(rows.loc[rows["ratio"].notna(), "version"]))
    versions = [version for version in dict.fromkeys(rows["version"]) if version in timed][::-1]
    workloads = list(dict.fromkeys(rows["workload"]))
    figure, axes = panels(len(workloads), 5, 1.45, 0.4, sharex=True)
    for axis, workload in zip(axes.flat, workloads, strict=False):
        _release_panel(axis, rows[rows["workload"] == workload], versions)
    if not workloads:
        axes[0][0].text(0, 0.5, "no program was timed", style="italic")
    handles: dict = {}
    for axis in axes.flat:
        handles |= dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
    if handles:
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4)
    for axis in axes[-1]:
        axis.set_xlabel(f"{compiler_title(project).strip()} release")
    return figure


def _release_panel(axis: plt.Axes, rows: pd.DataFrame, versions: list[str]) -> None:
    axis.set_title(rows["title"].iloc[0])
    axis.set_xticks(range(len(versions)), versions, rotation=90)
    set_ratio_scale(axis, rows)
    for look, (framework, line) in zip(LOOKS, rows.groupby("framework", sort=False), strict=False):
        ok = line[line["ratio"].notna()]
        places = [versions.index(version) for version in ok["version"]]
        draw_ratio_line(axis, places, ok, look | {"label": title(framework)})
        wrong = line[line["status"].isin((Status.WRONG, Status.CRASH)) & line["version"].isin(versions)]
        crosses = [versions.index(version) for version in wrong["version"]]
        if crosses:  # an empty line that is not clipped has the figure's corner in its box
            cross = {"color": look["color"], "clip_on": False, "label": "wrong value or crash"}
            axis.plot(crosses, [1.0] * len(crosses), "x", **cross)


def sweeps(data: Dataset, pair: Comparison) -> pd.DataFrame:
    """Return the native ratios and those of replays over sizes, a row for each point of each sweep.

    Columns of comparisons.csv (`compiler` is empty for a native ratio), `workload` as the title without sizes, the
    `sweep`, which is the size that differs, and its `size`. The preset's sizes are a point of both sweeps. Sizes are
    compared with each other, and a ratio that is pooled over other machines too would not fit the others: in the
    reference each workload comes from its newest run of the study.
    """
    table = data.table("comparisons")
    if data.is_reference:
        accepted = [run for run in runs.read() if SIZES in run.context["studies"]]
        measured = [run.table("comparisons").assign(run=run.identity) for run in accepted]
        table = pd.concat(measured, ignore_index=True) if measured else table.iloc[:0]
    table = table[table["workload"].isin(data.config.studies[SIZES].workloads) & (table["device"] == CPU)]
    table = table[table["run"] == table.groupby(table["workload"].map(sized.base))["run"].transform("max")]
    table = table[(table["subject"] == pair.subject) & (table["baseline"] == pair.baseline)]
    table = table[table["quantity"].isin((schema.STEADY, schema.REPLAY)) & table["ratio"].notna()]
    # Another study of the run may have replayed the same workload in more compilers.
    table = table[table["compiler"].isin(("", *data.study(SIZES).compilers))]
    result = []
    for row in table.to_dict("records"):
        base = sized.base(row["workload"])
        sizes, usual = (cells.sizes(data.config, name) for name in (row["workload"], base))
        for sweep, other in (SWEEPS, SWEEPS[::-1]):
            if sizes[other] == usual[other]:
                result.append(row | {"workload": load(base).TITLE, "sweep": sweep, "size": sizes[sweep]})
    return pd.DataFrame(result, columns=[*table.columns, "sweep", "size"])


def draw_sweeps(rows: pd.DataFrame, compilers: list[str]) -> plt.Figure:
    """Draw a panel for each sweep of each workload, a line for the native calls and for the replays of each compiler.

    rows: of `sweeps`.
    """
    workloads = list(dict.fromkeys(rows["workload"]))
    figure, axes = panels(len(SWEEPS) * len(workloads), max(1, len(workloads)), 1.2, 0.5, sharey="col")
    looks = dict(zip(("", *compilers), LOOKS, strict=False))
    for of_sweep, sweep in zip(axes, SWEEPS, strict=False):
        for axis, workload in zip(of_sweep, workloads, strict=False):
            selected = rows[rows["workload"] == workload]
            set_ratio_scale(axis, selected)
            _sweep_lines(axis, selected[selected["sweep"] == sweep].sort_values("size"), looks)
            axis.set_xlabel(sweep)
    for axis, workload in zip(axes[0], workloads, strict=False):
        axis.set_title(workload)
    if not workloads:
        axes[0][0].text(0, 0.5, "no size was measured", style="italic")
    named = ((compiler_title(name) if name else "native calls", look) for name, look in looks.items())
    draw_legend(figure, named, 4)
    return figure


def _sweep_lines(axis: plt.Axes, rows: pd.DataFrame, looks: dict[str, dict]) -> None:
    sizes = sorted(set(rows["size"]))
    axis.set_xscale("log")
    axis.set_xticks(sizes, map(str, sizes))
    axis.xaxis.set_minor_locator(plt.NullLocator())
    for compiler, line in rows.groupby("compiler", sort=False):
        draw_ratio_line(axis, line["size"], line, looks[compiler])


if __name__ == "__main__":
    command(write)
