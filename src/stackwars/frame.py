"""All results as tidy tables: one row per asked-for cell, also for those that were not run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from stackwars import audit, cells, workloads
from stackwars.cells import Cell
from stackwars.measure.cell import derive
from stackwars.measure.peak import floor_ms
from stackwars.measure.statistics import paired_ratio

COLUMNS: dict[str, str] = {
    "workload": "name of the workload",
    "title": "its name in the tables",
    "kind": "basic operation or model",
    "table": "the table of the paper that it belongs to: I, II or III",
    "framework": "how it was compiled and run",
    "device": "where it ran",
    "preset": "which sizes",
    "status": "ok, oom, timeout, unsupported, invalid, error, or not run",
    "status_detail": "why it is not ok",
    "origin": "measured (this machine) or reference (the committed run)",
    "repetitions": "processes that were measured",
    "first_ms": "first call, fenced: geometric mean over the processes",
    "first_low_ms": "lower end of its 95 % interval across processes",
    "first_high_ms": "upper end",
    "second_ms": "second call, as the first",
    "second_low_ms": "lower end of its interval",
    "second_high_ms": "upper end",
    "steady_ms": "steady state: geometric mean over the processes of the median call",
    "steady_low_ms": "lower end of its interval",
    "steady_high_ms": "upper end",
    "steady_calls": "steady calls in all processes",
    "items_per_s": "rows, sequences or images a second at the steady state",
    "gflop_per_s": "analytic FLOPs of matrix products and convolutions over the steady state, in 1e9/s",
    "peak_rss_bytes": "largest resident set of any process",
    "parity_rel_l2": "relative L2 error of the output sample against the baseline; in its own row the largest",
    "compiles_first": "executables compiled during call 1",
    "compiles_second": "during call 2",
    "compiles_steady": "during all steady calls of a process",
    "first_trace_ms": "part of call 1: tracing (JAX: and lowering to StableHLO); median",
    "first_compile_ms": "part of call 1: compiling; median",
    "first_execute_ms": "part of call 1: the rest (running, transfers, dispatch); median",
    "floor_ms": "least time that this machine can need, see stackwars.measure.peak.floor_ms",
    "flops": "analytic FLOPs of one call",
    "parameter_bytes": "bytes of the weights",
    "import_s": "importing the framework and the workload: median",
    "build_s": "making the weights and placing them: median",
    "wall_s": "wall time of all processes of the cell, start to end",
    "dtype": "element types of the matrix products, read back from the StableHLO",
    "precision": "their precisions, read back from the StableHLO",
    "stablehlo_sha256": "digest of the StableHLO text",
}
CALL_COLUMNS = ("workload", "framework", "device", "repetition", "call", "latency_ms")
RATIO_COLUMNS = (
    *("workload", "device", "framework", "baseline"),
    *(f"{n}_ratio{end}" for n in ("first", "second", "steady") for end in ("", "_low", "_high")),
)


@dataclass(frozen=True)
class Results:
    """A folder of results as read from disk: cells that have one, peaks and found devices."""

    cells: dict[Cell, dict]
    outputs: dict[Cell, np.ndarray]
    peaks: dict[str, dict]
    devices: dict[str, dict[str, dict]]


def read(config: dict, folder: Path) -> Results:
    """Read every asked-for cell that has a result."""
    found, outputs = {}, {}
    for cell in cells.asked(config):
        path = folder / cell.path / "cell.json"
        if path.exists():
            found[cell] = json.loads(path.read_text())
            if found[cell]["status"] == "ok":
                outputs[cell] = np.load(path.with_name("output.npy"))
    peaks = {path.parent.name: json.loads(path.read_text()) for path in folder.glob("*/peak.json")}
    return Results(found, outputs, peaks, json.loads((folder / "devices.json").read_text()))


def build(config: dict, results: Results, origin: str) -> pd.DataFrame:
    """The frame: COLUMNS, one row per asked-for cell in the order of the grid."""
    rows = [_row(config, cell, results, origin) for cell in cells.asked(config)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    _audit(frame, config, results)
    return frame


def _row(config: dict, cell: Cell, results: Results, origin: str) -> dict:
    workload, sizes = workloads.load(cell.workload), cells.sizes(config, cell.workload)
    row = {
        "workload": cell.workload,
        "title": workload.TITLE,
        "kind": workload.KIND,
        "table": workload.TABLE,
        "framework": cell.framework,
        "device": cell.device,
        "preset": config["preset"],
        "origin": origin,
        "flops": workload.flops(sizes),
        "parameter_bytes": 4 * workload.parameter_count(sizes),
    }
    result = results.cells.get(cell)
    if result is None:
        device = results.devices.get(cell.device, {}).get(cell.framework, {})
        row |= {
            "status": "not run",
            "status_detail": device.get("reason", "no result"),
            "repetitions": 0,
        }
        return row
    row |= {key: result[key] for key in ("status", "status_detail", "peak_rss_bytes", "wall_s")}
    row["repetitions"] = sum(process["repeated"] for process in result["processes"])
    if result["status"] == "ok":
        row |= _derived(result, cell, sizes, workload, results)
    return row


def _derived(result: dict, cell: Cell, sizes: dict, workload, results: Results) -> dict:
    derived, row = derive(result), {}
    for name in ("first", "second", "steady"):
        estimate = derived[f"{name}_ms"]
        row[f"{name}_ms"] = estimate["value"]
        row[f"{name}_low_ms"], row[f"{name}_high_ms"] = estimate["low"], estimate["high"]
        row[f"compiles_{name}"] = derived[f"compiles_{name}"]
    row |= {f"first_{part}_ms": value for part, value in derived["first_split_ms"].items()}
    row |= {
        key: derived[key]
        for key in ("steady_calls", "items_per_s", "gflop_per_s", "import_s", "build_s")
    }
    row |= {key: result["ir"][key] for key in ("dtype", "precision")}
    row["stablehlo_sha256"] = result["ir"]["sha256"]
    if cell.device in results.peaks:
        bytes_ = workload.minimum_bytes(sizes)
        row["floor_ms"] = floor_ms(workload.flops(sizes), bytes_, results.peaks[cell.device])
    return row


_NUMBERS = [c for c in COLUMNS if c.endswith(("_ms", "_per_s")) and c not in ("floor_ms",)]


def _audit(frame: pd.DataFrame, config: dict, results: Results) -> None:
    """Write the parity errors; mark rows invalid whose number the audits refuse, and blank it."""
    tolerance = cells.settings(config)["parity_rel_l2"]
    for (workload, device), rows in frame[frame["status"] == "ok"].groupby(["workload", "device"]):
        outputs = {f: results.outputs[Cell(f, workload, device)] for f in rows["framework"]}
        errors = audit.parity(outputs, config["baseline"])
        for index, row in rows.iterrows():
            error = errors.get(row["framework"])
            frame.loc[index, "parity_rel_l2"] = error
            if error is not None and error > tolerance:
                detail = f"outputs disagree: relative L2 error {error:.2e} over {tolerance:.0e}"
                _refuse(frame, index, detail)
            elif audit.too_fast(row["steady_ms"], row["floor_ms"]):
                detail = (
                    f"below the floor: {row['steady_ms']:.4g} ms, at least {row['floor_ms']:.4g} ms"
                )
                _refuse(frame, index, detail)


def _refuse(frame: pd.DataFrame, index: int, detail: str) -> None:
    frame.loc[index, ["status", "status_detail"]] = ["invalid", detail]
    frame.loc[index, _NUMBERS] = np.nan


def calls(results: Results) -> pd.DataFrame:
    """Every call of every ok cell: CALL_COLUMNS; calls count from 1 in each process."""
    rows = []
    for cell, result in results.cells.items():
        for process in result["processes"] if result["status"] == "ok" else []:
            ns = {event["event"]: event["ns"] for event in process["events"] if "ns" in event}
            for call, value in enumerate([ns["first"], ns["second"], *ns["steady"]], start=1):
                identity = (cell.workload, cell.framework, cell.device, process["repetition"])
                rows.append((*identity, call, value / 1e6))
    return pd.DataFrame(rows, columns=CALL_COLUMNS)


def ratios(config: dict, frame: pd.DataFrame, results: Results) -> pd.DataFrame:
    """Latency of each framework over the baseline's, paired by repetition: RATIO_COLUMNS."""
    rows, baseline = [], config["baseline"]
    valid = frame[frame["status"] == "ok"]
    for (workload, device), group in valid.groupby(["workload", "device"], sort=False):
        frameworks = list(group["framework"])
        if baseline not in frameworks:
            continue
        other = _process_ms(results.cells[Cell(baseline, workload, device)])
        for framework in frameworks:
            if framework != baseline:
                ours = _process_ms(results.cells[Cell(framework, workload, device)])
                row = [workload, device, framework, baseline]
                for name in ("first", "second", "steady"):
                    row += paired_ratio(ours[name], other[name])
                rows.append(row)
    return pd.DataFrame(rows, columns=RATIO_COLUMNS)


def _process_ms(result: dict) -> dict[str, list[float]]:
    named = {"first": [], "second": [], "steady": derive(result)["process_steady_ms"]}
    for process in result["processes"]:
        for event in process["events"]:
            if event["event"] in ("first", "second"):
                named[event["event"]].append(event["ns"] / 1e6)
    return named
