"""Checks that a measured number must pass before a table may show it."""

from __future__ import annotations

import numpy as np

from stackwars import workloads


def relative_l2(values: np.ndarray, baseline: np.ndarray) -> float:
    """||values - baseline|| / ||baseline|| in float64; infinite for other shapes or values not finite."""
    if values.shape != baseline.shape:
        return float("inf")
    difference = np.linalg.norm(values.astype(np.float64) - baseline.astype(np.float64))
    norm = np.linalg.norm(baseline.astype(np.float64))
    error = float(difference / norm) if norm else float(difference)
    return error if np.isfinite(error) else float("inf")


def limit(workload: str, sizes: dict[str, int], common: float) -> float:
    """The relative L2 error up to which a workload's outputs agree.

    common: what holds for all. A workload whose result cannot be that close in every correct program has a
    function `parity_rel_l2` of its sizes, with the derivation: the larger of both counts.
    """
    own = getattr(workloads.load(workload), "parity_rel_l2", None)
    return common if own is None else max(common, own(sizes))


def parity(outputs: dict[str, np.ndarray], baselines: dict[str, str]) -> dict[str, float]:
    """{framework: relative L2 error against its baseline} of one workload on one device.

    baselines: that of each framework that has one. The entry of one that has none is the largest of those
    that are compared with it. Nothing of a framework that cannot be compared.
    """
    errors = {
        framework: relative_l2(outputs[framework], outputs[base])
        for framework, base in baselines.items()
        if framework in outputs and base in outputs
    }
    for base in {baselines[framework] for framework in errors} - errors.keys():
        errors[base] = max(e for framework, e in errors.items() if baselines.get(framework) == base)
    return errors
