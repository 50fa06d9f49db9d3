"""Checks that a measured number must pass before a table may show it."""

from __future__ import annotations

import numpy as np


def relative_l2(values: np.ndarray, baseline: np.ndarray) -> float:
    """||values - baseline|| / ||baseline|| in float64; infinite for other shapes or values not finite."""
    if values.shape != baseline.shape:
        return float("inf")
    difference = np.linalg.norm(values.astype(np.float64) - baseline.astype(np.float64))
    norm = np.linalg.norm(baseline.astype(np.float64))
    error = float(difference / norm) if norm else float(difference)
    return error if np.isfinite(error) else float("inf")


def parity(outputs: dict[str, np.ndarray], baseline: str) -> dict[str, float]:
    """{framework: relative L2 error against the baseline} of one workload on one device.

    The baseline's own entry is the largest of the others'. Empty where there is nothing to compare.
    """
    if baseline not in outputs or len(outputs) < 2:
        return {}
    errors = {
        framework: relative_l2(values, outputs[baseline])
        for framework, values in outputs.items()
        if framework != baseline
    }
    return {baseline: max(errors.values()), **errors}
