"""Checks that a measured process must pass: its times, its outputs, and their parity with a baseline's outputs.

Pure functions of a process's result; tried on processes that are broken on purpose by
`stackwars.study.audits.subjects`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from stackwars.measure import workloads
from stackwars.setup.device import ONE_THREAD

FLOOR, WALL, CLOCK, CACHE = "floor", "wall clock", "second clock", "cache"
CORES = "cores"
INPUTS = "inputs"
# A problem starts with the name of the check that found it.
SAMPLE = 4096
"""Maximum number of elements of each output that the parity check compares."""
LEAF_SAMPLE = 256
"""Maximum number of elements of each weight, or other leaf that the calls of a workload update."""
TINY = 1e-30
"""Stands for the size of a leaf that is 0."""
SHARE_BELOW = 0.05
"""Accepted share of blocks below the floor; a block that was timed completely never is."""
APART = 0.2
"""Two clocks may differ by this share of a time, and by SLACK_S: a clock at half speed differs by half."""
SLACK_S = 0.005
BACK_S = 10.0
"""Accepted seconds by which the clock of the events goes back in a process, when the machine corrects it."""
ONE_CORE = 1.1
"""Maximum number of cores that a process on one core may have used: two clocks are not read at once."""


def problems(process: dict, floor_ms: float | None) -> list[str]:
    """Return why the times of an ok process of a cell or a replay mean nothing, as `<check>: <why>`; [] if none.

    floor_ms: minimum time that the machine needs for a call, or None if it is unknown. Compilations in
    the steady state are no problem here: the frame reports them.
    """
    result = _floor(process, floor_ms) if floor_ms is not None else []
    return [*result, *_wall(process), *_clock(process), *_cache(process), *_cores(process)]


def output_problems(sample: np.ndarray) -> list[str]:
    """Return why the output samples of both sets of inputs cannot be right, in the words of `problems`.

    sample: (2n,), the samples of the first set, then those of the second.
    """
    first, second = np.split(sample, 2)
    same = np.array_equal(first, second)
    return [f"{INPUTS}: two different sets of inputs have the same output"] if same else []


def reported_s(process: dict) -> float:
    """Return the sum of all times that the process reports, in s."""
    times = (event["ns"] for event in process["events"] if "ns" in event)
    return sum(sum(ns) if isinstance(ns, list) else ns for ns in times) / 1e9


def call_ms(steady: dict) -> np.ndarray:
    """Return the ms of a call in each block of the event of the steady blocks."""
    return np.asarray(steady["ns"]) / steady["calls"] / 1e6


def _floor(process: dict, floor_ms: float) -> list[str]:
    for event in (*_named(process, "steady"), *_named(process, "loop")):
        times = call_ms(event)
        if np.quantile(times, SHARE_BELOW) < floor_ms:
            return [
                f"{FLOOR}: {np.mean(times < floor_ms):.0%} of the blocks are below {floor_ms:.4g} ms a "
                f"call, the minimum that this machine needs (median {np.median(times):.4g} ms)"
            ]
    return []


def _wall(process: dict) -> list[str]:
    reported = reported_s(process)
    if reported <= process["wall_s"]:
        return []
    return [f"{WALL}: the process reports {reported:.3f} s in calls, and took {process['wall_s']:.3f} s in all"]


def _clock(process: dict) -> list[str]:
    """Return where the clock of the calls contradicts the clock of the events, or where the latter goes back."""
    times = [event["at_s"] for event in process["events"] if "at_s" in event]
    result = [
        f"{CLOCK}: it went back by {one - other:.0f} s"
        for one, other in pairwise(times)
        if other < one - BACK_S
    ]
    for event in process["events"]:
        for name, reported, passed in _spans(event):
            if abs(reported - passed) > APART * passed + SLACK_S:
                result.append(f"{CLOCK}: {reported:.3f} s are reported for {name}, {passed:.3f} s passed")
    for event in _named(process, "steady"):
        accounted = sum(event["ns"]) / 1e9 + event.get("outside_s", 0.0)
        if "seconds" in event and accounted < (1 - APART) * event["seconds"] - SLACK_S:
            result.append(
                f"{CLOCK}: {accounted:.3f} s of {event['seconds']:.3f} s of steady calls are accounted for"
            )
    return result


def _spans(event: dict) -> Iterator[tuple[str, float, float]]:
    """Yield (what, reported, passed) in s of an event that says when it began by another clock."""
    if "began_s" not in event:
        return
    passed = event["at_s"] - event["began_s"]
    if event["event"] == "first":
        yield "the first call", event["ns"] / 1e9, passed
    if event["event"] == "steady" and "seconds" in event:
        yield "the steady calls", event["seconds"], passed
    if event["event"] == "loop":
        yield "a loop", sum(event["ns"]) / 1e9, passed


def _cache(process: dict) -> list[str]:
    hits = sum(event.get("cache_hits", 0) for event in _named(process, "first"))
    return [f"{CACHE}: {hits} programs of the first call came from a cache on disk"] if hits else []


def used_cores(steady: dict) -> float:
    """Return the cores that all threads used on average: their CPU time over the elapsed time of the steady blocks."""
    return sum(steady["run_ns"]) / 1e9 / steady["seconds"]


def _cores(process: dict) -> list[str]:
    """Return where the limit to one core failed: not pinned to one core, or more CPU time than elapsed time."""
    if process["device"] != ONE_THREAD:
        return []
    result = [
        f"{CORES}: pinned to cores {event['affinity']}, expected one of them"
        for event in process["events"]
        if len(event.get("affinity", [0])) != 1
    ]
    return result + [
        f"{CORES}: {used_cores(event):.2f} cores were used, expected at most one"
        for event in _named(process, "steady")
        if "seconds" in event and used_cores(event) > ONE_CORE
    ]


def _named(process: dict, name: str) -> list[dict]:
    return [event for event in process["events"] if event["event"] == name]


def sample(values: np.ndarray, seed: int, most: int = SAMPLE) -> np.ndarray:
    """Return at most `most` elements, at the same positions for every framework: (n,) float32."""
    flat = np.ascontiguousarray(values, dtype=np.float32).reshape(-1)
    if flat.size <= most:
        return flat
    return flat[np.sort(np.random.default_rng(seed).choice(flat.size, most, replace=False))]


def leaf_samples(state: dict[str, np.ndarray], seed: int) -> np.ndarray:
    """Return at most LEAF_SAMPLE elements of every leaf over its root mean square, and the latter's logarithm: (n,).

    Every leaf then weighs the same in the parity error, however small a gradient is compared with its weight.
    """
    parts = []
    for _, values in sorted(state.items()):
        size = float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))
        some = sample(values, seed, LEAF_SAMPLE)
        parts += [some / np.float32(size or 1), [np.float32(math.log(size or TINY))]]
    return np.concatenate([np.empty(0, np.float32), *parts])


def checked(values: np.ndarray, call: str) -> np.ndarray:
    """Return the fetched output; raise FloatingPointError if it is not finite."""
    if not np.isfinite(values).all():
        raise FloatingPointError(f"expected finite values from the {call} call, some are not")
    return values


def subnormals(values: np.ndarray) -> int:
    """Return how many elements are below the smallest normal number, and not 0: some cores take long over them."""
    if values.dtype.kind not in "fc":
        return 0
    size = np.abs(values)
    return int(np.count_nonzero((size > 0) & (size < np.finfo(values.dtype).tiny)))


def relative_l2(values: np.ndarray, baseline: np.ndarray) -> float:
    """Return ||values - baseline|| / ||baseline|| in float64; infinite for other shapes or values not finite."""
    if values.shape != baseline.shape:
        return float("inf")
    difference = np.linalg.norm(values.astype(np.float64) - baseline.astype(np.float64))
    norm = np.linalg.norm(baseline.astype(np.float64))
    error = float(difference / norm) if norm else float(difference)
    return error if np.isfinite(error) else float("inf")


def parity_limit(workload: str, sizes: dict[str, int], common: float) -> float:
    """Return the relative L2 error up to which a workload's outputs agree.

    common: the limit of all workloads. A workload whose result cannot be that close in every correct program derives
    a limit of its own, `parity_rel_l2`: the larger of both counts.
    """
    return max(common, workloads.load(workload).parity_rel_l2(sizes))
