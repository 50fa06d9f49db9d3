"""effects.csv pooled over runs, by the model that pools ratios.

Few workloads of the matrix have two runs, so all shares are one family, and its runs are those of one kind of machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from stackwars.results import schema
from stackwars.results.nested import Pooled, RunValue
from stackwars.results.pooling import Row, RunTable, pool_values, rows_by_key
from stackwars.results.schema import is_missing


def pool(tables: Sequence[RunTable]) -> pd.DataFrame:
    """Return one row for every effect of a workload; intervals are not set: that is `effects.decided`.

    tables: effects.csv of each run without the means over the workloads, the oldest run first. Blocks of other sizes
    have other effects: the largest block counts, in all runs that have it.
    """
    rows = {key: _comparable(of_key) for key, of_key in rows_by_key(tables, schema.KEYS["effects"]).items()}
    members = {key: values for key, of_key in rows.items() if (values := _values(of_key))}
    found = pool_values(members)
    return schema.typed(
        pd.DataFrame(
            [
                _columns(found[key], members[key], of_key) if key in found else of_key[-1]
                for key, of_key in rows.items()
            ],
            columns=list(schema.EFFECTS),
        )
    )


def _comparable(of_key: list[Row]) -> list[Row]:
    block = max((row["frontends"] * row["compilers"], row["frontends"]) for row in of_key)
    return [row for row in of_key if (row["frontends"] * row["compilers"], row["frontends"]) == block]


def _values(of_key: list[Row]) -> list[RunValue]:
    return [
        RunValue("", row["share"], row["error"] ** 2, row["rounds"], row["dof"])
        for row in of_key
        if not is_missing(row["error"])
    ]


def _columns(pooled: Pooled, values: list[RunValue], of_key: list[Row]) -> Row:
    known = [row for row in of_key if not is_missing(row["error"])]
    return {
        **{name: known[-1][name] for name in (*schema.KEYS["effects"], "frontends", "compilers")},
        **{"share": pooled.mean.log, "error": pooled.mean.error, "dof": pooled.mean.freedom},
        "factor": math.exp(math.sqrt(np.mean([math.log(row["factor"]) ** 2 for row in known]))),
        **{"rounds": sum(value.rounds for value in values), "runs": len(values)},
        **{
            "machines": len({row["machine"] for row in known}),
            "run": known[-1]["run"] if len(values) == 1 else "",
        },
    }
