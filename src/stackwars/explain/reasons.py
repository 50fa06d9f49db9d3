"""Say why a region is slow, from what can be measured: the cores that it uses and its rates."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from stackwars.explain.bench import WALL, Bench, typical
from stackwars.explain.graph import BFLOAT16, Graph, Op, dtype, element, size
from stackwars.explain.hybrids import Part
from stackwars.explain.trial_outcomes import sum_terms
from stackwars.explain.workers import Refused, Times

SHORT_NS = 50_000
"""A call shorter than this has no number of cores."""
PEAK_SIDE = 1536
_PEAK = """func.func @main(%a: tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32> {{
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : \
(tensor<{n}x{n}xf32>, tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32>
  return %0 : tensor<{n}x{n}xf32>
}}"""
NOUNS = {
    "dot_general": "product", "convolution": "convolution", "while": "loop", "sort": "sort", "reduce": "reduction",
    "reduce_window": "window reduction", "gather": "gather", "scatter": "scatter", "custom_call": "call",
}  # fmt: skip
"""What a region is called by: its first operation in this order."""
MOVES = ("transpose", "reshape", "broadcast_in_dim", "slice", "concatenate", "convert", "constant")


def bytes_moved(graphs: Sequence[Graph], part: Part) -> int:
    """Return the bytes of a part's arguments and results."""
    types = [graphs[side].types[value] for side, value in (*part.arguments, *part.results)]
    return sum(size(kind) * (2 if element(kind) == BFLOAT16 else dtype(kind).itemsize) for kind in types)


def flops(graph: Graph, op: Op) -> int:
    """Return the floating-point operations of a product or a convolution; 0 of any other operation."""
    if op.name not in ("stablehlo.dot_general", "stablehlo.convolution"):
        return 0
    return 2 * size(graph.types[op.results[0]]) * sum_terms(op, graph)


def peak_gflops(bench: Bench) -> float | None:
    """Return the compiler's rate of a large product on this machine; None if it does not compile it."""
    try:
        bench.worker.compile("peak", _PEAK.format(n=PEAK_SIDE))
    except Refused:
        return None
    side = np.random.default_rng(0).random((PEAK_SIDE, PEAK_SIDE), dtype=np.float32)
    bench.worker.bind("peak", [bench.worker.put("peak", side)])
    best = min(bench.time(["peak"], 0.3)["peak"].wall_ns)
    bench.worker.drop("peak")
    return 2 * PEAK_SIDE**3 / float(best)


def reason(graphs: Sequence[Graph], part: Part, times: Times) -> dict[str, Any]:
    """Return what a region alone does: ms, cores used, GFLOP/s, GB/s."""
    wall = typical(times, WALL)
    count = sum(flops(graphs[side], op) for side, op in part.ops)
    rate = count / wall if count else None
    return {
        "ms": round(wall / 1e6, 6),
        "cores": cores_used(times),
        "gflops": rate and float(f"{rate:.3g}"),
        "of_peak": None,
        "gbytes_s": float(f"{bytes_moved(graphs, part) / wall:.3g}"),
    }


def cores_used(times: Times) -> float | None:
    """Return the cores that a call uses; None for a call so short that the processor's time does not resolve it."""
    wall = typical(times, WALL)
    if wall < SHORT_NS:
        return None
    # The mean of the processor's time, which is booked late, and the clock's time without other processes.
    return round(min(len(os.sched_getaffinity(0)), float(np.mean(times.cpu_ns)) / wall), 2)


def noun(ops: Iterable[Op]) -> str:
    """Return what a region is: the heaviest kind of its operations."""
    names = [op.name.rpartition(".")[2] for op in ops]
    found = next((word for name, word in NOUNS.items() if name in names), None)
    if found:
        return found
    return "change of layout" if names and all(name in MOVES for name in names) else "elementwise region"


def sentence(what: str, ops: Iterable[Op], a: dict[str, Any], b: dict[str, Any], other: str = "") -> str:
    """Return one sentence that compares the two sides of a region. other: where b ran, if not in the other program."""
    layout = " with its argument in this layout" if what == "argument layout" else ""
    other = other or ("with the argument in the other layout" if layout else "in the other program")
    cores = len(os.sched_getaffinity(0))
    return f"this {noun(ops)}{layout} {_ran(a, cores)}; {other} it {_ran(b, cores)}"


def digits(number: float) -> str:
    """Return a number with three significant digits, without an exponent.

    >>> digits(3763.2), digits(0.4471), digits(32.0)
    ('3,760', '0.447', '32')
    """
    rounded = float(f"{number:.3g}")
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:.3g}"


def _ran(side: dict[str, Any], cores: int) -> str:
    if not side:
        return "does nothing"
    rate = f"{digits(side['gbytes_s'])} GB/s"
    if side["gflops"]:
        rate = f"{digits(side['gflops'])} GFLOP/s"
        rate += f" ({side['of_peak']:.0%} of the peak)" if side["of_peak"] else ""
    used = f" on {side['cores']:.1f} of {cores} cores" if side["cores"] else ""
    return f"takes {side['ms']:.3g} ms{used} at {rate}"
