"""How the cost of compiling grows with a size: ``python -m stackwars.results.growth``.

Writes growth.csv (a row for each value of a size) and shapes.csv (a row for each call of a process of several
shapes).
"""

from __future__ import annotations

import gzip
import re
import statistics
from collections.abc import Set
from pathlib import Path

import pandas as pd

from stackwars import workloads
from stackwars.ir.missing import missing
from stackwars.measure import documents, nodes
from stackwars.measure.events import event
from stackwars.results.folder import Folder, command
from stackwars.study import growth

_POINT = {
    "workload": "name of the workload",
    "title": "its name in the tables",
    "framework": "how it was compiled and run, on the CPU",
    "size": "the size that grows",
    "value": "its value",
    "status": "ok, oom, timeout, unsupported, invalid or error",
    "status_detail": "why it is not ok",
}
COLUMNS: dict[str, str] = {
    **_POINT,
    "first_ms": "first call, fenced",
    "trace_ms": "part of it: tracing, where the framework tells it",
    "compile_ms": "part of it: compiling, where the framework tells it",
    "steady_ms": "median of the blocks after the second call, ms a call",
    "compile_cost_ms": "first_ms - steady_ms: what the first call takes longer than a later one",
    "operations": "operations of the StableHLO; empty of a framework that has none",
}
SHAPES: dict[str, str] = {
    **_POINT,
    "turn": "1 for the first call with this value, 2 for the second",
    "ms": "the call, fenced",
    "compiles": "executables compiled during it; empty of a framework that compiles nothing",
}
_OPERATION = re.compile(r"= \"?(?:stablehlo|chlo|mhlo)\.")


def row(point: growth.Point, folder: Path, series_nodes: Set[str] = frozenset()) -> dict:
    """The row of one value; series_nodes: the nodes of a cluster that measured all values."""
    process = documents.read(folder / "process.json")
    found = _identity(point, process)
    if process["status"] != "ok":
        return found
    if len(series_nodes) > 1:
        detail = (
            f"its series was measured on several nodes: {', '.join(sorted(series_nodes))}: times of two nodes "
            f"are not compared. Delete {folder.parent}, and it is measured again"
        )
        return found | {"status": "invalid", "status_detail": detail}
    first, steady = (event(process, name) for name in ("first", "steady"))
    found["first_ms"] = first["ns"] / 1e6
    for part in ("trace", "compile"):
        seconds = first[f"{part}_s"]
        found[f"{part}_ms"] = None if seconds is None else 1e3 * seconds
    found["steady_ms"] = statistics.median(steady["ns"]) / steady["calls"] / 1e6
    found["compile_cost_ms"] = found["first_ms"] - found["steady_ms"]
    text = gzip.decompress((folder / "stablehlo.mlir.gz").read_bytes()).decode()
    found["operations"] = None if missing(text) else len(_OPERATION.findall(text))
    return found


def shape_rows(point: growth.Point, folder: Path) -> list[dict]:
    """The rows of a process of several shapes; one, with its status, where it has none."""
    process = documents.read(folder / "process.json")
    found = _identity(point, process)
    calls = [one for one in process["events"] if one["event"] == "shape"]
    if process["status"] != "ok":
        return [found]
    return [
        found
        | {"value": one["value"], "turn": one["turn"] + 1, "ms": one["ns"] / 1e6, "compiles": one["compiles"]}
        for one in calls
    ]  # fmt: skip


def _identity(point: growth.Point, process: dict) -> dict:
    return {
        "workload": point.workload,
        "title": workloads.load(point.workload).TITLE,
        "framework": point.framework,
        "size": point.size,
        "value": None if point.value == growth.ALL else int(point.value),
        "status": process["status"],
        "status_detail": process["status_detail"],
    }


def nodes_of_series(folders: dict[growth.Point, Path]) -> dict[tuple[str, str], set[str]]:
    """{(workload, framework): the nodes of a cluster that measured its values}; folders: of the processes."""
    found: dict[tuple[str, str], set[str]] = {}
    for point, folder in folders.items():
        one = found.setdefault((point.workload, point.framework), set())
        one |= nodes.of([documents.read(folder / "process.json")])
    return found


def write(config: dict, folder: Folder) -> None:
    """Both tables; headers alone where this run measured none of it."""
    places = {point: folder.measured / point.path for point in growth.asked(config)}
    places = {p: where for p, where in places.items() if (where / "process.json").exists()}
    series_nodes = nodes_of_series({p: at for p, at in places.items() if p.value != growth.ALL})
    series, shapes = [], []
    for point, where in places.items():
        if point.value == growth.ALL:
            shapes += shape_rows(point, where)
        else:
            series.append(row(point, where, series_nodes[point.workload, point.framework]))
    pd.DataFrame(series, columns=list(COLUMNS)).to_csv(folder["growth"], index=False)
    pd.DataFrame(shapes, columns=list(SHAPES)).to_csv(folder["shapes"], index=False)


if __name__ == "__main__":
    command(write)
