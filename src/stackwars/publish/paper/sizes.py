"""Dependence of the difference of two frameworks on the size."""

from __future__ import annotations

import pandas as pd

from stackwars.measure import workloads
from stackwars.measure.workloads import sized
from stackwars.setup.device import CPU
from stackwars.study import cells
from stackwars.study.comparisons import Comparison
from stackwars.study.results import runs, schema
from stackwars.study.results.dataset import Dataset

STUDY = "sizes"
SWEEPS = ("batch", "sequence")


def of_one_run(data: Dataset, name: str) -> pd.DataFrame:
    """Return the rows of the study in a table of the run; of the reference those of each workload in its newest run.

    Sizes are compared with each other: a ratio that is pooled over other machines too would not fit the others.
    """
    table = data.table(name)
    if data.is_reference:
        measured = [
            run.table(name).assign(run=run.identity) for run in runs.read() if STUDY in run.context["studies"]
        ]
        table = pd.concat(measured, ignore_index=True) if measured else table.iloc[:0]
    table = table[table["workload"].isin(data.config.studies[STUDY].workloads) & (table["device"] == CPU)]
    if not data.is_reference:
        return table
    newest = table.groupby(table["workload"].map(sized.base))["run"].transform("max")
    return table[table["run"] == newest]


def sweeps(data: Dataset, pair: Comparison) -> pd.DataFrame:
    """Return the native ratios and those of replays, a row for each point of each sweep.

    Columns of comparisons.csv (`compiler` is empty of a native ratio), `workload` as the title without sizes, the
    `sweep`, which is the size that differs, and its `size`. The preset's sizes are a point of both sweeps.
    """
    table = of_one_run(data, "comparisons")
    table = table[(table["subject"] == pair.subject) & (table["baseline"] == pair.baseline)]
    table = table[table["quantity"].isin((schema.STEADY, schema.REPLAY)) & table["ratio"].notna()]
    # Another study of the run may have replayed the same workload in more compilers.
    table = table[table["compiler"].isin(("", *data.study(STUDY).compilers))]
    result = []
    for row in table.to_dict("records"):
        base = sized.base(row["workload"])
        sizes, usual = (cells.sizes(data.config, name) for name in (row["workload"], base))
        for sweep, other in (SWEEPS, SWEEPS[::-1]):
            if sizes[other] == usual[other]:
                title = workloads.load(base).TITLE
                result.append(row | {"workload": title, "sweep": sweep, "size": sizes[sweep]})
    return pd.DataFrame(result, columns=[*table.columns, "sweep", "size"])
