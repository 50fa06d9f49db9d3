"""Check that the fence of one framework waits for the device: `python -m stackwars.audits.fences`, in its environment.

(a) After the fence nothing is left to wait for. (b) The time of a call grows with its work. (c) A call whose
output is dropped still takes its time, or is below the floor.
"""

from __future__ import annotations

import gc
import os
import statistics
import time
from importlib import import_module
from typing import Any

from stackwars import workloads
from stackwars.audits.depth_scaling import WORKLOAD as depth_scaling
from stackwars.core import documents
from stackwars.measure.peak import floor_ms
from stackwars.measure.supervisor import exclusive
from stackwars.setup import device

SEED = 2025
ROUNDS = 25
DEPTH_SCALING_ROUNDS = 100
RESIDUAL = 0.02
"""Largest share of a call that a second fence may take, or a first fetch beyond a second one."""
TOLERANCE = 0.15
"""Times of twice and four times the layers may differ from twice and four times by this share."""
SIZES = {"cpu": {"rows": 512, "width": 256}, "cuda": {"rows": 4096, "width": 4096}}
SIZES["tpu"] = SIZES["cuda"]
LAYERS = 16


def seconds(call: Any) -> float:
    """Return the duration of the call."""
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


def depth_scaling_ms(sessions: list[Any]) -> list[float]:
    """Return ms of a fenced call of the first session, and that times the ratio of each other one to it.

    Ratios are medians over calls made at about the same time: a core of a virtual machine may be much slower for
    a while, and no counter of its kernel shows it.
    """
    rows = [
        [seconds(lambda s=s, n=n: s.fence(s.call(n % 2))) for s in sessions]
        for n in range(DEPTH_SCALING_ROUNDS)
    ]
    shortest = 1e3 * statistics.median(row[0] for row in rows)
    ratios = [[time / row[0] for time in row] for row in rows]
    return [shortest * statistics.median(column) for column in zip(*ratios, strict=True)]


def dropped(session: Any) -> float:
    """Return the median ms of a call whose output nobody keeps, followed by a fence of an older output."""
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
    """Return which of the three checks hold, from the figures of `audit_fences`."""
    left = max(found["again_ms"], found["fetch_ms"]) / found["call_ms"]
    one, *longer = found["depth_scaling_ms"]
    ratios = [ms / one for ms in longer]
    return {
        "residual": left <= RESIDUAL,
        "depth_scaling": all(
            abs(ratio / steps - 1) <= TOLERANCE for ratio, steps in zip(ratios, (2, 4), strict=True)
        ),
        "dropped": found["dropped_ms"] >= 0.5 * found["call_ms"] or found["dropped_ms"] < found["floor_ms"],
    }


def audit_fences(
    framework: str, dialect: str, where: str, precision: str, peak: dict, sizes: dict, layers: int
) -> dict:
    """Return figures and verdicts of one framework on one device; sets this process's cores and environment."""
    os.sched_setaffinity(0, device.cores(where))
    os.environ.update(device.variables(where))
    build = workloads.build(depth_scaling, dialect)
    module, sessions = import_module(f"stackwars.frameworks.{framework}"), []
    steps = [{**sizes, "layers": layers * factor} for factor in (1, 2, 4)]
    for step in steps:
        session = module.Session(where, precision)
        session.build(build, step, SEED, depth_scaling.input_sets(step, SEED))
        session.settle()
        for which in (0, 1, 0):  # compiled, and a compilation that comes one call late
            output = session.call(which)
            session.fence(output)
            session.fetch(output)
        sessions.append(session)
    gc.collect()
    gc.disable()
    longest = steps[-1]
    result = {
        "framework": framework,
        "device": where,
        **residual(sessions[-1]),
        "depth_scaling_ms": depth_scaling_ms(sessions),
        "dropped_ms": dropped(sessions[-1]),
        "floor_ms": floor_ms(depth_scaling.flops(longest), depth_scaling.minimum_bytes(longest), peak),
    }
    return {**result, "ok": verdicts(result)}


def main() -> None:
    names = {name: {"required": True} for name in ("framework", "dialect", "device", "precision")}
    a = documents.parse_arguments(__doc__, "peak", "output", **names)
    sizes, peak = SIZES[device.platform(a.device)], documents.read(a.peak)
    with exclusive({}):
        result = audit_fences(a.framework, a.dialect, a.device, a.precision, peak, sizes, LAYERS)
    documents.write(a.output, result)
    print(f"[audit] fences of {a.framework} on {a.device}: {result['ok']}")


if __name__ == "__main__":
    main()
