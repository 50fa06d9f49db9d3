"""Draw the figures of programs and of what compiles them: the stacks, the matrix, layouts, and graphs."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from stackwars.paper.figures.heat import draw_matrix
from stackwars.paper.figures.layouts import draw_products
from stackwars.paper.figures.ratios import FACTORS, draw_compilers, draw_split
from stackwars.paper.figures.releases import draw_releases
from stackwars.paper.figures.style import COLUMN, GREY, draw_graphs, save
from stackwars.paper.figures.sweeps import draw_sweeps
from stackwars.paper.sizes import STUDY as SIZES
from stackwars.paper.sizes import sweeps
from stackwars.paper.tables import products
from stackwars.paper.tables.products import layer
from stackwars.results import schema
from stackwars.results.dataset import Dataset, sources
from stackwars.results.folder import Folder, command
from stackwars.setup.device import CPU
from stackwars.study import cells
from stackwars.study.comparisons import PROGRAMS, Comparison, comparisons
from stackwars.study.programs import native_compiler

FOLDER = "compiler_figures"
PRODUCTS = products.STUDY
STAGES = [
    (0, 0, 1, "JAX program", "functions, arrays", "white"),
    (0, 1, 2, "PyTorch program", "nn.Module, tensors", "white"),
    (1, 0, 1, "jax.jit", "traced once per shape", "white"),
    (1, 1, 1, "torch_xla", "lazy tensors, call by call", "white"),
    (1, 2, 1, "torch.compile", "Dynamo reads bytecode", "white"),
    (2, 0, 1, "jaxpr", "lowered to StableHLO", "white"),
    (2, 1, 1, "graph, cut at sync", "lowered to HLO", "white"),
    (2, 2, 1, "FX graph", "of ATen operations", "white"),
    (3, 0, 2, "StableHLO", "read, counted and replayed", GREY),
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
REPLAY = "replay enters here"
ENTRY = 3
"""The level of what is replayed, with more room below it."""
HEIGHT, STEP, GAP, ROOM = 0.72, 1.0, 0.03, 0.25
LEVELS = 1 + max(stage[0] for stage in STAGES)


def figures(config: dict, folder: Folder) -> dict[str, Figure]:
    """Return {name: figure}."""
    datasets = sources(config, folder)
    tables, matrix = datasets.of("tables"), datasets.of("matrix")
    main = comparisons(config, PROGRAMS)[0]
    where = {"device": CPU, "subject": main.subject, "baseline": main.baseline}
    replays = matrix.comparisons("matrix", quantity=schema.REPLAY, **where)
    return {
        "compilers": draw_compilers(replays, main, list(matrix.study("matrix").compilers)),
        "stack": draw_stack(),
        "split": draw_split(factors(config, tables, main), main),
        "matrix": draw_matrix(matrix.rows("cells", "matrix", schema.REPLAY)),
        "releases": draw_releases(datasets.of("releases").table("releases"), "jaxlib"),
        "products": draw_products(
            products_of(datasets.of(PRODUCTS), main), main, list(config["studies"][PRODUCTS]["compilers"])
        ),
        "sizes": draw_sweeps(sweeps(datasets.of(SIZES), main), list(config["studies"][SIZES]["compilers"])),
    }


def products_of(data: Dataset, pair: Comparison) -> pd.DataFrame:
    """Return the replays of both frontends' linear layers, with the sizes of the product."""
    rows = data.rows("cells", PRODUCTS, schema.REPLAY)
    rows = rows[rows["framework"].isin(pair.sides)]
    layers = (layer(cells.sizes(data.config, name)) for name in rows["workload"])
    return rows.assign(product=[", ".join(map(str, one)) for one in layers])


def factors(config: dict, data: Dataset, pair: Comparison) -> pd.DataFrame:
    """Return the native ratios of a pair and their two factors, in the compiler that both use natively."""
    where = {"device": CPU, "compiler": native_compiler(config)}
    rows = data.comparisons("tables", subject=pair.subject, baseline=pair.baseline, **where)
    return rows[rows["quantity"].isin(FACTORS)]


def write(config: dict, folder: Folder) -> None:
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
    axis.text(1.0, y, REPLAY, ha="center", va="center", fontsize=7.5, color="#a84512", zorder=4, bbox=box)
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


if __name__ == "__main__":
    command(write)
