"""context.json: what is true of a run as a whole: machine, date, versions, devices, settings, cost."""

from __future__ import annotations

import math

from stackwars.measure import NEGLIGIBLE, PROTOCOL, log_ratio, nodes, steady
from stackwars.measure.contention import GATE, MAX_OTHER_PROCESSES_SHARE
from stackwars.measure.inputs import INPUT_SETS
from stackwars.measure.process_value import MIN_UNCONTENDED
from stackwars.measure.supervisor import PADDING
from stackwars.results.comparisons import CONTENDED
from stackwars.results.raw import Raw
from stackwars.setup.device import CPU
from stackwars.study import cells
from stackwars.study.studies import measured_studies

NEVER = "never"
"""The date of a run in which nothing was measured."""
GAP_S = 2.0
"""A longer pause between two processes was not the harness's: seconds."""


def build(config: dict, raw: Raw) -> dict:
    """Return the context of a run; empty values if nothing was measured."""
    of_cells = [p for result in raw.cells.values() for p in result["processes"]]
    # A run may have no cell: that of programs for several devices.
    processes = [p for p in of_cells or _lone(raw) if p["repeated"]]
    processes.sort(key=lambda process: process["started_s"])
    # Nor has one of programs alone a process; one whose compilers are unavailable has no date.
    compiled = [one for one in raw.compiled if "started_utc" in one]
    dated = processes or sorted(compiled, key=lambda one: one["started_utc"])
    last = dated[-1] if dated else {}
    versions = {"python": last.get("machine", {}).get("python", "unknown")}
    for cell, result in raw.cells.items():
        for name, version in result["versions"].items():
            # Two environments may hold one package in two versions: then say whose.
            other = versions.get(name, version)
            versions[name if other == version else f"{name} ({cell.framework})"] = version
    revisions = sorted({one["source"]["git_revision"] for one in dated})
    return {
        "preset": config["preset"],
        "studies": measured_studies(config),
        "protocol": PROTOCOL,
        "machine": last.get("machine", {}),
        "date_utc": last.get("started_utc", NEVER),
        "git_revision": " ".join(revisions) or "unknown",
        "git_dirty": any(one["source"]["git_dirty"] for one in dated),
        "versions": versions,
        "devices": _devices(raw),
        "peak": raw.peaks.get(CPU) or next(iter(raw.peaks.values()), {}),
        "peaks": raw.peaks,
        "nodes": _nodes(raw),
        "settings": _settings(config, last),
        "sizes": {workload: cells.sizes(config, workload) for workload in config["workloads"]},
        **_cost(processes),
    }


def _lone(raw: Raw) -> list[dict]:
    """Return the processes of growing sizes and of several devices, which belong to no cell."""
    return [*raw.growth.values(), *raw.sharded.values()]


def _settings(config: dict, last: dict) -> dict:
    """Return the settings of the configuration, and the constants of the protocol that the method names."""
    blocks = {w: cells.block_calls(config, w) for w in config["workloads"]}
    return {
        **cells.settings(config),
        "memory_cap_bytes": last.get("memory_cap_bytes", 0),
        "block_calls": {workload: calls for workload, calls in blocks.items() if calls > 1},
        "input_sets": INPUT_SETS,
        "padding_bytes": PADDING,
        "gate": GATE,
        "max_other_processes_share": MAX_OTHER_PROCESSES_SHARE,
        "min_uncontended_blocks": MIN_UNCONTENDED,
        "contended": CONTENDED,
        "level_band": math.expm1(steady.BAND),
        "negligible": NEGLIGIBLE,
        "power": log_ratio.POWER,
    }


def _devices(raw: Raw) -> dict:
    found = {}
    for device, answers in raw.devices.items():
        reasons = [answer["reason"] for answer in answers.values() if not answer["present"]]
        found[device] = {
            "present": any(answer["present"] for answer in answers.values()),
            "reason": "; ".join(dict.fromkeys(reasons)),
        }
    return found


def _nodes(raw: Raw) -> list[dict]:
    """A row for each node of a cluster and device that anything was measured on; none on one machine."""
    found: dict[tuple[str, str], set[str]] = {}
    records: dict[str, dict] = {}
    measured = [(cell.device, cell.workload, one) for cell, one in raw.cells.items()]
    measured += [(one["device"], one["workload"], one) for one in raw.replays.values()]
    # What belongs to no cell has one process.
    measured += [(p["device"], p["workload"], {"processes": [p]}) for p in _lone(raw)]
    for device, workload, one in measured:
        for process in one["processes"]:
            if node := process["machine"].get("node"):
                found.setdefault((node, device), set()).add(workload)
                records.setdefault(node, process["machine"])
    return [
        {
            **records[node],
            "device": device,
            "workloads": sorted(workloads),
            "peak": nodes.peak_of(raw.every_peak(device), records[node]),
        }
        for (node, device), workloads in sorted(found.items())
    ]


def _cost(processes: list[dict]) -> dict:
    """Wall time from the first process's start to the last one's end, and its ratio to the time inside.

    Inside is what a cell is about: import, build, and the calls with their compilations. A gap
    between two processes counts only where nothing else can have run in it: neither a replay, nor
    an environment being built, nor a night.
    """
    if not processes:
        return {"wall_s": 0.0, "overhead_ratio": None}
    wall = 0.0
    previous_end = None
    for process in processes:
        # One without a steady state is measured again, and its first time is part of what it cost.
        wall_s = process["wall_s"] + process.get("discarded_s", 0.0)
        end = process["started_s"] + process["wall_s"]
        gap = end - wall_s - previous_end if previous_end is not None else 0.0
        wall += wall_s + (gap if 0 <= gap < GAP_S else 0.0)
        previous_end = end
    inside = sum(_inside_s(process) for process in processes)
    return {"wall_s": wall, "overhead_ratio": wall / inside if inside else None}


def _inside_s(process: dict) -> float:
    """Seconds from the import to the end of the timed calls, or to the child's last word."""
    events = process["events"]
    if not events:
        return 0.0
    end = next((e["at_s"] for e in events if e["event"] == "timed"), events[-1]["at_s"])
    return end - events[0]["at_s"]
