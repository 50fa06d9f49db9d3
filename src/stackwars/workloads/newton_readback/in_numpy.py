"""The Newton-Schulz iteration in NumPy: its loop is decided in Python already, and is that of `newton`."""

from stackwars.workloads.newton.in_numpy import build

__all__ = ["build"]
