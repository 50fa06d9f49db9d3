"""Whether a run falls where the others predict it: each run of the reference left out in turn."""

from __future__ import annotations

import pandas as pd

from stackwars.results import pooling, schema
from stackwars.results.pooling import RunTable
from stackwars.results.runs import Run

COLUMNS: dict[str, str] = {
    "run": "the run that is left out",
    "machine": "its kind of machine",
    "known": "whether another run is of that kind",
    "quantity": "which of its ratios: first, second, steady or replay",
    "inside": "how many lie in the 95 % prediction interval that the others give",
    "total": "of how many",
}
QUANTITIES = (*schema.STAGES, schema.REPLAY)
FEWEST = 2
"""Other runs without which nothing is predicted."""


def table(accepted: list[Run]) -> pd.DataFrame:
    """Return COLUMNS, a row for each run and quantity; no row of too few runs."""
    every = [RunTable(run.identity, run.machine, _timed(run)) for run in accepted]
    rows = []
    for left_out in every if len(every) > FEWEST else ():
        others = [one for one in every if one is not left_out]
        pooled = pooling.pool(others).set_index(schema.COMPARISON_KEYS)
        predicted = pooled[["predicted_low", "predicted_high"]].add_suffix("_of_others")
        own = left_out.comparisons.join(predicted, on=schema.COMPARISON_KEYS)
        known = own[own["predicted_low_of_others"].notna() & own["ratio"].notna()]
        inside = known["ratio"].between(known["predicted_low_of_others"], known["predicted_high_of_others"])
        for quantity in QUANTITIES:
            of_it = known["quantity"] == quantity
            rows.append(
                {
                    "run": left_out.run,
                    "machine": left_out.machine,
                    "known": any(one.machine == left_out.machine for one in others),
                    "quantity": quantity,
                    "inside": int((of_it & inside).sum()),
                    "total": int(of_it.sum()),
                }
            )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _timed(run: Run) -> pd.DataFrame:
    found = run.table("comparisons")
    return found[found["quantity"].isin(QUANTITIES)].reset_index(drop=True)
