"""Processes and values with numbers that a test chooses. No number here was ever measured."""

import math
import random

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


def pair(
    kind: str = "same",
    workload: str = "gemm",
    trials: int = 3,
    ratio: float = 1.0,
    noise: float = 0.01,
    subject: str = "jax",
    baseline: str = "",
    **changes: object,
) -> dict:
    """What `paired.measure` returns of a pair whose rounds lie around a ratio, each off by a normal share of it."""
    labels = {"kind": kind, "workload": workload, "device": "cpu", "trials": trials, "rounds": 5}
    sides = {"subject": subject, "baseline": baseline or subject}
    name = f"{subject}-{baseline}-{workload}"
    draw = random.Random(f"{name} {changes.pop('seed', 0)}")
    ratios = [ratio * math.exp(draw.gauss(0, noise)) for _ in range(trials * 5)]
    undisturbed = [one * math.exp(draw.gauss(0, noise)) for one in ratios]
    machine = {"cpu_model": "A CPU", "cores": 2, "memory_bytes": 2**34}
    return {
        **labels, **sides, "name": name, "ratios": ratios, "undisturbed": undisturbed,
        "machine": machine, "revisions": ["abc"], "wall_s": 1.0, **changes,
    }  # fmt: skip


def pairs(noise: float = 0.01, ratio: float = 1.0, seed: int = 0) -> list[dict]:
    """Twelve pairs of two frameworks against themselves."""
    return [
        pair(workload=f"{subject}{number}", subject=subject, noise=noise, ratio=ratio, seed=seed)
        for subject in ("jax", "torch_xla")
        for number in range(6)
    ]


FENCES = {
    "framework": "jax", "device": "cpu", "call_ms": 20.0, "again_ms": 0.01, "fetch_ms": 0.1,
    "dropped_ms": 0.1, "floor_ms": 9.0, "ok": {"residual": True, "dropped": True},
}  # fmt: skip
MUTANTS = {
    "framework": "jax", "device": "cpu-1t", "floor_ms": 9.0, "ok": True,
    "processes": [
        {"mutant": "honest", "rejected_by": [], "problems": []},
        {"mutant": "no_fence", "rejected_by": ["floor"], "problems": ["floor: 100%"]},
    ],
}  # fmt: skip
INDEPENDENT = {
    "framework": "jax", "device": "cpu-1t",
    "workloads": [{"workload": "ffn", "harness": "pyperf 2.10.0", "ratio": 1.01, "ok": True,
                   "ours_ms": [101.0], "third_party_ms": [100.0]}],
}  # fmt: skip
