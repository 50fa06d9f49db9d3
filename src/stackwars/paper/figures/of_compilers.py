"""Draw the figures of programs and of what compiles them: the stacks, the matrix, where time goes, and graphs."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from stackwars.compilers.op_classes import CLASSES
from stackwars.frameworks import title
from stackwars.paper.figures.heat import draw_matrix
from stackwars.paper.figures.layouts import draw_products, draw_sizes
from stackwars.paper.figures.of_cells import chosen
from stackwars.paper.figures.ratios import draw_compilers, draw_split
from stackwars.paper.figures.releases import draw_releases
from stackwars.paper.figures.style import COLUMN, GREY, OPERATION_LOOKS, PAGE, draw_graphs, save
from stackwars.paper.tables import products, sizes
from stackwars.paper.tables.products import layer
from stackwars.results import schema
from stackwars.results.dataset import Dataset, sources
from stackwars.results.folder import Folder, command
from stackwars.results.names import by_age, compiler_title
from stackwars.setup.device import CPU
from stackwars.study import cells
from stackwars.study.comparisons import PROGRAMS, Comparison, comparisons
from stackwars.study.programs import native_compiler
from stackwars.workloads import load as workload
from stackwars.workloads import sized

FOLDER = "compiler_figures"
PRODUCTS, SIZES = products.STUDY, sizes.STUDY
_EDGE = {"edgecolor": "#333333", "linewidth": 0.3}
_LINE = 0.14  # inches from one bar to the next
_APART = 0.5  # bars' heights between two workloads
WIDEST = 5
"""The axis ends at this multiple of the baseline's call; longer bars are cut, with their length beside them."""
INCONSISTENT = "\N{DAGGER}"
"""After a bar whose classes do not add up to the timed call."""
NO_PROFILE = "no profile"
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
    # Of the tables' source, and of the compilers of the matrix as far as it has them.
    profile = tables.rows("profile", "matrix")
    return {
        "compilers": draw_compilers(
            pair_of(matrix, "matrix", main, schema.REPLAY), main, list(matrix.study("matrix").compilers)
        ),
        "stack": draw_stack(),
        "split": draw_split(factors(config, tables, main), main),
        "matrix": draw_matrix(matrix.rows("cells", "matrix", schema.REPLAY)),
        "releases": draw_releases(datasets.of("releases").table("releases"), "jaxlib"),
        "op_times": draw_op_times(profile[profile["workload"].isin(chosen(config, tables))], main),
        "products": draw_products(
            products_of(datasets.of(PRODUCTS), main), main, list(config["studies"][PRODUCTS]["compilers"])
        ),
        "sizes": draw_sizes(
            sizes_of(datasets.of(SIZES), main), main, list(config["studies"][SIZES]["compilers"])
        ),
    }


def products_of(data: Dataset, pair: Comparison) -> pd.DataFrame:
    """Return the replays of both frontends' linear layers, with the sizes of the product."""
    rows = data.rows("cells", PRODUCTS, schema.REPLAY)
    rows = rows[rows["framework"].isin(pair.sides)]
    layers = (layer(cells.sizes(data.config, name)) for name in rows["workload"])
    return rows.assign(product=[", ".join(map(str, one)) for one in layers])


def sizes_of(data: Dataset, pair: Comparison) -> pd.DataFrame:
    """Return a pair's steady ratios and those of its replays, with the workload's title and the rows of its products."""
    rows = pd.concat([pair_of(data, SIZES, pair, name) for name in (schema.STEADY, schema.REPLAY)])
    given = [cells.sizes(data.config, name) for name in rows["workload"]]
    return rows.assign(
        base=[workload(sized.base(name)).TITLE for name in rows["workload"]],
        rows=[one["batch"] * one["sequence"] for one in given],
    )


def pair_of(data: Dataset, study: str, pair: Comparison, quantity: str) -> pd.DataFrame:
    """Return the comparisons of a pair on the CPU."""
    sides = {"subject": pair.subject, "baseline": pair.baseline}
    return data.comparisons(study, quantity=quantity, device=CPU, **sides)


def factors(config: dict, data: Dataset, pair: Comparison) -> pd.DataFrame:
    """Return the native ratios of a pair and their two factors, in the compiler that both use natively."""
    rows = pd.concat(
        [
            pair_of(data, "tables", pair, name)
            for name in (schema.NATIVE_CALLS, schema.REPLAY, schema.EVERYTHING_ELSE)
        ]
    )
    return rows[rows["compiler"].isin(("", native_compiler(config)))]


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


def draw_op_times(profile: pd.DataFrame, pair: Comparison) -> plt.Figure:
    """Draw the profiled call of each program of a pair over that of the baseline's in the same compiler."""
    shown = profile[profile["framework"].isin(pair.sides)]
    places = _places(shown, pair)
    panels = by_age(shown["compiler"]) or [""]
    size = (PAGE, 0.95 + _LINE * (max(places.values(), default=3) + 1))
    figure, axes = plt.subplots(1, len(panels), figsize=size, sharex=True, sharey=True, squeeze=False)
    first = axes[0][0]
    first.set_yticks(list(places.values()), [_label(key, shown, pair) for key in places])
    first.set_ylim(max(places.values(), default=1) + 0.7, -0.7)
    longest = [
        _bars(axis, shown[shown["compiler"] == one], places, pair)
        for axis, one in zip(axes[0], panels, strict=True)
    ]
    first.set_xlim(0, min(WIDEST, max(longest) * 1.04))
    handles = [Patch(label=CLASSES[name], **look, **_EDGE) for name, look in OPERATION_LOOKS.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, handlelength=1.4, columnspacing=1.2)
    return figure


def _places(shown: pd.DataFrame, pair: Comparison) -> dict[tuple[str, str], float]:
    """Return {(workload, framework): where its bars stand}, those of a workload together."""
    pairs = [(workload, side) for workload in shown["workload"].drop_duplicates() for side in pair.sides]
    return {key: number + _APART * (number // 2) for number, key in enumerate(pairs)}


def _label(key: tuple[str, str], shown: pd.DataFrame, pair: Comparison) -> str:
    """Return the framework, after the workload if it is the baseline's."""
    workload, framework = key
    if framework != pair.baseline:
        return title(framework)
    name = shown.loc[shown["workload"] == workload, "title"].iloc[0]
    return f"{name},  {title(framework)}"


def _bars(axis: plt.Axes, rows: pd.DataFrame, places: dict, pair: Comparison) -> float:
    """Draw one compiler's bars; return the length of the longest."""
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel(f"time over that of {title(pair.baseline)}'s program")
    axis.set_title(compiler_title(rows["compiler"].iloc[0]) if len(rows) else NO_PROFILE)
    axis.axvline(1, color="black", linewidth=0.6, zorder=0)
    totals = rows.groupby(["workload", "framework"])["ms"].sum()
    longest = 1.0
    for (workload, framework), y in places.items():
        if (workload, pair.baseline) not in totals.index or (workload, framework) not in totals.index:
            if framework == pair.baseline:
                axis.text(0.03, y + 0.5, NO_PROFILE, style="italic", va="center", fontsize=7)
            continue
        one = rows[(rows["workload"] == workload) & (rows["framework"] == framework)]
        left = _bar(axis, y, one.set_index("class")["ms"] / totals[workload, pair.baseline])
        longest = max(longest, left)
        mark = "" if one["profile_consistent"].iloc[0] is True else INCONSISTENT
        text = f"{left:.1f}{mark}" if left > WIDEST else mark
        place = {"textcoords": "offset points", "va": "center", "annotation_clip": False}
        axis.annotate(text, (min(left, WIDEST), y), (2, 0), fontsize=7, **place)
    return longest


def _bar(axis: plt.Axes, y: float, shares: pd.Series) -> float:
    """Draw the classes of one program as one bar; return its length."""
    left = 0.0
    for name, look in OPERATION_LOOKS.items():
        axis.barh(y, shares[name], 0.8, left, **look, **_EDGE)
        left += shares[name]
    return left


if __name__ == "__main__":
    command(write)
