"""Every stack beside the best of its workload: stacks.csv."""

from __future__ import annotations

import pandas as pd

from stackwars.results.folder import Folder
from stackwars.results.whole_study import RUN, Source, rows, sources
from stackwars.setup.device import CPU
from stackwars.study.studies import Study, whole

STUDY = "stacks"
QUANTITIES = {"steady": "steady_ms", "first": "first_ms", "memory": "peak_rss_bytes"}
"""What is compared, and the column of the frame that has it."""
KEYS = ["workload", "device", "framework"]
_RATIO = (
    *("steady_ratio", "steady_ratio_low", "steady_ratio_high", "steady_error", "steady_freedom"),
    "steady_verdict",
)
COLUMNS: dict[str, str] = {
    "workload": "name of the workload",
    "title": "its name in the tables",
    "kind": "basic operation or model",
    "framework": "the stack",
    "device": "where it ran",
    "status": "ok, oom, timeout, unsupported, invalid, error or not run",
    "status_detail": "why it is not ok",
    "first_ms": "first call, as in the frame",
    "steady_ms": "steady state, as in the frame",
    "returned_ms": "median time until a call of the steady state returned, as in the frame",
    "peak_rss_bytes": "resident set: maximum over the processes",
    "steady_over_best": "steady_ms / the workload's smallest",
    "first_over_best": "the same of first_ms",
    "memory_over_best": "the same of peak_rss_bytes; empty, as they are, of a cell that is not ok",
    "steady_ratio": "stack / baseline, from interleaved runs, as in ratios.csv; empty for the baseline",
    "steady_ratio_low": "lower end of its 95 % interval",
    "steady_ratio_high": "upper end",
    "steady_error": "standard error of its logarithm",
    "steady_freedom": "degrees of freedom of that",
    "steady_verdict": "slower, faster, no difference found, unresolved, not decided or no data",
    **RUN,
}


def build(study: Study, found: list[Source], *further: str) -> pd.DataFrame:
    """COLUMNS, one row for each workload and framework of the study, on the CPU.

    further: more columns of the frame, behind them.
    """
    frame = rows(study, "frame.csv", found, study.frameworks)
    frame = frame[frame["device"] == CPU].reset_index(drop=True)
    names = [name for name in COLUMNS if not name.endswith("_over_best") and name not in _RATIO]
    names += further
    frame = frame.reindex(columns=names)
    for name, column in QUANTITIES.items():
        # What a process that failed held until then is no need of the workload's.
        ok = frame[column].where(frame["status"] == "ok")
        frame[f"{name}_over_best"] = ok / ok.groupby(frame["workload"]).transform("min")
    known = [
        source.table("ratios.csv")[[*KEYS, *_RATIO]].assign(run=source.run)
        for source in found
        if source.run in set(frame["run"])
    ]
    if known:
        frame = frame.merge(pd.concat(known, ignore_index=True), how="left", on=[*KEYS, "run"])
    return frame.reindex(columns=[*COLUMNS, *further])


def write(config: dict, folder: Folder) -> None:
    """stacks.csv; a header alone where the configuration has no such study."""
    if STUDY in config["studies"]:
        table = build(whole(config, STUDY), sources(folder))
    else:
        table = pd.DataFrame(columns=list(COLUMNS))
    table.to_csv(folder["stacks"], index=False)
