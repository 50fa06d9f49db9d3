"""Tables of single linear layers: what the layout of a weight costs, and what that explains of a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from stackwars.measure import workloads
from stackwars.publish.paper.tables.table import Column, Table, frame, indexed, main
from stackwars.study import cells
from stackwars.study.results import effects, schema
from stackwars.study.results.dataset import Dataset, Sources
from stackwars.study.results.names import compiler_title
from stackwars.study.results.schema import is_missing

STUDY, MATRIX = "products", effects.STUDY
MODELS = ("mha", "bert_base", "gpt2_small", "vit_b16")
"""Models whose time is predicted: their products with weights are linear layers."""
IN_OUT = ("gpt2_small",)
"""Models whose PyTorch form has the weights as (in, out), and whose Flax form as (out, in)."""


class Layer(NamedTuple):
    """The product of a linear layer: rows of its input, and the width of its input and of its output."""

    rows: int
    features: int
    outputs: int


def layer(sizes: dict[str, int]) -> Layer:
    """Return the layer of the workload `linear` at these sizes."""
    return Layer(sizes["batch"] * sizes["sequence"], sizes["features"], sizes["outputs"])


def layers(name: str, sizes: dict[str, int]) -> Counter[Layer]:
    """Return how often a model has each layer. Embeddings and heads of other shapes match no layer."""
    positions = sizes["sequence"] if "sequence" in sizes else (sizes["image"] // sizes["patch"]) ** 2 + 1
    rows = sizes["batch"] * positions
    shapes = (shape for shape in workloads.load(name).parameters(sizes).values() if len(shape) == 2)
    return Counter(Layer(rows, *(shape if name in IN_OUT else shape[::-1])) for shape in shapes)


def predicted(sources: Sources) -> Iterator[dict]:
    """Yield for each model and compiler the ms by which its programs differ, and those of its layers together."""
    data, pair = sources.dataset_for(STUDY), main(sources)
    matrix = sources.dataset_for(MATRIX)
    alone, whole = _replays(data, STUDY), _replays(matrix, MATRIX)
    by_layer = {layer(cells.sizes(data.config, name)): name for name in data.study(STUDY).workloads}
    for model in (name for name in MODELS if name in matrix.study(MATRIX).workloads):
        counted = layers(model, cells.sizes(data.config, model))
        sign = -1 if model in IN_OUT else 1
        for compiler in data.study(STUDY).compilers:
            costs = [
                count * _difference(alone, by_layer[one], compiler, pair.sides)
                for one, count in counted.items()
                if one in by_layer
            ]
            measured = _difference(whole, model, compiler, pair.sides)
            if costs and not is_missing(sum(costs)) and not is_missing(measured):
                yield {
                    "model": model,
                    "workload": workloads.load(model).TITLE,
                    "compiler": compiler,
                    "layers_ms": sign * sum(costs),
                    "measured_ms": measured,
                    "share": sign * sum(costs) / measured,
                }


def predicted_rows(sources: Sources) -> pd.DataFrame:
    """Return the rows of `predicted`."""
    return frame([row | {"compiler": compiler_title(row["compiler"])} for row in predicted(sources)])


def _replays(data: Dataset, study: str) -> dict[tuple, dict]:
    return indexed(data.rows("cells", study, schema.REPLAY), "workload", "compiler", "framework")


def _difference(replays: dict[tuple, dict], workload: str, compiler: str, sides: tuple[str, str]) -> float:
    """Return the ms of the subject's program less those of the baseline's; NaN if one has no time."""
    base, own = (replays.get((workload, compiler, side), {}).get("steady_ms", float("nan")) for side in sides)
    return own - base


TABLES = (
    Table(
        name="predicted",
        caption="What the Layers by Themselves Explain of a Model",
        rows=predicted_rows,
        columns=(
            Column("Workload", "workload"),
            Column("Compiler", "compiler"),
            Column("layers", "layers_ms", "ms", "torch_xla less JAX (ms)"),
            Column("measured", "measured_ms", "ms", "torch_xla less JAX (ms)"),
            Column("Share", "share", "percent"),
        ),
        study=STUDY,
        group_by="workload",
        wide=False,
        note="""Layers: the difference of each linear layer's two programs by itself, times how often the model
        has that layer. Measured: the difference of the model's two programs.""",
    ),
)
