"""The decomposition of the matrix without some of its frontends and compilers: matrix_subsets.csv.

Most of the frontends lower the same PyTorch model, and one compiler is no XLA. Whether the answer rests on
that is seen by leaving them out.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from stackwars import frameworks
from stackwars.compilers import XLA
from stackwars.results import matrix
from stackwars.results.compiler_verdicts import SUBSET_ALL as ALL
from stackwars.results.compiler_verdicts import SUBSET_BOTH as BOTH
from stackwars.results.compiler_verdicts import SUBSET_ONE_EACH as ONE_EACH
from stackwars.results.compiler_verdicts import SUBSET_XLA as OF_XLA
from stackwars.results.folder import Folder
from stackwars.results.whole_study import Source, sources
from stackwars.study.comparisons import with_programs

COLUMNS: dict[str, str] = {
    "subset": f"{ALL}; {OF_XLA}: the compilers that are XLA, in any form; {ONE_EACH}: of the frontends of one "
    f"dialect, such as PyTorch's, the first that is compared; {BOTH}",
    **matrix.EFFECTS,
}


def subsets(config: dict, cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The cells of the matrix that each subset has. cells: of matrix.csv."""
    first = cells["framework"].isin(first_of_dialects(with_programs(config)))
    xla = cells["compiler"].isin(
        [name for name, row in config["compilers"].items() if row.get("module", XLA) == XLA]
    )
    return {ALL: cells, OF_XLA: cells[xla], ONE_EACH: cells[first], BOTH: cells[xla & first]}


def first_of_dialects(names: Iterable[str]) -> list[str]:
    """Of the frameworks of each dialect the first."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(frameworks.load(name).DIALECT, name)
    return list(found.values())


def build(config: dict, cells: pd.DataFrame, found: list[Source]) -> pd.DataFrame:
    """COLUMNS: the rows of matrix_effects.csv for each subset. cells: of matrix.csv."""
    tables = [
        matrix.effects(some, found).assign(subset=name)
        for name, some in subsets(config, cells).items()
    ]
    return pd.concat(tables, ignore_index=True).reindex(columns=list(COLUMNS))


def write(config: dict, folder: Folder) -> None:
    """matrix_subsets.csv, from matrix.csv and its runs; headers alone where the study is not configured."""
    made = pd.DataFrame(columns=list(COLUMNS))
    if matrix.STUDY in config["studies"]:
        cells = pd.read_csv(folder["matrix"], dtype={"run": str})
        cells["run"] = cells["run"].astype(object).fillna("")
        made = build(config, cells, sources(folder))
    made.to_csv(folder["matrix_subsets"], index=False)
