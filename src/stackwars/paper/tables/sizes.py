"""How the difference of two frameworks depends on the size, and whether the rest is a fixed cost a call."""

from __future__ import annotations

import statistics
from itertools import groupby

import pandas as pd

from stackwars import workloads
from stackwars.frameworks import title
from stackwars.paper.tables.spec import Column, Table, frame, indexed, main, pooled_over, ratio
from stackwars.results import schema
from stackwars.results.dataset import Sources
from stackwars.results.schema import is_missing
from stackwars.setup.device import CPU
from stackwars.study import cells
from stackwars.study.programs import native_compiler
from stackwars.workloads import sized

STUDY = "sizes"


def costs(sources: Sources) -> list[dict]:
    """Return for each size the ms of the subject's native call and of its replay, and what other sizes predict.

    Native: the replay times the control's ratio, which is of calls that alternated. The prediction is the replay and a
    fixed cost: the median of native less replay over the other sizes of the workload.
    """
    data, subject = sources.of(STUDY), main(sources).subject
    table = data.comparisons(STUDY, quantity=schema.CONTROL, device=CPU, subject=subject, baseline=subject)
    replays = indexed(data.rows("cells", STUDY, schema.REPLAY), "workload", "compiler", "framework")

    def base(row: dict) -> str:
        return sized.base(row["workload"])

    known = []
    for row in table.to_dict("records"):
        ms = replays.get((row["workload"], row["compiler"], subject), {}).get("steady_ms")
        if not is_missing(row["ratio"]) and not is_missing(ms):
            known.append({"workload": row["workload"], "native_ms": ms * row["ratio"], "program_ms": ms})
    result = []
    for _, group in groupby(sorted(known, key=base), key=base):
        sizes = list(group)
        for row in sizes:
            others = [one["native_ms"] - one["program_ms"] for one in sizes if one is not row]
            predicted = row["program_ms"] + statistics.median(others) if others else None
            error = predicted / row["native_ms"] - 1 if others else None
            result.append(row | {"predicted_ms": predicted, "error": error})
    return result


def rows(sources: Sources) -> pd.DataFrame:
    """Return a row for each workload at each size."""
    data, pair = sources.of(STUDY), main(sources)
    native = native_compiler(sources.run.config)
    table = data.comparisons(STUDY, device=CPU, subject=pair.subject, baseline=pair.baseline)
    table = table[table["compiler"].isin(("", native))]
    ratios = indexed(table, "quantity", "workload")
    predicted = {row["workload"]: row for row in costs(sources)}
    result = []
    for workload in data.study(STUDY).workloads:
        if (schema.STEADY, workload) not in ratios:
            continue
        sizes = cells.sizes(data.config, workload)
        result.append({
            **{key: sizes[key] for key in ("batch", "sequence")},
            "native": ratio(ratios[schema.STEADY, workload]),
            "program": ratio(ratios.get((schema.REPLAY, workload))),
            **predicted.get(workload, {"native_ms": None, "program_ms": None, "predicted_ms": None, "error": None}),
            "workload": workloads.load(sized.base(workload)).TITLE,
        })  # fmt: skip
    return frame(result, pooled_over(data, table))


def columns(sources: Sources) -> tuple[Column, ...]:
    """Return the columns, named by what is compared."""
    own = title(main(sources).subject)
    return (
        *(
            Column("Workload", "workload"),
            Column("Batch", "batch", "count"),
            Column("Sequence", "sequence", "count"),
        ),
        *(Column("Native ratio", "native", "ratio"), Column("Program", "program", "ratio")),
        Column("native", "native_ms", "ms", f"{own} (ms)"),
        Column("program", "program_ms", "ms", f"{own} (ms)"),
        Column("predicted", "predicted_ms", "ms", f"{own} (ms)"),
        Column("Error", "error", "percent"),
    )


TABLES = (
    Table(
        name="sizes",
        caption="The Same Workloads at Other Sizes",
        rows=rows,
        columns=columns,
        study=STUDY,
        group_by="workload",
        wide=False,
        note=r"""Native ratio: torch\_xla over JAX. Program: their replays in the compiler that both use. Predicted:
        the replay and a fixed cost of a call, the median of native less replay over the other sizes.""",
    ),
)
