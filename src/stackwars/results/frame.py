"""All results as tidy tables: one row per asked-for cell, also for those that were not run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from stackwars import workloads
from stackwars.measure import documents, machine, nodes, parity
from stackwars.measure.checks import output_problems, problems
from stackwars.measure.events import event
from stackwars.measure.peak import floor_ms
from stackwars.results import losses
from stackwars.results.cell_numbers import numbers
from stackwars.results.processes import Values
from stackwars.study import cells
from stackwars.study.cells import Cell
from stackwars.study.comparisons import CELLS, baseline, comparisons

COLUMNS: dict[str, str] = {
    "workload": "name of the workload",
    "title": "its name in the tables",
    "kind": "basic operation or model",
    "table": "the table of the original that it belongs to: I, II or III; lecture where it is the lecture's",
    "framework": "how it was compiled and run",
    "baseline": "the framework that it is compared with; empty for one that is compared with none",
    "device": "where it ran",
    "preset": "which sizes",
    "status": "ok, oom, timeout, unsupported, invalid, error, or not run",
    "status_detail": "why it is not ok",
    "origin": "measured (this machine) or reference (the committed run)",
    "rounds": "processes that were measured",
    "nodes": "those of a cluster that measured it, by their names; empty on one machine",
    "stop_reason": "why there were no more: decided (every ratio), budget (of time) or rounds (the maximum)",
    "first_ms": "first call, fenced: geometric mean over the processes",
    "first_low_ms": "lower end of its 95 % interval across processes",
    "first_high_ms": "upper end",
    "second_ms": "second call, as the first",
    "second_low_ms": "lower end of its interval",
    "second_high_ms": "upper end",
    "steady_ms": "steady state: geometric mean over the processes of the median steady block, ms a call",
    "steady_low_ms": "lower end of its interval",
    "steady_high_ms": "upper end",
    "steady_processes": "processes that it is of: those with enough uncontended blocks, if there are any",
    "steady_calls": "calls after the second in all processes",
    "gated": "whether the steady state is that of uncontended blocks alone (see measure.process_value)",
    "kept_share": "share of uncontended blocks: mean over the processes",
    "steady_ungated_ms": "steady state from all blocks of all processes",
    "steady_ungated_low_ms": "lower end of its interval",
    "steady_ungated_high_ms": "upper end",
    "steady_class": "class of most processes' series of calls, see measure.steady",
    "warmup_points": "points (call 1, call 2, blocks) before the steady state: median of those",
    "used_cores": "time of all threads on a core / wall time, steady state: maximum over the processes",
    "threads": "threads that did more than 1 % of the steady work: maximum over the processes",
    "items_per_s": "rows, elements, sequences or images a second at the steady state",
    "gflop_per_s": "analytic FLOPs of matrix products and convolutions over the steady state, in 1e9/s",
    "peak_rss_bytes": "resident set: maximum over the processes",
    "parity_rel_l2": "relative L2 error of the output sample against the baseline; in its own row the maximum",
    "compiles_first": "executables compiled during call 1",
    "compiles_second": "during call 2",
    "compiles_steady": "during all steady calls of a process",
    "cache_hits_first": "executables that call 1 took from a cache on disk: 0 if it really was the first",
    "first_trace_ms": "part of call 1: tracing (JAX: and lowering to StableHLO); median",
    "first_compile_ms": "part of call 1: compiling; median",
    "first_execute_ms": "part of call 1: the rest (running, transfers, dispatch); median",
    "returned_ms": "steady state: time until a call has returned, before its fence; median over the processes",
    "returned_share": "its share of the time until the call is done: median over the processes",
    "graphs": "graphs that the framework compiled, where it tells: maximum over the processes",
    "graph_breaks": "places where it could not go on with one graph, in a loop once a function; maximum",
    "kernels": "kernels that it wrote itself, where it tells: maximum",
    "floor_ms": "minimum time that this machine can need, see stackwars.measure.peak.floor_ms",
    "flops": "analytic FLOPs of one call",
    "parameter_bytes": "bytes of the weights",
    "wall_s": "wall time of all processes of the cell, start to end",
    **losses.COLUMNS,
    "dtype": "element types of the matrix products, read back from the StableHLO",
    "precision": "their precisions, read back from the StableHLO",
}
CALL_COLUMNS = ("workload", "framework", "device", "repetition", "call", "latency_ms")


@dataclass(frozen=True)
class Results:
    """A folder of results as read from disk: cells that have one, peaks and found devices.

    others: the processes of growing sizes and of several devices, which belong to no cell. compiled: the
    compilations, where there is no process at all. node_peaks: by device, the peaks of a cluster's nodes beside
    that in peaks. replays: of a cluster's run, for the nodes that measured them.
    """

    cells: dict[Cell, dict]
    outputs: dict[Cell, np.ndarray]
    peaks: dict[str, dict]
    devices: dict[str, dict[str, dict]]
    others: list[dict] = field(default_factory=list)
    compiled: list[dict] = field(default_factory=list)
    node_peaks: dict[str, list[dict]] = field(default_factory=dict)
    replays: list[dict] = field(default_factory=list)

    def every_peak(self, device: str) -> list[dict]:
        """All peaks of a device, the run's own first."""
        own = [self.peaks[device]] if device in self.peaks else []
        return own + self.node_peaks.get(device, [])


def read(config: dict, folder: Path) -> Results:
    """Read every asked-for cell that has a result."""
    found, outputs = {}, {}
    for cell in cells.asked(config):
        path = folder / cell.path / "cell.json"
        if path.exists():
            found[cell] = documents.read(path)
            if found[cell]["status"] == "ok":
                outputs[cell] = np.load(path.with_name("output.npy"))
    peaks = {path.parent.name: nodes.peaks(path.parent) for path in folder.glob("*/peak.json")}
    kinds = ("growth", "sharded")
    others = [
        documents.read(path)
        for kind in kinds
        for path in sorted(folder.glob(f"{kind}/*/*/*/process.json"))
    ]
    nothing_ran = not found and not others
    paths = sorted(folder.glob("ahead/**/ahead.json")) if nothing_ran else []
    return Results(
        found, outputs, {device: own for device, (own, *_) in peaks.items()},
        documents.read(folder / "devices.json"), others, [documents.read(path) for path in paths],
        {device: others for device, (_, *others) in peaks.items() if others},
        _replays(folder, found),
    )  # fmt: skip


def _replays(folder: Path, found: dict[Cell, dict]) -> list[dict]:
    """On a cluster they are measured with the cells; elsewhere they come later, and are on the same machine."""
    if not any(nodes.of(result["processes"]) for result in found.values()):
        return []
    return [documents.read(path) for path in sorted(folder.glob("replay/*/*/*/replay.json"))]


def build(config: dict, results: Results, values: Values, origin: str) -> pd.DataFrame:
    """The frame: COLUMNS, one row per asked-for cell in the order of the grid.

    values: of the cells' processes.
    """
    rows = [_row(config, cell, results, values, origin) for cell in cells.asked(config)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    _audit(frame, config, results)
    return frame


def _row(config: dict, cell: Cell, results: Results, values: Values, origin: str) -> dict:
    workload, sizes = workloads.load(cell.workload), cells.sizes(config, cell.workload)
    row = {
        "workload": cell.workload,
        "title": workload.TITLE,
        "kind": workload.KIND,
        "table": workload.TABLE,
        "framework": cell.framework,
        "baseline": baseline(config, cell.framework) or "",
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
            "rounds": 0,
        }
        return row
    row |= {key: result[key] for key in ("status", "status_detail", "peak_rss_bytes", "wall_s")}
    row["rounds"] = sum(process["repeated"] for process in result["processes"])
    row["stop_reason"] = result["stopped"]
    row["nodes"] = " ".join(sorted(nodes.of(result["processes"])))
    if result["status"] == "ok":
        row |= numbers(result, values[cell.workload, cell.framework, cell.device], workload)
        row |= losses.numbers(result)
        row |= {name: result["ir"][name] for name in ("dtype", "precision")}
        if peak := nodes.peak_of(results.every_peak(cell.device), result["machine"]):
            bytes_ = workload.minimum_bytes(sizes)
            row["floor_ms"] = floor_ms(row["flops"], bytes_, peak)
    return row


_TIMES = ("_ms", "_per_s", "returned_share")
_NUMBERS = [c for c in COLUMNS if c.endswith(_TIMES) and c not in ("floor_ms",)]


def _audit(frame: pd.DataFrame, config: dict, results: Results) -> None:
    """Write the parity errors; mark rows invalid whose number the audits refuse, and blank it."""
    baselines = {pair.subject: pair.baseline for pair in comparisons(config, CELLS)}
    for (workload, device), rows in frame[frame["status"] == "ok"].groupby(["workload", "device"]):
        tolerance = cells.parity_limit(config, workload)
        outputs = _of_plain_form(results, workload, device, baselines)
        outputs |= {f: results.outputs[Cell(f, workload, device)] for f in rows["framework"]}
        errors = parity.parity(outputs, baselines)
        bound, parted = _losses_apart(config, results, workload, device, rows, baselines)
        for index, row in rows.iterrows():
            cell = Cell(row["framework"], workload, device)
            strange = _strange(cell, results.cells[cell], results.every_peak(device))
            if problem := strange or _on_another_node(cell, results, baselines):
                _refuse(frame, index, problem)
                continue
            error = _error(errors, row["framework"], baselines, tolerance)
            frame.loc[index, "parity_rel_l2"] = error
            if error is not None and error > tolerance:
                detail = f"outputs disagree: relative L2 error {error:.2e} over {tolerance:.0e}"
                _refuse(frame, index, detail)
                continue
            apart = _error(parted, row["framework"], baselines, bound)
            if apart is not None:
                frame.loc[index, "losses_apart"] = apart
                if apart > bound:
                    detail = f"losses part by {apart:.2e}, over {bound:.0e}"
                    _refuse(frame, index, detail)
                    continue
            floor_ms = None if pd.isna(row["floor_ms"]) else row["floor_ms"]
            found = [
                problem
                for process in results.cells[cell]["processes"]
                for problem in problems(process, floor_ms)
            ] + output_problems(results.outputs[cell])
            if found:
                _refuse(frame, index, found[0])


def _error(
    errors: dict[str, float], framework: str, baselines: dict[str, str], limit: float
) -> float | None:
    """A framework's error. A baseline's is the largest of those within the limit: one that is off makes its
    own pair invalid, and no other; where all are off, the largest.
    """
    own = [errors[f] for f, base in baselines.items() if base == framework and f in errors]
    within = [error for error in own if error <= limit]
    return max(within or own, default=errors.get(framework))


def _strange(cell: Cell, result: dict, peaks: list[dict]) -> str:
    """Why a result is not of this cell in this run: it was put there from elsewhere. Empty where it is."""
    came = Cell(result["framework"], result["workload"], result["device"])
    if came != cell:
        return (
            f"the result of another cell: {came.path}. Delete {cell.path}, and it is measured again"
        )
    # The floor under every time is that of the machine that it was measured on.
    records = [process["machine"] for process in result["processes"]]
    others = {machine.described(r) for r in records if peaks and not nodes.peak_of(peaks, r)}
    if others:
        known = "; ".join(machine.described(peak["machine"]) for peak in peaks)
        return (
            f"measured on another machine: {'; '.join(sorted(others))}; the peak of this run is that of "
            f"{known}. Delete {cell.path}, and it is measured again"
        )
    if len(found := nodes.of(result["processes"])) > 1:
        return (
            f"its processes are of several nodes: {', '.join(sorted(found))}. Delete {cell.path}, and it is "
            "measured again"
        )
    return ""


def _on_another_node(cell: Cell, results: Results, baselines: dict[str, str]) -> str:
    """Why a cell cannot be compared with its baseline: another node measured that. Empty where it can."""
    base = Cell(baselines.get(cell.framework, ""), cell.workload, cell.device)
    if base not in results.cells:
        return ""
    here, there = (nodes.of(results.cells[one]["processes"]) for one in (cell, base))
    if here == there:
        return ""
    return (
        f"measured on node {', '.join(sorted(here)) or 'unknown'}, its baseline {base.framework} on node "
        f"{', '.join(sorted(there)) or 'unknown'}: times of two nodes are not compared. Delete both cells, and "
        "they are measured together again"
    )


def _of_plain_form(results, workload, device, baselines) -> dict[str, np.ndarray]:
    """Outputs of the baselines for the same function in its plain form: one may have no other form of it."""
    plain = getattr(workloads.load(workload), "FORM_OF", None)
    found = {base: results.outputs.get(Cell(base, plain, device)) for base in baselines.values()}
    return {base: output for base, output in found.items() if output is not None}


def _losses_apart(config, results, workload, device, rows, baselines) -> tuple[float, dict]:
    """(how far losses may part, {framework: how far its own are from the baseline's}); empty without
    training.
    """
    rel = getattr(workloads.load(workload), "losses_rel", None)
    if rel is None:
        return float("inf"), {}
    told = {f: losses.of_cell(results.cells[Cell(f, workload, device)]) for f in rows["framework"]}
    found = {
        f: losses.apart(told[f], told[base])
        for f, base in baselines.items()
        if {f, base} <= set(told)
    }
    for base in {baselines[f] for f in found} - found.keys():
        found[base] = max(value for f, value in found.items() if baselines.get(f) == base)
    return rel(cells.sizes(config, workload)), found


def _refuse(frame: pd.DataFrame, index: int, detail: str) -> None:
    frame.loc[index, ["status", "status_detail"]] = ["invalid", detail]
    frame.loc[index, _NUMBERS] = np.nan


def calls(results: Results, frame: pd.DataFrame) -> pd.DataFrame:
    """Every call, or block of calls, of every cell that is ok in the frame: CALL_COLUMNS.

    call: its number from 1 in each process, of a block its first call's; latency_ms: of a call in it.
    """
    rows = []
    ok = frame[frame["status"] == "ok"]
    for keys in ok[["framework", "workload", "device"]].itertuples(index=False, name=None):
        cell = Cell(*keys)
        for process in results.cells[cell]["processes"]:
            identity = (cell.workload, cell.framework, cell.device, process["repetition"])
            steady = event(process, "steady")
            singles = [event(process, name)["ns"] for name in ("first", "second")]
            rows += [(*identity, call, ns / 1e6) for call, ns in enumerate(singles, start=1)]
            for number, ns in enumerate(steady["ns"]):
                call = 3 + number * steady["calls"]
                rows.append((*identity, call, ns / steady["calls"] / 1e6))
    return pd.DataFrame(rows, columns=CALL_COLUMNS)
