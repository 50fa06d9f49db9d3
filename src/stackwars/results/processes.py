"""What each process says, as a table: its calls are analysed once, and everything else reads the answer.

processes.csv has the processes of the cells, replayed.csv every program in the processes of its replays.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from stackwars.measure import process_value
from stackwars.measure.contention import MAX_OTHER_PROCESSES_SHARE
from stackwars.measure.events import event
from stackwars.measure.process_value import MIN_UNCONTENDED, ProcessValue
from stackwars.study.cells import Cell

COLUMNS: dict[str, str] = {
    "workload": "name of the workload",
    "framework": "how it was compiled and run; for a replay: whose program",
    "device": "where it ran",
    "compiler": "generation of XLA that replayed; in replayed.csv only",
    "repetition": "its round",
    "value_ms": "median of its uncontended steady blocks, or of all where it is not gated: ms a call",
    "gated": "whether only uncontended blocks count",
    "why": "why they do not, or why there is no value at all; empty where it is gated",
    "ungated_ms": "median of all its steady blocks",
    "kept_share": "share of its steady blocks that are uncontended",
    "class": "class of its series of calls, see measure.steady",
    "warmup_points": "points (call 1, call 2, blocks) before the steady state",
    "steady_blocks": "blocks of the steady state: this many of its last",
    "block_deviation": "standard deviation of the logarithms of their times; empty of a single one",
}
KEYS = ("workload", "framework", "device", "compiler")
Values = dict[tuple[str, ...], dict[int, ProcessValue]]
"""{(workload, framework, device) or, of a replay, those and the compiler: {round: value of the process}}."""


def build(cells: dict[Cell, dict]) -> pd.DataFrame:
    """processes.csv: a row for each process of each cell; cells: the content of every cell.json."""
    rows = []
    for cell, result in cells.items():
        head, processes = {name: vars(cell)[name] for name in KEYS[:3]}, result["processes"]
        if result["status"] == "ok":
            blocks = {p["repetition"]: event(p, "steady") for p in processes}
            rows += _rows(head, process_value.of_processes(processes), blocks)
        else:
            told = [(p["repetition"], p["status_detail"] or result["status"]) for p in processes]
            rows += [{**head, "repetition": r, "gated": False, "why": why} for r, why in told]
    return _table(rows, [name for name in COLUMNS if name != "compiler"])


def build_replayed(replays: list[dict]) -> pd.DataFrame:
    """replayed.csv: a row for each ok program in each process; replays: the content of every replay.json."""
    rows = []
    for replay in replays:
        rounds = [process["repetition"] for process in replay["processes"]]
        for framework, program in replay["programs"].items():
            if program["status"] == "ok":
                head = {**{name: replay.get(name) for name in KEYS}, "framework": framework}
                singles = zip(program["first_ns"], program["second_ns"], strict=True)
                both = zip(singles, program["steady"], strict=True)
                values = process_value.of_rounds(dict(zip(rounds, both, strict=True)))
                rows += _rows(head, values, dict(zip(rounds, program["steady"], strict=True)))
    return _table(rows, list(COLUMNS))


def accepted(table: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """processes.csv with no number of a cell that the frame calls invalid; why says what the frame says."""
    keys = list(KEYS[:3])
    refused = frame[frame["status"] == "invalid"].set_index(keys)["status_detail"]
    rows = table["value_ms"].notna() & table.set_index(keys).index.isin(refused.index)
    made = table.copy()
    told = [refused[key] for key in made.loc[rows, keys].itertuples(index=False, name=None)]
    made["why"] = made["why"].astype(object)
    made.loc[rows, "why"] = told
    made.loc[rows, "gated"] = False
    numbers = [name for name in made if name not in (*KEYS, "repetition", "gated", "why")]
    made[numbers] = made[numbers].mask(rows)
    return made


def _table(rows: list[dict], columns: list[str]) -> pd.DataFrame:
    """Counts are whole numbers also beside rows that have none."""
    whole = {"warmup_points": "Int64", "steady_blocks": "Int64"}
    return pd.DataFrame(rows, columns=columns).astype(whole)


def _rows(head: dict, values: dict[int, ProcessValue], blocks: dict[int, dict]) -> list[dict]:
    return [
        {
            **head,
            "repetition": number,
            "value_ms": value.all_ms if value.gated_ms is None else value.gated_ms,
            "gated": value.gated_ms is not None,
            "why": "" if value.gated_ms is not None else _why(value, blocks[number]),
            "ungated_ms": value.all_ms,
            "kept_share": value.kept,
            "class": value.kind,
            "warmup_points": value.warmup,
            "steady_blocks": value.blocks,
            "block_deviation": _deviation(blocks[number]["ns"][-value.blocks :]),
        }
        for number, value in values.items()
    ]


def _deviation(ns: list[int]) -> float | None:
    return float(np.log(ns).std(ddof=1)) if len(ns) > 1 else None


def _why(value: ProcessValue, blocks: dict) -> str:
    """Why a process is not gated."""
    if blocks["other_processes_share"] > MAX_OTHER_PROCESSES_SHARE:
        share, most = 100 * blocks["other_processes_share"], 100 * MAX_OTHER_PROCESSES_SHARE
        return f"other processes had {share:.1f} % of the cores, over {most:.0f} %"
    kept = round(value.kept * value.blocks)
    return f"{kept} of {value.blocks} steady blocks are uncontended, {MIN_UNCONTENDED} are needed"


def values(table: pd.DataFrame) -> Values:
    """The values of a table's processes, in its order; those without one are left out."""
    found: Values = {}
    keys = [name for name in KEYS if name in table]
    for row in table[table["value_ms"].notna()].to_dict("records"):
        found.setdefault(tuple(row[name] for name in keys), {})[row["repetition"]] = ProcessValue(
            row["value_ms"] if row["gated"] else None,
            row["ungated_ms"],
            row["kept_share"],
            row["class"],
            int(row["warmup_points"]),
            int(row["steady_blocks"]),
        )
    return found


def read(path: Path) -> Values:
    """The values of processes.csv or replayed.csv, each number the very one that was written."""
    return values(pd.read_csv(path))
