"""Table of the variance between blocks, processes, rounds, runs and kinds of machine."""

from __future__ import annotations

import pandas

from stackwars.paper.tables.rows import share
from stackwars.paper.tables.tabular import Float, row, span, table
from stackwars.results.values import is_missing
from stackwars.results.variance import LEVELS
from stackwars.setup.device import CPU

_QUANTITIES = {"latency": "Steady latency", "ratio": "Steady ratio"}


def variance_table(variance: pandas.DataFrame) -> str:
    """A row for each quantity and device of the CPU, a column for each level, in percent."""
    lines = []
    for (quantity, device), rows in variance.groupby(["quantity", "device"], sort=False):
        known = rows.set_index("level").deviation
        cells = ["---" if is_missing(known[level]) else share(known[level]) for level in LEVELS]
        where = "all cores" if device == CPU else "one core"
        lines.append(row([f"{_QUANTITIES[quantity]}, {where}", *cells]))
    return table(
        Float(
            label="tab:variance",
            caption="Standard Deviation of a Number at Each Level",
            columns="l" + "r" * len(LEVELS),
            note="Of logarithms, shown as percentages; moments of the nested design, pooled over workloads. "
            "Block: within a process; process: within a round; round: within a run; run: on one kind of "
            "machine; machine: between kinds (processor, cores, last-level cache). A round of a ratio has a "
            "process of each side in it. A dash: not separable.",
        ),
        [row(["", *(f"{{{level.capitalize()}}}" for level in LEVELS)])],
        lines or [row([span(1 + len(LEVELS), "nothing was measured")])],
    )
