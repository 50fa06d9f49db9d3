"""Check that the fence of one framework waits for the device.

`python -m stackwars.study.audits.fences` runs in the framework's environment.
(a) After the fence nothing is left to wait for. (b) A call whose output is dropped still takes its time, or is below
the floor.
"""

from __future__ import annotations

import gc
import os
import statistics
import time
from importlib import import_module
from typing import Any

from stackwars.core import documents
from stackwars.measure import workloads
from stackwars.measure.peak import floor_ms
from stackwars.measure.supervisor import exclusive
from stackwars.measure.workloads.gemm import WORKLOAD as gemm
from stackwars.setup import device

SEED = 2025
ROUNDS = 25
RESIDUAL = 0.02
"""Largest share of a call that a second fence may take, or a first fetch beyond a second one."""
SIZES = {"cpu": {"m": 512, "k": 8192, "n": 512}, "cuda": {"m": 4096, "k": 32768, "n": 4096}}
"""Much work and a small result, which is fetched."""
SIZES["tpu"] = SIZES["cuda"]


def seconds(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def residual(session: Any) -> dict[str, float]:
    """Return medians in ms: of a fenced call, of a second fence after it, and of a first fetch minus a second.

    Fetching takes time even if nothing is left to wait for, which the second fetch shows.
    """
    rows = []
    for number in range(ROUNDS):
        start = time.perf_counter()
        output = session.call(number % 2)
        session.fence(output)
        called = time.perf_counter() - start
        again = seconds(lambda out=output: session.fence(out))
        fetched = [seconds(lambda out=output: session.fetch(out)) for _ in range(2)]
        rows.append((called, again, fetched[0] - fetched[1]))
    medians_ms = (1e3 * statistics.median(column) for column in zip(*rows, strict=True))
    return dict(zip(("call_ms", "again_ms", "fetch_ms"), medians_ms, strict=True))


def dropped(session: Any) -> float:
    """Return the median ms of a call whose output is dropped, followed by a fence of an older output."""
    older = session.call(0)
    session.fence(older)

    def call() -> None:
        session.call(1)
        session.fence(older)

    times = []
    for _ in range(ROUNDS):
        times.append(seconds(call))
        session.fence(session.call(0))  # finishes what the dropped call left running
    return 1e3 * statistics.median(times)


def verdicts(found: dict) -> dict[str, bool]:
    """Return which of the two checks hold, from the figures of `audit_fences`."""
    left = max(found["again_ms"], found["fetch_ms"]) / found["call_ms"]
    return {
        "residual": left <= RESIDUAL,
        "dropped": found["dropped_ms"] >= 0.5 * found["call_ms"] or found["dropped_ms"] < found["floor_ms"],
    }


def audit_fences(framework: str, dialect: str, where: str, precision: str, peak: dict, sizes: dict) -> dict:
    """Return figures and verdicts of one framework on one device; sets this process's cores and environment."""
    os.sched_setaffinity(0, device.cores(where))
    os.environ.update(device.variables(where))
    session = import_module(f"stackwars.measure.frameworks.{framework}").Session(where, precision)
    session.build(workloads.build(gemm, dialect), sizes, SEED, gemm.input_sets(sizes, SEED))
    session.settle()
    for which in (0, 1, 0):  # compiled, and a compilation that comes one call late
        output = session.call(which)
        session.fence(output)
        session.fetch(output)
    gc.collect()
    gc.disable()
    result = {
        "framework": framework,
        "device": where,
        **residual(session),
        "dropped_ms": dropped(session),
        "floor_ms": floor_ms(gemm.flops(sizes), gemm.minimum_bytes(sizes), peak),
    }
    return {**result, "ok": verdicts(result)}


def main() -> None:
    names = {name: {"required": True} for name in ("framework", "dialect", "device", "precision")}
    a = documents.parse_arguments(__doc__, "peak", "output", **names)
    sizes, peak = SIZES[device.platform(a.device)], documents.read(a.peak)
    with exclusive({}):
        result = audit_fences(a.framework, a.dialect, a.device, a.precision, peak, sizes)
    documents.write(a.output, result)
    print(f"[audit] fences of {a.framework} on {a.device}: {result['ok']}")


if __name__ == "__main__":
    main()
