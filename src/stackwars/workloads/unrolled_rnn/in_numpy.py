"""The recurrence in NumPy: its loop is Python's already, and is that of `scan_rnn`."""

from stackwars.workloads.scan_rnn.in_numpy import build

__all__ = ["build"]
