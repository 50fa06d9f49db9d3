"""Whether a run falls where the others predict it: held_out.csv, each run of the reference left out in turn.

Of a single run there is nothing to hold out.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from stackwars.results import runs
from stackwars.results.combined import RATIO_KEYS, SPLIT_KEYS, over_runs
from stackwars.results.folder import Folder
from stackwars.results.runs import Run

COLUMNS: dict[str, str] = {
    "run": "the run that is left out",
    "machine": "its kind of machine",
    "known": "whether another run is of that kind",
    "ratio": "which of its ratios: first, second, steady, or ir (of replayed programs)",
    "inside": "how many lie in the 95 % prediction interval that the others give",
    "total": "of how many",
}
RATIOS = {
    "first": ("ratios.csv", RATIO_KEYS),
    "second": ("ratios.csv", RATIO_KEYS),
    "steady": ("ratios.csv", RATIO_KEYS),
    "ir": ("split.csv", SPLIT_KEYS),
}
FEWEST = 2
"""Other runs without which nothing is predicted."""


def build(accepted: list[Run]) -> pd.DataFrame:
    """COLUMNS, a row for each run and name of a ratio."""
    rows = []
    for left_out in accepted if len(accepted) > FEWEST else ():
        others = [run for run in accepted if run != left_out]
        for name, (table, keys) in RATIOS.items():
            own = left_out.table(table)
            values = own[f"{name}_ratio"]
            tables = [(run, run.table(table)) for run in others]
            found = over_runs(own, tables, keys, {name: False})
            # A ratio that no other run has keeps its own columns.
            ends = found[[f"{name}_predicted_low", f"{name}_predicted_high"]]
            known = ends.notna().all(axis=1) & values.notna()
            inside = (ends.iloc[:, 0] <= values) & (values <= ends.iloc[:, 1])
            rows.append(
                {
                    "run": left_out.identity,
                    "machine": left_out.machine,
                    "known": any(run.machine == left_out.machine for run in others),
                    "ratio": name,
                    "inside": int((known & inside).sum()),
                    "total": int(known.sum()),
                }
            )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def write(config: dict, folder: Folder) -> None:
    """held_out.csv of the reference's runs; its header alone for a run of this machine."""
    accepted = runs.read(Path(folder.measured)) if config["results"] == "reference" else []
    build(accepted).to_csv(folder["held_out"], index=False)
