"""The peak of this machine: matrix-product rate and copy bandwidth of a device, measured once.

Nothing that the harness times may be faster than this by more than a factor of two: see `floor_ms`.
Runs in JAX's environment for the device.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

from stackwars.core import documents, machine
from stackwars.core.contention import Meter
from stackwars.setup.device import CPUS, cores, platform, variables
from stackwars.setup.environments import why_unavailable

SIDES = (2048, 512)
"""Extents of square matrices. On a busy machine the small product still ends within one turn of its threads."""
COPY_BYTES = 2**28


def floor_ms(flops: int, minimum_bytes: int, peak: dict) -> float:
    """Return the minimum ms in which the machine can do a call; a shorter time was not measured completely.

    max(FLOPs / (2 x peak rate), bytes / (2 x bandwidth)), the second only if the bytes are over
    twice the last cache, because data that stay in the cache need no memory traffic. The factor 2 leaves
    room for a peak that was measured on a busy machine.
    """
    arithmetic_s = flops / (2e9 * peak["gflop_per_s"])
    if minimum_bytes <= 2 * peak["last_cache_bytes"]:
        return 1e3 * arithmetic_s
    return 1e3 * max(arithmetic_s, minimum_bytes / (2e9 * peak["copy_gb_per_s"]))


def best_s(call: Callable[[], object], seconds: float) -> float:
    """Return the seconds of the shortest call among those made in `seconds`, after one that is not counted."""
    call()
    shortest, start = float("inf"), time.perf_counter()
    while time.perf_counter() - start < seconds:
        begun = time.perf_counter()
        call()
        shortest = min(shortest, time.perf_counter() - begun)
    return shortest


def measure(device: str, seconds: float) -> dict:
    """Return the peak GFLOP/s (2 x side^3 per product) and GB/s (bytes read and written) of the device, float32.

    Every timed call fetches a value, so it cannot end before the device has. On the CPU NumPy's
    product and copy, which are synchronous by nature, are tried too; the better of both counts. The share of the cores
    that other programs had meanwhile tells whether the peak is the machine's.
    """
    os.environ["JAX_PLATFORMS"] = platform(device)
    os.environ.update(variables(device))
    os.sched_setaffinity(0, cores(device))
    others = Meter()
    import jax
    import numpy as np

    jax.config.update("jax_default_matmul_precision", "highest")
    vector = np.ones(COPY_BYTES // 4, dtype=np.float32)
    long_on_device = jax.device_put(vector)
    scale = jax.jit(lambda a: a * 1.5)
    rates = [rate for side in SIDES for rate in _product_rates(device, side, seconds)]
    copies = [best_s(lambda: np.asarray(scale(long_on_device)[0]), seconds)]
    if device in CPUS:
        long_out = np.empty_like(vector)
        copies.append(best_s(lambda: np.copyto(long_out, vector), seconds))
    return {
        "device": device,
        "device_kind": jax.devices()[0].device_kind,
        "gflop_per_s": max(rates) / 1e9,
        "copy_gb_per_s": 2 * COPY_BYTES / min(copies) / 1e9,
        "last_cache_bytes": last_cache_bytes() if device in CPUS else 0,
        "other_processes_share": others.other_processes_share(),
    }


def _product_rates(device: str, side: int, seconds: float) -> list[float]:
    """Return the best FLOP/s of JAX's product of two square matrices, and on the CPU of NumPy's."""
    import jax
    import numpy as np

    matrix = np.random.default_rng(0).random((side, side), dtype=np.float32)
    out, on_device = np.empty_like(matrix), jax.device_put(matrix)
    product = jax.jit(lambda a: a @ a)
    times = [best_s(lambda: np.asarray(product(on_device)[0, 0]), seconds)]
    if device in CPUS:
        times.append(best_s(lambda: np.matmul(matrix, matrix, out=out), seconds))
    return [2 * side**3 / time_s for time_s in times]


def last_cache_bytes() -> int:
    """Return the size of the first CPU's largest cache in bytes; 0 if the kernel does not say."""
    result = [0]
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text().strip()
        result.append(int(text[:-1]) * {"K": 2**10, "M": 2**20}[text[-1]])
    return max(result)


def main() -> None:
    """`python -m stackwars.measure.peak DEVICE OUTPUT`."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("device")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each operation")
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    # Before this process is pinned to the device's cores.
    where = machine.record()
    if why := why_unavailable():
        result = {"device": arguments.device, "unavailable": why, "machine": where}
        documents.write(arguments.output, result)
        print(f"[stackwars] {arguments.device}: no peak: {why}")
        return
    result = {**measure(arguments.device, arguments.seconds), "machine": where}
    documents.write(arguments.output, result)
    print(f"[stackwars] {arguments.device}: {result['gflop_per_s']:.0f} GFLOP/s, "
          f"{result['copy_gb_per_s']:.1f} GB/s")  # fmt: skip


if __name__ == "__main__":
    main()
