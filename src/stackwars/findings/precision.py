"""Findings about the precision of products: what the default one changes in bytes on the original's device."""

from __future__ import annotations

import pandas

from stackwars.results import compiler_verdicts as words
from stackwars.results import verdicts
from stackwars.results.read_compilers import BASE, TARGET, compilers
from stackwars.results.verdicts import Finding, finding


def precision_findings(ahead: pandas.DataFrame, default: pandas.DataFrame) -> list[Finding]:
    """``default_precision/<workload>/<framework>``: the bytes of its program at the default precision over
    those of the same program as it was emitted, by the newest compiler.

    ahead: the programs as they were emitted; default: those edited.
    """
    keys = ["workload", "framework", "compiler"]
    emitted = ahead[(ahead.target == TARGET) & (ahead.variant == BASE)].set_index(keys)
    here = default[default.target == TARGET]
    order = compilers(here)
    found = []
    for _, row in here[here.compiler.isin(order[-1:])].iterrows():
        key = tuple(row[keys])
        if key in emitted.index:
            base = emitted.loc[key]
            found.append(
                finding(
                    f"default_precision/{row.workload}/{row.framework}",
                    words.amount(row.hbm_bytes, base.hbm_bytes),
                    workload=row.workload,
                    framework=row.framework,
                    title=row.title,
                    ratio=_ratio(row.hbm_bytes, base.hbm_bytes),
                    low=None,
                    high=None,
                    temporaries=_ratio(row.temp_bytes, base.temp_bytes),
                )
            )
    return found


def _ratio(one: float, base: float) -> float | None:
    """One amount over the other; None where either is missing."""
    return None if words.amount(one, base) == verdicts.NO_DATA else one / base
