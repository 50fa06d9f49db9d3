"""Processes and values with numbers that a test chooses. No number here was ever measured."""

from __future__ import annotations

import random

from stackwars.audits import power
from stackwars.audits.trials import Trial, aa_comparison
from stackwars.measure.process_value import ProcessValue

CALL_MS = 10.0
FLOOR_MS = 4.0


def process(**changes: object) -> dict:
    """An honest process as the supervisor writes it: 20 blocks of one call of CALL_MS, first call 0.8 s.

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
    own = {key: value for key, value in changes.items() if key not in events}
    return {
        "status": "ok", "framework": "jax", "workload": "gemm", "device": "cpu-1t", "repetition": 0,
        "wall_s": 3.0, **own,
        "events": [{"event": name, **event, **changes.get(name, {})} for name, event in events.items()],
    }  # fmt: skip


def value(ms: float) -> ProcessValue:
    """A process of uncontended blocks with this value."""
    return ProcessValue(ms, ms, 1.0, "steady at once", 0, 3)


def rounds(count: int, ms: float, seed: str, noise: float = 0.004) -> dict[int, ProcessValue]:
    """So many rounds around a time, each off by a normal share of it."""
    draw = random.Random(seed)
    return {number: value(ms * (1 + draw.gauss(0, noise))) for number in range(count)}


FENCES = {
    "framework": "jax", "device": "cpu", "call_ms": 20.0, "again_ms": 0.01, "fetch_ms": 0.1,
    "layers": [16, 32, 64], "depth_scaling_ms": [5.0, 10.1, 19.8], "dropped_ms": 0.1, "floor_ms": 9.0,
    "limits": {"residual": 0.02, "depth_scaling": 0.15},
    "ok": {"residual": True, "depth_scaling": True, "dropped": True},
}  # fmt: skip
MUTANTS = {
    "framework": "jax", "device": "cpu-1t", "floor_ms": 9.0, "ok": True,
    "processes": [
        {"mutant": "honest", "steady_ms": 20.0, "rejected_by": [], "problems": []},
        {"mutant": "no_fence", "steady_ms": 0.1, "rejected_by": ["floor"], "problems": ["floor: 100%"]},
    ],
}  # fmt: skip
INDEPENDENT = {
    "framework": "jax", "device": "cpu-1t", "limit": 0.05,
    "workloads": [{"workload": "ffn", "harness": "pyperf 2.10.0", "ratio": 1.01, "ok": True,
                   "ours_ms": [101.0], "third_party_ms": [100.0]}],
}  # fmt: skip


def powered(noise: float = 0.004, count: int = 60, steps: dict | None = None) -> dict:
    """What `power.audit_power` gives of simulated sides."""
    percents = steps or power.SIDES
    made = {name: rounds(count, 4 * (1 + p / 100), name, noise) for name, p in percents.items()}
    figures = power.figures(made, "cpu-1t")
    return {"framework": "jax", "device": "cpu-1t", "rounds": count, "layers": 100, **figures}


def a_a(count: int, claimed: int = 0) -> list[Trial]:
    """A/A trials of cells; so many more of them claim a difference of 3 %."""
    cells = [rounds(8, 5.0, f"cell {number}") for number in range(count + claimed)]
    found = [aa_comparison(values, str(number)) for number, values in enumerate(cells)]
    wrong = [comparison._replace(p=0.01, ratio=1.03) for comparison in found[count:]]
    names = (f"jax w{number}" for number in range(len(cells)))
    return [Trial("cpu", n, one) for n, one in zip(names, [*found[:count], *wrong], strict=True)]
