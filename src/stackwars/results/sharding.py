"""sharding.csv: a row for each program of several devices: ``python -m stackwars.results.sharding``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from stackwars import workloads
from stackwars.compilers.collectives import KINDS
from stackwars.frameworks import title
from stackwars.measure import documents
from stackwars.measure.events import event
from stackwars.measure.parity import limit
from stackwars.results.folder import Folder, command
from stackwars.study import cells, sharding
from stackwars.study.programs import Compilation
from stackwars.study.sharding import Point
from stackwars.workloads import parallel

COLUMNS: dict[str, str] = {
    "workload": "name of the workload",
    "title": "its name in the tables",
    "frontend": "how it was written for several devices; of a slice, the framework",
    "frontend_title": "its name in the tables",
    "framework": "the framework that made the program",
    "way": "data or tensor: what is divided",
    "target": "cpu, or the slice that it was compiled for",
    "devices": "among how many devices it is divided",
    "status": "ok, invalid (another output than that of one device), oom, timeout, unsupported or error",
    "status_detail": "why it is not ok",
    "rel_l2": "of the result that is furthest from that of one device, relative L2; on the CPU",
    "emitted": "collectives in the program as it was emitted; on the CPU",
    "emitted_bytes": "of their results, on one device",
    **{
        kind: f"of these in the program as XLA divided it: {kind.replace('_', '-')}"
        for kind in KINDS
    },
    "bytes": "of the results of all of them, on one device",
    "verdict": "fits or oom; of a slice",
    "device_bytes": "that one chip needs, its code left out; of a slice",
    "usable_bytes": "that one chip has; of a slice",
}


def cpu_row(config: dict, point: Point, process: dict) -> dict:
    """The row of a process on this machine's devices."""
    found = {
        "workload": point.workload,
        "title": workloads.load(point.workload).TITLE,
        "frontend": point.frontend,
        "frontend_title": sharding.title(point.frontend),
        "framework": point.framework,
        "way": point.way,
        "target": "cpu",
        "devices": point.devices,
        "status": process["status"],
        "status_detail": process["status_detail"],
    }
    if process["status"] != "ok":
        return found
    compared = event(process, "compared")
    emitted = compared["emitted"]
    found |= {
        "rel_l2": compared["rel_l2"],
        "emitted": sum(emitted[kind] for kind in KINDS),
        "emitted_bytes": emitted["bytes"],
        **compared["partitioned"],
    }
    common = cells.settings(config)["parity_rel_l2"]
    bound = limit(point.workload, process["sizes"], common)
    if compared["rel_l2"] > bound:
        found["status"] = "invalid"
        found["status_detail"] = (
            f"relative L2 error {compared['rel_l2']:.2e} against one device, over {bound:.0e}"
        )
    return found


def slice_row(compilation: Compilation, result: dict) -> dict:
    """The row of a compilation for a slice."""
    program = compilation.program
    division = parallel.of_variant(workloads.load(program.workload), program.variant)
    return {
        "workload": program.workload,
        "title": workloads.load(program.workload).TITLE,
        "frontend": program.framework,
        "frontend_title": title(program.framework),
        "framework": program.framework,
        "way": division.way,
        "target": compilation.target,
        "devices": division.devices,
        "status": result["status"],
        "status_detail": result["message"],
        **((result["hlo"] or {}).get("collectives") or {}),
        "verdict": result["verdict"],
        "device_bytes": result["hbm_bytes"],
        "usable_bytes": result["usable_bytes"],
    }


def table(config: dict, measured: Path) -> pd.DataFrame:
    """COLUMNS of everything that this run has of it."""
    rows = []
    for point in sharding.asked(config):
        path = measured / point.path / "process.json"
        if path.exists():
            rows.append(cpu_row(config, point, documents.read(path)))
    for compilation in sharding.slices(config):
        path = measured / compilation.path / "ahead.json"
        if path.exists():
            rows.append(slice_row(compilation, documents.read(path)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def write(config: dict, folder: Folder) -> None:
    """sharding.csv; the header alone where this run measured none of it."""
    table(config, folder.measured).to_csv(folder["sharding"], index=False)


if __name__ == "__main__":
    command(write)
