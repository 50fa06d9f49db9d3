"""cells.csv: everything that a run measured, one row a cell."""

from __future__ import annotations

import pandas as pd

from stackwars.results import native, other_cells, schema
from stackwars.results.raw import Raw


def build(config: dict, raw: Raw) -> pd.DataFrame:
    """Return cells.csv: native cells in the order of the grid, then replays, growth, shapes and several
    devices."""
    return schema.table(
        "cells",
        [
            *native.rows(config, raw),
            *other_cells.replayed(config, raw),
            *other_cells.grown(raw),
            *other_cells.sharded(config, raw),
        ],
    )
