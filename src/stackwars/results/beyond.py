"""What is not one dense forward pass: beyond.csv.

Beside the stacks' columns it has the two forms of a function beside each other: a workload that computes the
function of another one in another form says so in `FORM_OF`.
"""

from __future__ import annotations

import math

import pandas as pd
from scipy.special import stdtrit  # scipy.stats takes a second to load

from stackwars import workloads
from stackwars.measure.comparison import direction
from stackwars.measure.log_ratio import LogRatio
from stackwars.measure.statistics import LEVEL
from stackwars.results import losses, stacks
from stackwars.results.folder import Folder
from stackwars.results.values import is_missing
from stackwars.results.verdicts import NO_DATA
from stackwars.results.whole_study import sources
from stackwars.study import cells
from stackwars.study.studies import whole

STUDY = "beyond"
STAGES = ("steady", "first")
_FORM = {
    "form_of": "the workload whose function it computes in another form; empty where it is no other form",
    "form_detail": "why the two are not compared; empty where they are",
}
for _stage in STAGES:
    _FORM |= {
        f"form_{_stage}_ratio": f"its {_stage}_ms / that workload's, in the same framework and run",
        f"form_{_stage}_low": "lower end of its 95 % interval: both vary over their rounds independently",
        f"form_{_stage}_high": "upper end",
        f"form_{_stage}_verdict": "slower, faster, no difference found, unresolved, not decided or no data",
    }
_OF_THE_FRAME = (
    *(
        "nodes",
        "rounds",
        "steady_processes",
        "steady_low_ms",
        "steady_high_ms",
        "first_low_ms",
        "first_high_ms",
    ),
    *("parity_rel_l2", "compiles_first", "compiles_second", "compiles_steady"),
    *("graphs", "graph_breaks"),
    *losses.COLUMNS,
)
COLUMNS: dict[str, str] = {
    **stacks.COLUMNS,
    **dict.fromkeys(_OF_THE_FRAME, "as in the frame"),
    "losses_bound": "how far they may part by rounding, as workloads/losses.py derives it",
    **_FORM,
}


def logarithm(row: pd.Series, stage: str) -> LogRatio | None:
    """The logarithm of a time in ms and its error over the rounds; None where there is none."""
    value, low, high = (row[f"{stage}{end}_ms"] for end in ("", "_low", "_high"))
    if is_missing(value):
        return None
    # Runs that were accepted before it was counted have no number of gated processes.
    gated = row["steady_processes"] if stage == "steady" else None
    processes = row["rounds"] if is_missing(gated) else gated
    if is_missing(low) or processes < 2:
        return LogRatio(math.log(value), None, None)
    freedom = float(processes - 1)
    half = math.log(high / low) / 2
    return LogRatio(math.log(value), half / stdtrit(freedom, (1 + LEVEL) / 2), freedom)


def _apart(row: pd.Series, other: pd.Series | None) -> str:
    """Why two forms cannot be compared: they were not measured on one machine. Empty where they can."""
    if other is None:
        return ""
    if other["run"] != row["run"]:
        return f"{other['workload']} is of another run"
    here, there = ("" if is_missing(one["nodes"]) else str(one["nodes"]) for one in (row, other))
    if here == there:
        return ""
    return (
        f"measured on node {here or 'unknown'}, {other['workload']} on node {there or 'unknown'}: times of two "
        "nodes are not compared. Delete both workloads' cells, and measure them in a partition of one node"
    )


def forms(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the columns of _FORM: each special form over the plain one, framework by framework."""
    rows = {(row["workload"], row["framework"]): row for _, row in table.iterrows()}
    added = []
    for (workload, framework), row in rows.items():
        plain = getattr(workloads.load(workload), "FORM_OF", None)
        other = rows.get((plain, framework))
        one = {"form_of": plain, "form_detail": _apart(row, other)}
        for stage in STAGES:
            estimate = None
            if other is not None and not one["form_detail"]:
                times = [logarithm(side, stage) for side in (row, other)]
                if all(times):
                    estimate = times[0].plus(times[1], others=-1.0).estimate()
            one |= {
                f"form_{stage}_ratio": estimate and estimate.value,
                f"form_{stage}_low": estimate and estimate.low,
                f"form_{stage}_high": estimate and estimate.high,
                f"form_{stage}_verdict": direction(estimate) if estimate else NO_DATA,
            }
        added.append(one)
    return table.join(pd.DataFrame(added, columns=list(_FORM), index=table.index))


def _bound(config: dict, workload: str) -> float | None:
    rel = getattr(workloads.load(workload), "losses_rel", None)
    return rel and rel(cells.sizes(config, workload))


def write(config: dict, folder: Folder) -> None:
    """beyond.csv; a header alone where the configuration has no such study."""
    if STUDY in config["studies"]:
        table = forms(stacks.build(whole(config, STUDY), sources(folder), *_OF_THE_FRAME))
        table["losses_bound"] = [_bound(config, name) for name in table["workload"]]
    else:
        table = pd.DataFrame()
    table.reindex(columns=list(COLUMNS)).to_csv(folder["beyond"], index=False)
