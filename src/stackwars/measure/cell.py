"""The result of a cell: its processes put together, with what follows from them."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import shutil
import statistics
from collections.abc import Iterable
from pathlib import Path

import jsonschema
import yaml

from stackwars import workloads
from stackwars.ir.readback import readback
from stackwars.measure import documents, process_value
from stackwars.measure.checks import used_cores
from stackwars.measure.events import event as _event
from stackwars.measure.rounds import STOPPED
from stackwars.measure.statistics import Estimate, geometric_mean
from stackwars.measure.steady import AT_ONCE, NONE, SLOWING, WARM_UP
from stackwars.setup.environments import REPOSITORY

KINDS = (AT_ONCE, WARM_UP, SLOWING, NONE)
"""Classes of steady state, the best first."""
SCHEMA = REPOSITORY / "workflow" / "schemas" / "cell.schema.yaml"
VERSION = 3
ROUNDS = "rounds"
"""Why a cell's rounds ended where neither `rounds.WIDTH` nor `rounds.BUDGET` did it: there were no more."""


def combine(folders: list[Path]) -> dict:
    """The cell's result from the folders of its processes, in the order of repetitions.

    The cell is ok only where every process is; else it has the status of the first that is not. A
    process that was not needed any more is left out.
    """
    every = [documents.read(folder / "process.json") for folder in folders]
    processes = [process for process in every if process["status"] != STOPPED]
    stopped = next((p["status_detail"] for p in every if p["status"] == STOPPED), ROUNDS)
    first = processes[0]
    bad = next((process for process in processes if process["status"] != "ok"), None)
    keys = ("framework", "dialect", "workload", "device", "preset", "sizes", "settings")
    cell = {
        "schema_version": VERSION,
        **{key: first[key] for key in keys},
        "status": bad["status"] if bad else "ok",
        "status_detail": bad["status_detail"] if bad else "",
        "stopped": "" if bad else stopped,
        "machine": first["machine"],
        "versions": _event(first, "build").get("versions", {}),
        "device_kind": _event(first, "build").get("device_kind"),
        "peak_rss_bytes": max(process["peak_rss_bytes"] for process in processes),
        "memory_cap_bytes": first["memory_cap_bytes"],
        "wall_s": sum(process["wall_s"] for process in processes),
        "derived": None,
        "ir": None if bad else _ir(folders),
        "output_sha256": None if bad else _digest((folders[0] / "output.npy").read_bytes()),
        "processes": processes,
    }
    if not bad:
        cell["derived"] = derive(cell)
    jsonschema.validate(cell, yaml.safe_load(SCHEMA.read_text()))
    return cell


def derive(cell: dict) -> dict:
    """Latencies, compile counts, split of run 1 and throughput, from the samples of an ok cell.

    The frame derives again, so that its numbers come from the statistics of today whatever the
    version that wrote the cell.
    """
    processes = cell["processes"]
    calls = {
        name: [_event(process, name) for process in processes]
        for name in ("first", "second", "steady")
    }
    values = process_value.of_processes(processes)
    steady_ms, gated = process_value.per_round(values)
    steady = geometric_mean(list(steady_ms.values()))
    workload, sizes = workloads.load(cell["workload"]), cell["sizes"]
    seconds = steady.value / 1e3
    kinds = [value.kind for value in values.values()]
    # What most processes are, of two equally frequent classes the less steady one.
    usual = max(KINDS, key=lambda kind: (kinds.count(kind), KINDS.index(kind)))
    return {
        "first_ms": _milliseconds(calls["first"])._asdict(),
        "second_ms": _milliseconds(calls["second"])._asdict(),
        "steady_ms": steady._asdict(),
        "gated": gated,
        "ungated_ms": geometric_mean([value.all_ms for value in values.values()])._asdict(),
        "kept_share": statistics.fmean(value.kept for value in values.values()),
        "steady_class": usual,
        "class_share": kinds.count(usual) / len(kinds),
        "warmup_points": statistics.median_low(
            v.warmup for v in values.values() if v.kind == usual
        ),
        "steady_calls": sum(len(event["ns"]) * event["calls"] for event in calls["steady"]),
        "other_processes_share": max(event["other_processes_share"] for event in calls["steady"]),
        "threads": max(event["threads"] for event in calls["steady"]),
        "used_cores": max(map(used_cores, calls["steady"])),
        # The maximum over the processes: a compilation in one process of ten must not disappear.
        **{
            f"{what}_{name}": _maximum(e[what] for e in events)
            for what in ("compiles", "cache_hits")
            for name, events in calls.items()
        },
        "first_split_ms": _split(calls["first"]),
        "items_per_s": workload.items(sizes) / seconds,
        "gflop_per_s": workload.flops(sizes) / seconds / 1e9,
        "import_s": statistics.median(_between(p, "import", "build") for p in processes),
        "build_s": statistics.median(_between(p, "build", "run") for p in processes),
    }


def _maximum(counts: Iterable[int | None]) -> int | None:
    """The maximum; None of a framework that compiles nothing."""
    known = [count for count in counts if count is not None]
    return max(known, default=None)


def _milliseconds(events: list[dict]) -> Estimate:
    return geometric_mean([event["ns"] / 1e6 for event in events])


def _split(events: list[dict]) -> dict[str, float | None]:
    """Medians of run 1: tracing, compiling, and the rest (running, transfers, dispatch), in ms.

    Compiling and the rest are None where the framework does not tell how long it compiled; all are of one
    that compiles nothing.
    """
    if any(event["trace_s"] is None for event in events):
        return dict.fromkeys(("trace", "compile", "execute"))
    trace = [1e3 * event["trace_s"] for event in events]
    if any(event["compile_s"] is None for event in events):
        return {"trace": statistics.median(trace), "compile": None, "execute": None}
    compiling = [1e3 * event["compile_s"] for event in events]
    rest = [e["ns"] / 1e6 - t - c for e, t, c in zip(events, trace, compiling, strict=True)]
    parts = {"trace": trace, "compile": compiling, "execute": rest}
    return {name: statistics.median(values) for name, values in parts.items()}


def _between(process: dict, start: str, end: str) -> float:
    return _event(process, end)["at_s"] - _event(process, start)["at_s"]


def _ir(folders: list[Path]) -> dict:
    files = [folder / "stablehlo.mlir.gz" for folder in folders]
    texts = [gzip.decompress(file.read_bytes()) for file in files if file.exists()]
    return {
        "sha256": _digest(texts[0]),
        "same_in_every_process": len(set(texts)) == 1,
        **readback(texts[0].decode()),
    }


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main() -> None:
    """`python -m stackwars.measure.cell PROCESS ... --output FOLDER`: write the cell's three files."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("processes", nargs="+", type=Path)
    parser.add_argument("--output", required=True, type=Path)
    arguments = parser.parse_args()
    cell = combine(arguments.processes)
    arguments.output.mkdir(parents=True, exist_ok=True)
    program = arguments.output / "stablehlo.mlir.gz"
    sample = arguments.output / "output.npy"
    if cell["status"] == "ok":
        shutil.copy(arguments.processes[0] / program.name, program)
        shutil.copy(arguments.processes[0] / sample.name, sample)
    else:
        reason = f"// no program: {cell['status']}: {cell['status_detail']}".splitlines()[0]
        with gzip.GzipFile(program, "wb", mtime=0) as file:
            file.write(f"{reason}\n".encode())
        sample.write_bytes(b"")
    (arguments.output / "cell.json").write_text(json.dumps(cell, indent=1))


if __name__ == "__main__":
    main()
