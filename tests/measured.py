"""Results as the harness writes them, with numbers that a test chooses."""

import gzip
import json
import shutil
from pathlib import Path

import numpy as np

from stackwars.measure import cell as measured_cell
from stackwars.measure import frameworks
from stackwars.study import cells
from stackwars.study.cells import Cell
from stackwars.study.config import load
from stackwars.study.keys import Config

PROGRAM = """module @jit_function {
  func.func public @main(%arg0: tensor<16x32xf32>, %arg1: tensor<32x64xf32>) -> tensor<16x64xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], \
precision = [HIGHEST, HIGHEST] : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
    return %0 : tensor<16x64xf32>
  }
}
"""
MACHINE = {"cpu_model": "A CPU", "cores": 2, "memory_bytes": 2**34, "python": "3.11.7"}
PEAK = {
    "device": "cpu",
    "device_kind": "cpu",
    "gflop_per_s": 100.0,
    "copy_gb_per_s": 10.0,
    "last_cache_bytes": 2**20,
    "machine": MACHINE,
}
DEVICES = {
    "cpu": {"jax": {"present": True, "kind": "cpu"}, "torch_xla": {"present": True, "kind": "cpu"}},
    "tpu": {"jax": {"present": False, "reason": "no driver: none of /dev/accel0 exists"}},
}


GEMM = Cell("jax", "gemm", "cpu")
_COMMITTED = load()


def config(**changes: object) -> Config:
    """Return the committed configuration at its smoke sizes, with two workloads and the main comparison.

    It measures the first study; of every study that a test names instead it may have all workloads.
    """
    main = _COMMITTED.comparisons[0]
    smoke = _COMMITTED.presets["smoke"].changed(study_workloads={})
    reduced = {
        "comparisons": [main],
        "frameworks": {name: _COMMITTED.frameworks[name] for name in (main.baseline, main.subject)},
        "audits": {"frameworks": [], "replays": [], "workloads": [], "trials": {}},
        "presets": {**_COMMITTED.presets, "smoke": smoke},
        **{"preset": "smoke", "workloads": ["gemm", "ffn"], "devices": ["cpu", "tpu"], "measure": ["tables"]},
    }
    return _COMMITTED.changed(**reduced | changes)


def blocks(
    steady_ms: tuple[float, ...], wait: float | tuple[float, ...] = 0.0, calls: int = 1, others: float = 0.0
) -> dict:
    """Return the record of steady blocks with these times of a call.

    wait: share of the time in which the threads of a block had no core, of each or of all alike.
    others: share of the cores that others had.
    """
    shares = wait if isinstance(wait, tuple) else (wait,) * len(steady_ms)
    ns = [round(1e6 * value * calls) for value in steady_ms]
    return {
        "ns": ns,
        "calls": calls,
        "run_ns": [round(n * (1 - share)) for n, share in zip(ns, shares, strict=True)],
        "wait_ns": [round(n * share) for n, share in zip(ns, shares, strict=True)],
        "steal_ns": [0] * len(ns),
        "other_processes_share": others,
    }


def process(
    cell: Cell = GEMM,
    repetition: int = 0,
    first_ms: float = 100.0,
    second_ms: float = 2.0,
    steady_ms: tuple[float, ...] = (1.0, 1.0, 1.0),
    compiles: tuple[int, int, int] = (1, 0, 0),
    status: tuple[str, str] = ("ok", ""),
    started_s: float = 1000.0,
    wall_s: float = 10.0,
    wait: float | tuple[float, ...] = 0.0,
    calls: int = 1,
    others: float = 0.0,
    loops_ms: tuple[float, ...] | None = None,
    **changes: object,
) -> dict:
    """Return a process result as a cell writes it: import 2 s, build 0.5 s, trace 10 ms, compile 30 ms.

    steady_ms, wait, calls, others: of its blocks, as in `blocks`. loops_ms: a call in each of its loops; by default the
    same as in the blocks.
    """
    settings = config()
    ns = [round(1e6 * value) for value in (first_ms, second_ms)]
    cores = [1] if cell.device == "cpu-1t" else [0, 1]
    events = [
        {"event": "import", "at_s": started_s + 1.0},
        {
            "event": "build", "at_s": started_s + 3.0, "device_kind": "cpu",
            "versions": {"numpy": "2.4.6", cell.framework: "0.7.1"},
        },
        {"event": "run", "at_s": started_s + 3.5, "affinity": cores},
        {"event": "first", "at_s": started_s + 3.5 + first_ms / 1e3, "ns": ns[0], "compiles": compiles[0],
         "cache_hits": 0, "trace_s": 0.010, "compile_s": 0.030},
        {"event": "second", "at_s": started_s + 4.5, "ns": ns[1], "compiles": compiles[1],
         "cache_hits": 0, "trace_s": 0.0, "compile_s": 0.0},
        {"event": "steady", "at_s": started_s + 5.0, **blocks(steady_ms, wait, calls, others),
         "seconds": 0.5, "outside_s": 0.5 - calls * sum(steady_ms) / 1e3,
         "compiles": compiles[2], "cache_hits": 0, "threads": 2},
        *loops(steady_ms if loops_ms is None else loops_ms, calls, started_s + 5.5),
        {"event": "timed", "at_s": started_s + 6.0, "affinity": cores},
        {"event": "end", "at_s": started_s + 7.0},
    ]  # fmt: skip
    return {
        "status": status[0],
        "status_detail": status[1],
        "framework": cell.framework,
        "dialect": frameworks.load(cell.framework).DIALECT,
        "workload": cell.workload,
        "device": cell.device,
        "preset": "smoke",
        "repetition": repetition,
        "sizes": cells.sizes(settings, cell.workload),
        "settings": {"seed": 2025, "matmul_precision": "highest", "block_calls": calls},
        "started_utc": "2025-11-20T10:00:00+00:00",
        "started_s": started_s,
        "wall_s": wall_s,
        "peak_rss_bytes": 2**28 + repetition,
        "memory_cap_bytes": 2**30,
        "events": events if status[0] == "ok" else events[:3],
        "machine": MACHINE,
        "source": {"git_revision": "0123456789ab", "git_dirty": False},
        "environment": "jax-0123",
        "repeated": True,
        "round_s": wall_s,
        "order": {"singles": ["subject"]},
        "basis": "interleaved",
        "partner": None,
        **changes,
    }


def loops(ms: tuple[float, ...], calls: int = 1, at_s: float = 1000.0) -> list[dict]:
    """Return the loops of a process whose calls take so long: a block that is dropped, and one that counts."""
    return [
        {
            **{"event": "loop", "at_s": at_s, "ns": [5 * 10**6, round(1e6 * value * calls)], "dropped": 1},
            **{"calls": calls, "run_ns": 75 * 10**5, "wait_ns": 0, "steal_ns": 0},
            **{"minor_faults": 4 * calls, "major_faults": 0},
        }
        for value in ms
    ]


def with_partner(process: dict, other: dict, basis: str = "interleaved") -> dict:
    """Return the process of a round in which the other one was its partner."""
    left_out = measured_cell.NOT_OF_PARTNER
    partner = {key: value for key, value in other.items() if key not in left_out and key != "round_s"}
    return {**process, "basis": basis, "partner": partner | {"basis": basis}}


def process_folder(folder: Path, result: dict, output: np.ndarray | None = None) -> Path:
    """Write a process's folder; with its output and program if its result is ok."""
    folder.mkdir(parents=True)
    if result["status"] == "ok":
        np.save(folder / "output.npy", np.arange(4, dtype=np.float32) if output is None else output)
        (folder / "stablehlo.mlir.gz").write_bytes(gzip.compress(PROGRAM.encode(), mtime=0))
    return folder


def write_cell(results: Path, processes: list[dict], output: np.ndarray | None = None) -> Path:
    """Write a cell's folder into a folder of results, by the harness, from these processes."""
    first = processes[0]
    folder = results / Cell(first["framework"], first["workload"], first["device"]).path
    parts = [
        process_folder(folder / "rounds" / str(result["repetition"]), result, output) for result in processes
    ]
    measured_cell.write(folder, processes, parts, 7)
    shutil.rmtree(folder / "rounds")
    return folder


def write_results(results: Path) -> Path:
    """Write the devices and the CPU's peak, which every folder of results has."""
    (results / "cpu").mkdir(parents=True, exist_ok=True)
    (results / "devices.json").write_text(json.dumps(DEVICES))
    (results / "cpu" / "peak.json").write_text(json.dumps(PEAK))
    return results


CALL_MS = 10.0
FLOOR_MS = 4.0


def honest_process(**changes: object) -> dict:
    """Return an honest process as the supervisor writes it: 20 blocks of one call of CALL_MS, first call 0.8 s.

    changes: of one event, by its name: `steady={"ns": [...]}`; or of the process itself.
    """
    steady_s = 20 * (CALL_MS / 1e3 + 2e-5)
    events = {
        "run": {"at_s": 100.0, "affinity": [1]},
        "first": {"began_s": 100.001, "at_s": 100.801, "ns": 800_000_000, "compiles": 1, "cache_hits": 0},
        "second": {"at_s": 100.82, "ns": 10_000_000, "compiles": 0, "cache_hits": 0},
        "steady": {
            "began_s": 100.82, "at_s": 100.82 + steady_s, "ns": [round(1e6 * CALL_MS)] * 20, "calls": 1,
            "seconds": steady_s, "compiles": 0, "cache_hits": 0,
        },
        "timed": {"at_s": 101.2, "affinity": [1]},
        "end": {"at_s": 101.3},
    }  # fmt: skip
    steady = {**events["steady"], **changes.get("steady", {})}
    events["steady"]["run_ns"] = steady["ns"]  # one thread that never waits
    of_process = {key: value for key, value in changes.items() if key not in events}
    return {
        "status": "ok", "framework": "jax", "workload": "gemm", "device": "cpu-1t", "repetition": 0,
        "wall_s": 3.0, **of_process,
        "events": [{"event": name, **event, **changes.get(name, {})} for name, event in events.items()],
    }  # fmt: skip
