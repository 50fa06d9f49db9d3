"""Table of what a compiler computes in one kernel: ``python -m stackwars.results.fused`` writes fused.csv.

From what the compilers of JAX (XLA) and of TorchInductor made of a program. `stackwars.compilers.fused` has the
rule.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from stackwars import workloads
from stackwars.compilers import fused
from stackwars.results.folder import Folder, command
from stackwars.results.forms import form
from stackwars.study import printed

COLUMNS: dict[str, str] = {
    "workload": "name of the workload",
    "title": "its name in the tables",
    "framework": "whose program and compiler",
    "operation": "kind of operation, by the name that it has in both programs",
    "verdict": "fused, apart or in part: whether a kernel computes it together with operations of another kind",
}


def build(measured: Path, config: dict) -> pd.DataFrame:
    """COLUMNS, a row for each kind of operation of every cell with forms; those that there are."""
    rows = []
    for workload, (jax, inductor) in printed.with_forms(config).items():
        for cell in (jax, inductor):
            folder = measured / cell.path
            try:
                verdicts = (
                    fused.by_xla(form(folder, "optimised_hlo"))
                    if cell is jax
                    else fused.by_inductor(form(folder, "fx_graph"), form(folder, "generated_code"))
                )
            except FileNotFoundError:
                continue
            title = workloads.load(workload).TITLE
            rows += [(workload, title, cell.framework, *found) for found in verdicts.items()]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def write(config: dict, folder: Folder) -> None:
    """fused.csv; its header alone where no cell has forms."""
    folder.results.mkdir(parents=True, exist_ok=True)
    build(folder.measured, config).to_csv(folder["fused"], index=False)


if __name__ == "__main__":
    command(write)
