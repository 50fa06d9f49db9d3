"""The native rows of cells.csv: one for each cell that the configuration asks for, with the audit of its result.

A result without expected values is judged by the other frameworks. None of them is the standard: a value is right if a
strict majority of the frameworks, this one included, has it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from stackwars.core import machine
from stackwars.core.documents import Row
from stackwars.core.ratio import geometric_mean
from stackwars.measure import loops, nodes, workloads
from stackwars.measure.checks import output_problems, problems, relative_l2
from stackwars.measure.peak import floor_ms
from stackwars.study import cells
from stackwars.study.cells import Cell
from stackwars.study.comparisons import baseline
from stackwars.study.results import schema
from stackwars.study.results.cell_numbers import losses_apart, losses_of, numbers
from stackwars.study.results.raw import Raw
from stackwars.study.results.values import errors

_RATES = ("items_per_s", "slow_runs", "returned_share", "returned_over_steady")
"""Columns that follow from times; a wrong or invalid cell has none of them."""
JUDGED = ("ok", "wrong")
"""Statuses of cells whose processes ended well."""
NO_MAJORITY = "none"
Key = TypeVar("Key")


def rows(config: dict, raw: Raw) -> list[Row]:
    """Return a row for every cell, in the order of the grid."""
    result = {cell: _row(config, cell, raw) for cell in cells.asked(config)}
    for workload, device in dict.fromkeys((cell.workload, cell.device) for cell in result):
        _audit(
            config, raw, {c: row for c, row in result.items() if (c.workload, c.device) == (workload, device)}
        )
    return list(result.values())


def head(workload: str, mode: str, framework: str, device: str) -> Row:
    """Return the columns that say what a row of cells.csv is of."""
    module = workloads.load(workload)
    return {
        "mode": mode,
        "workload": workload,
        "title": module.TITLE,
        "kind": module.KIND,
        "table": module.TABLE,
        "framework": framework,
        "device": device,
    }


def _row(config: dict, cell: Cell, raw: Raw) -> Row:
    workload, sizes = workloads.load(cell.workload), cells.sizes(config, cell.workload)
    row = head(cell.workload, schema.NATIVE, cell.framework, cell.device) | {
        "baseline": baseline(config, cell.framework) or "",
        "flops": workload.flops(sizes),
    }
    result = raw.cells.get(cell)
    if result is None:
        reason = raw.devices.get(cell.device, {}).get(cell.framework, {}).get("reason", "no result")
        return row | {"status": "not run", "status_detail": reason, "rounds": 0}
    row |= {key: result[key] for key in ("status", "status_detail", "peak_rss_bytes", "wall_s")}
    row |= judged(result.get("values"))
    row |= {
        "rounds": sum(process["repeated"] for process in result["processes"]),
        "nodes": " ".join(sorted(nodes.of(result["processes"]))),
    }
    if result["status"] == "ok":
        row |= numbers(result, raw.cell_values[cell], workload)
        row |= {name: result["ir"][name] for name in ("dtype", "precision")}
        if peak := nodes.peak_of(raw.peaks.get(cell.device, []), result["machine"]):
            row["floor_ms"] = floor_ms(row["flops"], workload.minimum_bytes(sizes), peak)
    return row


def _audit(config: dict, raw: Raw, of_workload: dict[Cell, Row]) -> None:
    """Judge the cells of one workload on one device; blank the times of those that are wrong or invalid."""
    measured = {}
    for cell, row in of_workload.items():
        if row["status"] in JUDGED:
            if problem := provenance_error(cell, raw):
                _blank(row, "invalid", problem)
            else:
                measured[cell] = row
    _judge_without_expected(config, raw, measured)
    _compare_losses(config, raw, measured)
    for cell, row in measured.items():
        if row["status"] == "wrong":
            row["struck_ms"] = _steady_ms(raw.cells[cell])
            _blank(row, "wrong", row["status_detail"])
        elif problem := _numbers_refused(cell, row, raw):
            _blank(row, "invalid", problem)


def _judge_without_expected(config: dict, raw: Raw, measured: dict[Cell, Row]) -> None:
    """Judge the cells that were compared with no expected values by what most frameworks computed."""
    outputs = {cell: raw.outputs[cell] for cell, row in measured.items() if row["status"] == "ok"}
    distances = majority_distances(outputs, relative_error)
    for cell in outputs:
        if raw.cells[cell].get("values"):
            continue
        row, error = measured[cell], distances.get(cell)
        limit = cells.parity_limit(config, cell.workload)
        row |= {"parity_rel_l2": error, "parity_limit": limit, "judge": majority(distances, limit)}
        if row["judge"] != NO_MAJORITY and error > limit:
            row |= {
                "status": "wrong",
                "status_detail": f"outputs differ from those of the {row['judge']}: relative L2 error {error:.2e}, "
                f"over {limit:.0e}",
            }


def judged(values: dict | None) -> Row:
    """Return the columns of outputs that were compared with expected values; none if they were not."""
    if not values:
        return {}
    error = errors(values)
    return {
        "judge": values["judge"],
        "parity_rel_l2": error["l2"],
        "parity_limit": values["limit"],
        "largest_error": error["largest_error"],
        "wrong_elements": values["wrong"],
    }


def _numbers_refused(cell: Cell, row: Row, raw: Raw) -> str:
    """Return why the numbers of a cell mean nothing; empty if they do."""
    if row.get("losses") == "differs":
        return f"losses part by {row['losses_apart']:.2e}, over {row['losses_bound']:.0e}"
    processes = raw.cells[cell]["processes"]
    result = [problem for process in processes for problem in problems(process, row.get("floor_ms"))]
    if workloads.load(cell.workload).SETS_DIFFER:
        result += output_problems(raw.outputs[cell])
    return result[0] if result else ""


def provenance_error(cell: Cell, raw: Raw) -> str:
    """Return why a result is not of this cell in this run; empty if it is."""
    result = raw.cells[cell]
    measured = Cell(result["framework"], result["workload"], result["device"])
    again = f"fix: delete {cell.path}, and it is measured again"
    if measured != cell:
        return f"expected the result of this cell, got that of {measured.path}; {again}"
    # The floor under every time is that of the machine that it was measured on.
    peaks = raw.peaks.get(cell.device, [])
    records = [process["machine"] for process in result["processes"]]
    others = {machine.described(r) for r in records if peaks and not nodes.peak_of(peaks, r)}
    if others:
        known = "; ".join(machine.described(peak["machine"]) for peak in peaks)
        got = "; ".join(sorted(others))
        return f"expected a result of the machine of this run ({known}), got one of {got}; {again}"
    if len(found := nodes.of(result["processes"])) > 1:
        return f"expected processes of one node, got {', '.join(sorted(found))}; {again}"
    return ""


def _compare_losses(config: dict, raw: Raw, measured: dict[Cell, Row]) -> None:
    """Write how far each ok cell's losses are from those of most frameworks; nothing without training."""
    workload = next((cell.workload for cell in measured), None)
    rel = getattr(workloads.load(workload), "losses_rel", None) if workload else None
    if rel is None:
        return
    bound = rel(cells.sizes(config, workload))
    series = {cell: losses_of(raw.cells[cell]) for cell, row in measured.items() if row["status"] == "ok"}
    for cell, apart in majority_distances(series, losses_apart).items():
        agreement = "differs" if apart > bound else "agrees"
        measured[cell] |= {"losses_apart": apart, "losses_bound": bound, "losses": agreement}


def _steady_ms(result: dict) -> float | None:
    """Return the steady time of a cell whose values are wrong; None if one of its processes has none."""
    every = [loops.loops_of(process) for process in result["processes"]]
    return geometric_mean([loops.side_ms(events) for events in every]).value if all(every) else None


def _blank(row: Row, status: str, detail: str) -> None:
    """Set the status of a row, and empty the columns that follow from its times."""
    for column in row:
        if column in _RATES or (column.endswith("_ms") and column not in ("floor_ms", "struck_ms")):
            row[column] = None
    row |= {"status": status, "status_detail": detail}


def majority_distances(values: dict[Key, Any], between: Callable[[Any, Any], float]) -> dict[Key, float]:
    """Return each value's distance to the others: at most this far away are enough of them for a strict majority.

    That is the lower median of its distances to the others. A value without others is left out.
    """
    result = {}
    for key, value in values.items():
        others = [between(value, other) for name, other in values.items() if name != key]
        if others:
            result[key] = statistics.median_low(others)
    return result


def majority(errors: dict[Key, float], limit: float) -> str:
    """Return ``majority of 5 frameworks``, or ``none`` if no majority agrees within the limit."""
    has_majority = any(error <= limit for error in errors.values())
    return f"majority of {len(errors)} frameworks" if has_majority else NO_MAJORITY


def relative_error(one: np.ndarray, other: np.ndarray) -> float:
    """Return the relative L2 error of two samples of outputs; an equal NaN or infinity is no error."""
    if one.shape != other.shape:
        return float("inf")
    same = ~np.isfinite(one) & ((one == other) | (np.isnan(one) & np.isnan(other)))
    with np.errstate(invalid="ignore"):
        return relative_l2(one[~same], other[~same])
