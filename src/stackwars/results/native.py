"""The native rows of cells.csv: one for each cell that the configuration asks for, with the audit of its
result."""

from __future__ import annotations

from typing import Any

import numpy as np

from stackwars import workloads
from stackwars.measure import machine, nodes
from stackwars.measure.checks import output_problems, parity, problems
from stackwars.measure.peak import floor_ms
from stackwars.results import schema
from stackwars.results.cell_numbers import loss_numbers, losses_apart, losses_of, numbers
from stackwars.results.raw import Raw
from stackwars.study import cells
from stackwars.study.cells import Cell
from stackwars.study.comparisons import CELLS, baseline, comparisons

Row = dict[str, Any]
_RATES = {
    *("second_over_steady", "items_per_s", "gflop_per_s", "first_largest", "first_largest_share", "slow_runs"),
    *("returned_share", "returned_over_steady"),
}
"""Columns that follow from times; an invalid cell has neither."""


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
        "parameter_bytes": 4 * workload.parameter_count(sizes),
    }
    result = raw.cells.get(cell)
    if result is None:
        reason = raw.devices.get(cell.device, {}).get(cell.framework, {}).get("reason", "no result")
        return row | {"status": "not run", "status_detail": reason, "rounds": 0}
    row |= {key: result[key] for key in ("status", "status_detail", "peak_rss_bytes", "wall_s")}
    row |= {
        "rounds": sum(process["repeated"] for process in result["processes"]),
        "stop_reason": result["stopped"],
        "nodes": " ".join(sorted(nodes.of(result["processes"]))),
    }
    if result["status"] == "ok":
        row |= numbers(result, raw.cell_values[cell], workload)
        row |= loss_numbers(result)
        row |= {name: result["ir"][name] for name in ("dtype", "precision")}
        if peak := nodes.peak_of(raw.every_peak(cell.device), result["machine"]):
            row["floor_ms"] = floor_ms(row["flops"], workload.minimum_bytes(sizes), peak)
    return row


def _audit(config: dict, raw: Raw, of_workload: dict[Cell, Row]) -> None:
    """Write the parity errors of one workload on one device; blank the times of what the checks refuse."""
    ok = {cell: row for cell, row in of_workload.items() if row["status"] == "ok"}
    if not ok:
        return
    first = next(iter(ok))
    baselines = {pair.subject: pair.baseline for pair in comparisons(config, CELLS)}
    outputs = _of_plain_form(raw, first, baselines) | {cell.framework: raw.outputs[cell] for cell in ok}
    errors = parity(outputs, baselines)
    limit = cells.parity_limit(config, first.workload)
    apart, bound = _losses_apart(config, raw, ok, baselines)
    for cell, row in ok.items():
        row["parity_limit"] = limit
        row |= _losses(_error(apart, cell.framework, baselines, bound), bound)
        problem = provenance_error(cell, raw) or _on_another_node(cell, raw, baselines)
        if not problem:
            error = row["parity_rel_l2"] = _error(errors, cell.framework, baselines, limit)
            problem = _numbers_refused(cell, row, raw, error)
        if problem:
            _mark_invalid(row, problem)


def _numbers_refused(cell: Cell, row: Row, raw: Raw, error: float | None) -> str:
    """Return why the numbers of a cell mean nothing; empty if they do."""
    if error is not None and error > row["parity_limit"]:
        return f"outputs disagree: relative L2 error {error:.2e} over {row['parity_limit']:.0e}"
    if row.get("losses") == "differs":
        return f"losses part by {row['losses_apart']:.2e}, over {row['losses_bound']:.0e}"
    processes = raw.cells[cell]["processes"]
    result = [problem for process in processes for problem in problems(process, row.get("floor_ms"))]
    result += output_problems(raw.outputs[cell])
    return result[0] if result else ""


def _losses(apart: float | None, bound: float) -> Row:
    if apart is None:
        return {}
    return {"losses_apart": apart, "losses_bound": bound, "losses": "differs" if apart > bound else "agrees"}


def _error(errors: dict[str, float], framework: str, baselines: dict[str, str], limit: float) -> float | None:
    """Return a framework's error. A baseline's is the largest of those within the limit: one that is off
    makes its own pair invalid, and no other; if all are off, the largest."""
    own = [errors[f] for f, base in baselines.items() if base == framework and f in errors]
    within = [error for error in own if error <= limit]
    return max(within or own, default=errors.get(framework))


def provenance_error(cell: Cell, raw: Raw) -> str:
    """Return why a result is not of this cell in this run; empty if it is."""
    result = raw.cells[cell]
    measured = Cell(result["framework"], result["workload"], result["device"])
    again = f"fix: delete {cell.path}, and it is measured again"
    if measured != cell:
        return f"expected the result of this cell, got that of {measured.path}; {again}"
    # The floor under every time is that of the machine that it was measured on.
    peaks = raw.every_peak(cell.device)
    records = [process["machine"] for process in result["processes"]]
    others = {machine.described(r) for r in records if peaks and not nodes.peak_of(peaks, r)}
    if others:
        known = "; ".join(machine.described(peak["machine"]) for peak in peaks)
        got = "; ".join(sorted(others))
        return f"expected a result of the machine of this run ({known}), got one of {got}; {again}"
    if len(found := nodes.of(result["processes"])) > 1:
        return f"expected processes of one node, got {', '.join(sorted(found))}; {again}"
    return ""


def _on_another_node(cell: Cell, raw: Raw, baselines: dict[str, str]) -> str:
    """Return why a cell cannot be compared with its baseline, which another node measured; empty if it can."""
    base = Cell(baselines.get(cell.framework, ""), cell.workload, cell.device)
    if base not in raw.cells:
        return ""
    own, other = (nodes.of(raw.cells[one]["processes"]) for one in (cell, base))
    if own == other:
        return ""
    return (
        f"measured on node {', '.join(sorted(own)) or 'unknown'}, its baseline {base.framework} on node "
        f"{', '.join(sorted(other)) or 'unknown'}: times of two nodes are not compared; fix: delete both "
        "cells, and they are measured together again"
    )


def _of_plain_form(raw: Raw, cell: Cell, baselines: dict[str, str]) -> dict[str, np.ndarray]:
    """Return outputs of the baselines for the same function in its plain form, if the workload is another
    form."""
    plain = getattr(workloads.load(cell.workload), "FORM_OF", None)
    result = {base: raw.outputs.get(Cell(base, plain, cell.device)) for base in baselines.values()}
    return {base: output for base, output in result.items() if output is not None}


def _losses_apart(
    config: dict, raw: Raw, ok: dict[Cell, Row], baselines: dict[str, str]
) -> tuple[dict[str, float], float]:
    """Return how far each framework's losses are from its baseline's, and how far they may be; nothing without
    training."""
    workload = next(iter(ok)).workload
    rel = getattr(workloads.load(workload), "losses_rel", None)
    if rel is None:
        return {}, float("inf")
    series = {cell.framework: losses_of(raw.cells[cell]) for cell in ok}
    apart = {
        framework: losses_apart(series[framework], series[base])
        for framework, base in baselines.items()
        if {framework, base} <= set(series)
    }
    return apart, rel(cells.sizes(config, workload))


def _mark_invalid(row: Row, detail: str) -> None:
    for column in row:
        if column in _RATES or (column.endswith("_ms") and column != "floor_ms"):
            row[column] = None
    row |= {"status": "invalid", "status_detail": detail}
