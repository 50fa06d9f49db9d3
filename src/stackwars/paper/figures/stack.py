"""The two compiler stacks side by side, drawn from a list of their stages."""

from __future__ import annotations

import matplotlib.pyplot as plt

from stackwars.paper.style import COLUMN, GREY

# Each stage: what it is, and what it hands on. Shared stages span both columns.
OWN = [
    (("JAX program", "pure functions, arrays"), ("PyTorch program", "nn.Module, tensors")),
    (("jax.jit", "traced whole, once per shape"), ("lazy tensors", "recorded call by call")),
    (("jaxpr, lowered", "to StableHLO"), ("graph cut at sync,", "lowered to HLO")),
]
SHARED = [
    ("StableHLO", "read, counted and replayed in this study"),
    ("OpenXLA: optimise, fuse, assign buffers", "one generation of XLA for both"),
    ("PJRT: compile, load, execute", ""),
    ("device", "CPU, TPU or GPU"),
]
HEIGHT, STEP = 0.74, 1.0


def draw_stacks() -> plt.Figure:
    """User code at the top, the device at the bottom; white is one framework's, grey is shared."""
    levels = len(OWN) + len(SHARED)
    figure, axis = plt.subplots(figsize=(COLUMN, 0.42 * levels))
    axis.set(xlim=(0, 2), ylim=(-levels + 0.1, 0.05))
    axis.axis("off")
    for level, pair in enumerate(OWN):
        for column, (name, detail) in enumerate(pair):
            _box(axis, column + 0.04, level, 0.92, name, detail, "white")
            _arrow(axis, column + 0.5, level)
    for level, (name, detail) in enumerate(SHARED, start=len(OWN)):
        _box(axis, 0.04, level, 1.92, name, detail, GREY)
        if level < levels - 1:
            _arrow(axis, 1.0, level)
    return figure


def _box(axis, x: float, level: int, width: float, name: str, detail: str, fill: str) -> None:
    top = -level * STEP
    axis.add_patch(
        plt.Rectangle((x, top - HEIGHT), width, HEIGHT, facecolor=fill, edgecolor="black", lw=0.7)
    )
    middle = top - HEIGHT / 2
    shift = 0.17 if detail else 0.0
    axis.text(x + width / 2, middle + shift, name, ha="center", va="center", fontsize=8.5)
    if detail:
        axis.text(
            x + width / 2, middle - shift, detail, ha="center", va="center", fontsize=7.5,
            style="italic",
        )  # fmt: skip


def _arrow(axis, x: float, level: int) -> None:
    start = -level * STEP - HEIGHT
    axis.annotate(
        "",
        xy=(x, start - (STEP - HEIGHT)),
        xytext=(x, start),
        arrowprops={"arrowstyle": "-|>", "lw": 0.7, "color": "black", "shrinkA": 0, "shrinkB": 0},
    )
