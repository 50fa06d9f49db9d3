"""The forms in NumPy."""

from stackwars.measure.workloads.base import NUMPY


def build(workload, sizes, seed, put):
    """Return (weights, function); a function that updates what it keeps has the attribute `leaves`."""
    return workload.build_in_place("numpy", workload.form("numpy", sizes, NUMPY), sizes, seed, put)
