"""Where the time of each replayed program's call goes, by class of operation: op_times.csv.

The profile is of calls of their own, in the replay's first process (`stackwars.compilers.profile`), and stands
beside what the same process timed without the profiler: `adds_up` says whether they agree. The workloads that
this run has not profiled are of accepted runs, a run each.
"""

from __future__ import annotations

from collections import Counter

import pandas as pd

from stackwars import workloads
from stackwars.compilers.op_classes import CLASSES, DISPATCH
from stackwars.measure import documents
from stackwars.results import processes
from stackwars.results.folder import Folder
from stackwars.results.processes import Values
from stackwars.results.whole_study import RUN, Source, by_workload, sources
from stackwars.study import programs

COLUMNS: dict[str, str] = {
    "workload": "name of the workload",
    "title": "its name in the tables",
    "framework": "whose program: a framework, or framework+edit for an edited one",
    "compiler": "what compiled and ran it",
    "device": "where it ran",
    "class": "class of operations, or dispatch: what of the call no operation takes",
    "ms": "what its operations take of the profiled call of median time; where operations overlap, each has "
    "an equal part",
    "share": "of the whole profiled call",
    "operations": "operations of the class that ran by themselves; a fusion or a loop's operation is one",
    "calls": "profiled calls, of which the median one is told",
    "profiled_ms": "the profiled call: the sum of its classes",
    "call_ms": "median steady block of the same process, without the profiler, ms a call",
    "excess": "profiled_ms / call_ms - 1",
    "adds_up": "whether that is within ADDS_UP of 0: the classes then are those of a timed call",
    "origin": "measured (this machine) or reference (the committed run)",
    **RUN,
}
ADDS_UP = 0.10
"""By what share of a call its classes may miss it."""


def build(profiles: list[dict], values: Values, origin: str) -> pd.DataFrame:
    """COLUMNS, a row for each class of each program; profiles: the content of every profile.json."""
    rows = [
        {**_head(profile), "framework": framework, **row, "origin": origin}
        for profile in profiles
        for framework in profile["programs"]
        for row in _classes(profile, framework, values)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def whole(own: pd.DataFrame, accepted: list[Source]) -> pd.DataFrame:
    """COLUMNS of this run and, of a workload that it has not profiled, of an accepted run (`by_workload`)."""
    known = {source.run: _alone(source) for source in accepted}
    found = by_workload({"": own, **{run: table for run, table in known.items() if len(table)}})
    found.loc[found["run"] != "", "origin"] = "reference"
    return found.reindex(columns=list(COLUMNS))


def _alone(source: Source) -> pd.DataFrame:
    """What an accepted run profiled itself: its table has other runs' profiles too."""
    table = source.table("op_times.csv")
    if table is None:
        return pd.DataFrame(columns=list(COLUMNS))
    return table[table["run"].isna()] if "run" in table else table


def _head(profile: dict) -> dict:
    return {
        **{key: profile[key] for key in ("workload", "compiler", "device")},
        "title": workloads.load(profile["workload"]).TITLE,
    }


def _classes(profile: dict, framework: str, values: Values) -> list[dict]:
    program = profile["programs"][framework]
    seconds: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for operation in program["operations"].values():
        seconds[operation["class"]] += operation["seconds"]
        counts[operation["class"]] += 1
    whole = program["wall_s"]
    seconds[DISPATCH] += whole - sum(seconds.values())
    key = tuple(profile.get(name, framework) for name in processes.KEYS)
    value = values.get(key, {}).get(profile["repetition"])
    timed = None
    if value is not None:
        timed = value.all_ms if value.gated_ms is None else value.gated_ms
    excess = 1e3 * whole / timed - 1 if timed else None
    whole_call = {
        "calls": program["calls"],
        "profiled_ms": 1e3 * whole,
        "call_ms": timed,
        "excess": excess,
        "adds_up": excess is not None and abs(excess) <= ADDS_UP,
    }
    return [
        {
            "class": name,
            "ms": 1e3 * seconds[name],
            "share": seconds[name] / whole,
            "operations": counts[name],
            **whole_call,
        }
        for name in CLASSES
    ]


def write(config: dict, folder: Folder) -> None:
    """op_times.csv from the profiles, replayed.csv and the accepted runs' profiles."""
    paths = [folder.measured / one.path / "profile.json" for one in programs.replays(config)]
    profiles = [documents.read(path) for path in paths if path.exists()]
    values = processes.read(folder["replayed"])
    folder.results.mkdir(parents=True, exist_ok=True)
    own = build(profiles, values, config["results"])
    place = {name: number for number, name in enumerate(config["workloads"])}
    found = whole(own, sources(folder)[1:])
    found = found.sort_values("workload", key=lambda names: names.map(place), kind="stable")
    found.to_csv(folder["op_times"], index=False)
