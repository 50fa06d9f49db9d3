"""Tables of the replays: both programs in one compiler and in every compiler, and what single linear layers explain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from stackwars.core.outcome import Status
from stackwars.measure import workloads
from stackwars.measure.frameworks import title
from stackwars.publish.paper.latex import scientific
from stackwars.publish.paper.tables.table import (
    Column,
    Range,
    StruckOut,
    Table,
    columns_as,
    frame,
    indexed,
    main,
    pooled_over,
    ratio,
    ratios_by,
    short_status,
    spanning,
)
from stackwars.setup.device import CPU
from stackwars.study import cells
from stackwars.study.keys import Config
from stackwars.study.programs import native_compiler
from stackwars.study.results import effects, schema
from stackwars.study.results.dataset import Dataset, Sources, of_study
from stackwars.study.results.programs import compiler_title
from stackwars.study.results.schema import is_missing
from stackwars.study.results.verdicts import DECIDED, DUE_TO_PROGRAM, DUE_TO_REST, NOT_SEPARATED

STUDY, MATRIX, PRODUCTS, BEYOND_XLA = "tables", effects.STUDY, "products", "beyond_xla"
OPENVINO = "OpenVINO"
"""A compiler that takes no StableHLO: a column of the table `compilers` once it was measured."""
NATIVE_CALLS_NOTE = "OpenVINO: native calls in processes that alternate, with weights as constants. "
MODELS = ("mha", "bert_base", "gpt2_small", "vit_b16")
"""Models whose time is predicted: their products with weights are linear layers."""
IN_OUT = ("gpt2_small",)
"""Models whose PyTorch form has the weights as (in, out), and whose Flax form as (out, in)."""
_NATIVE = (schema.EVERYTHING_ELSE, schema.NATIVE_CALLS, schema.MARGIN, schema.CONTROL)
"""Columns that only the native compiler has."""
_REASONS = {DUE_TO_PROGRAM: "program", DUE_TO_REST: "everything else", NOT_SEPARATED: "not separated"}


def split_rows(sources: Sources) -> pd.DataFrame:
    """Return a row for each workload and compiler: both replays, and the factors of the native ratio."""
    data, pair = sources.dataset_for(STUDY), main(sources)
    study = data.study(STUDY)
    replays = _replays(data, STUDY)
    table = data.comparisons(STUDY, device=CPU, baseline=pair.baseline)
    table = table[table["subject"].isin([pair.subject, pair.baseline])]
    by_key = indexed(table, "quantity", "workload", "compiler")
    result = []
    for workload, compiler in ((w, c) for w in study.workloads for c in study.compilers):
        cells = [replays.get((workload, compiler, side)) for side in pair.sides]
        if not all(cells):
            continue
        row = {"workload": cells[0]["title"], "compiler": compiler_title(compiler)}
        result.append(row | _factors(by_key, workload, compiler, sources.run.config) | _times(cells))
    newest = sorted({cell["run"] for cell in replays.values()} - {""})
    note = f"Times are of the run {', '.join(newest)}, whatever the kind of their line. " if newest else ""
    worst = float(pd.Series([cell["parity_rel_l2"] for cell in replays.values()], dtype=float).max())
    if not is_missing(worst):
        note += rf"Outputs of both programs differ by a relative $L_2$ of at most {scientific(worst)}. "
    return frame(result, note + pooled_over(data, table))


def _times(cells: list[dict]) -> dict:
    """Return the times of both sides; instead of their ratio, why one of them has no time or a wrong result."""
    result, failed = {}, None
    for side, cell in zip(("base", "own"), cells, strict=True):
        result[side] = StruckOut(cell["struck_ms"]) if cell["status"] == Status.WRONG else cell["steady_ms"]
        result[f"{side}_range"] = Range(cell["steady_min_ms"], cell["steady_max_ms"])
        failed = failed or (cell if cell["status"] != Status.OK else None)
    if failed:
        reason = f"{title(failed['framework'])}: {short_status(failed)}"
        result |= spanning(reason, schema.REPLAY, *_NATIVE)
    return result


def _factors(by_key: dict[tuple, dict], workload: str, compiler: str, config: Config) -> dict:
    """Return the ratios of a row; the native calls are those of one compiler."""
    result: dict[str, object] = dict.fromkeys(_NATIVE, "")
    result[schema.REPLAY] = ratio(by_key.get((schema.REPLAY, workload, compiler)))
    if compiler != native_compiler(config):
        return result
    for quantity in _NATIVE:
        result[quantity] = ratio(by_key.get((quantity, workload, compiler)))
    margin = by_key.get((schema.MARGIN, workload, compiler), {})
    has_reason = margin.get("native_verdict") in DECIDED
    return result | {schema.MARGIN: _REASONS.get(margin.get("verdict")) if has_reason else None}


def split_columns(sources: Sources) -> tuple[Column, ...]:
    base, subject = map(title, main(sources).sides)
    return (
        *columns_as("text", workload="Workload", compiler="Compiler"),
        Column("mean", "base", "ms", f"{base} (ms)"),
        Column("range", "base_range", "range", f"{base} (ms)"),
        Column("mean", "own", "ms", f"{subject} (ms)"),
        Column("range", "own_range", "range", f"{subject} (ms)"),
        Column("Program", schema.REPLAY, "ratio"),
        Column("Everything else", schema.EVERYTHING_ELSE, "ratio"),
        Column("Native", schema.NATIVE_CALLS, "ratio"),
        Column("Reason", schema.MARGIN),
        Column("Control", schema.CONTROL, "ratio"),
    )


def compiler_rows(sources: Sources) -> pd.DataFrame:
    """Return the replay ratio of the main comparison, a row a workload, a column a compiler.

    In OpenVINO it is the ratio of native calls, whose sides are the same two frontends.
    """
    data, pair = sources.dataset_for(MATRIX), main(sources)
    table = data.comparisons(MATRIX, quantity=schema.REPLAY, subject=pair.subject, baseline=pair.baseline)
    others = {row["title"]: ratio(row) for row in _in_openvino(sources).to_dict("records")}
    result = ratios_by("compiler", data.study(MATRIX).compilers, table)
    result = [row | {OPENVINO: others.get(row["workload"])} for row in result]
    return frame(result, (NATIVE_CALLS_NOTE if others else "") + pooled_over(data, table))


def _in_openvino(sources: Sources) -> pd.DataFrame:
    table = sources.dataset_for(BEYOND_XLA).comparisons(
        BEYOND_XLA, quantity=schema.STEADY, subject="torch_openvino", device=CPU
    )
    return table.dropna(subset="ratio")


def compiler_columns(sources: Sources) -> tuple[Column, ...]:
    names = sources.dataset_for(MATRIX).study(MATRIX).compilers
    return (
        Column("Workload", "workload"),
        *(Column(compiler_title(name), name, "ratio") for name in names),
        *(() if _in_openvino(sources).empty else (Column(OPENVINO, OPENVINO, "ratio"),)),
    )


class Layer(NamedTuple):
    """The product of a linear layer: rows of its input, and the width of its input and of its output."""

    rows: int
    features: int
    outputs: int


def layer(sizes: dict[str, int]) -> Layer:
    return Layer(sizes["batch"] * sizes["sequence"], sizes["features"], sizes["outputs"])


def layers(name: str, sizes: dict[str, int]) -> Counter[Layer]:
    """Return how often a model has each layer. Embeddings and heads of other shapes match no layer."""
    positions = sizes["sequence"] if "sequence" in sizes else (sizes["image"] // sizes["patch"]) ** 2 + 1
    rows = sizes["batch"] * positions
    shapes = (shape for shape in workloads.load(name).parameters(sizes).values() if len(shape) == 2)
    return Counter(Layer(rows, *(shape if name in IN_OUT else shape[::-1])) for shape in shapes)


def predicted(sources: Sources) -> Iterator[dict]:
    """Yield for each model and compiler the ms by which its programs differ, and those of its layers together."""
    data, pair = sources.dataset_for(PRODUCTS), main(sources)
    matrix = sources.dataset_for(MATRIX)
    alone = _replays(data, PRODUCTS)
    # The layers and the models of one run: milliseconds of two machines are not compared.
    every = of_study(matrix.study(MATRIX), matrix.table("cells"))
    of_one_run = every["run"].isin({cell["run"] for cell in alone.values()}) & (every["mode"] == schema.REPLAY)
    models = indexed(every[of_one_run], "workload", "compiler", "framework")
    by_layer = {layer(cells.sizes(data.config, name)): name for name in data.study(PRODUCTS).workloads}
    for model in (name for name in MODELS if name in matrix.study(MATRIX).workloads):
        counted = layers(model, cells.sizes(data.config, model))
        sign = -1 if model in IN_OUT else 1
        for compiler in data.study(PRODUCTS).compilers:
            costs = [
                count * _difference(alone, by_layer[one], compiler, pair.sides)
                for one, count in counted.items()
                if one in by_layer
            ]
            measured = _difference(models, model, compiler, pair.sides)
            if costs and not is_missing(sum(costs)) and not is_missing(measured):
                yield {
                    "model": model,
                    "workload": workloads.load(model).TITLE,
                    "compiler": compiler,
                    "compiler_title": compiler_title(compiler),
                    "layers_ms": sign * sum(costs),
                    "measured_ms": measured,
                    "share": sign * sum(costs) / measured,
                }


def _replays(data: Dataset, study: str) -> dict[tuple, dict]:
    return indexed(data.rows("cells", study, schema.REPLAY), "workload", "compiler", "framework")


def _difference(replays: dict[tuple, dict], workload: str, compiler: str, sides: tuple[str, str]) -> float:
    """Return the ms of the subject's program less those of the baseline's; NaN if one has no time."""
    times = (replays.get((workload, compiler, side), {}).get("steady_ms", float("nan")) for side in sides)
    base, subject = times
    return subject - base


TABLES = (
    Table(
        name="split",
        caption="Both Programs in the Same Compiler: Replays, and the Factors of the Native Ratio",
        rows=split_rows,
        columns=split_columns,
        study=STUDY,
        group_by="workload",
        note=r"""Replay: both programs, loaded into one client of that jaxlib, with alternating loops; mean and
        range are over fresh processes. Program: replay of torch\_xla's program over that of JAX's.
        Native: torch\_xla's call over JAX's in the rounds of the replay, and so not exactly the steady ratio of
        Table~\ref{tab:published}, from rounds of native calls alone. Everything else: native over
        program ratio; native calls use one compiler. Reason: which of the two is the larger factor of
        the native ratio, if the interval of their quotient decides; a dash: the native ratio is neither
        slower nor faster. Control: JAX's native call over the
        replay of its program. In brackets: the intervals that decide, each column at its level.""",
    ),
    Table(
        name="compilers",
        caption="Replayed Program of torch_xla over That of JAX, by Compiler",
        rows=compiler_rows,
        columns=compiler_columns,
        study=MATRIX,
        note=r"""Both programs in the same process, with alternating loops. In brackets: the intervals that
        decide.""",
    ),
    Table(
        name="predicted",
        caption="What the Layers by Themselves Explain of a Model",
        rows=lambda sources: frame(list(predicted(sources))),
        columns=(
            *columns_as("text", workload="Workload", compiler_title="Compiler"),
            Column("layers", "layers_ms", "ms", "torch_xla less JAX (ms)"),
            Column("measured", "measured_ms", "ms", "torch_xla less JAX (ms)"),
            Column("Share", "share", "percent"),
        ),
        study=PRODUCTS,
        group_by="workload",
        wide=False,
        note="""Layers: the difference of each linear layer's two programs by itself, times how often the model
        has that layer. Measured: the difference of the model's two programs. Both of one run.""",
    ),
)
