"""Translate a device's name for the frameworks and for the kernel. Standard library only."""

from __future__ import annotations

import os

CPU = "cpu"
"""All cores of the CPU: what a user runs."""
ONE_THREAD = "cpu-1t"
"""The CPU as a quiet instrument: one thread, pinned to one core."""
CPUS = (CPU, ONE_THREAD)
"""The devices that every machine has."""


def platform(device: str) -> str:
    """Return the frameworks' name of a device: cpu-1t is a cpu to them."""
    return CPU if device in CPUS else device


def cores(device: str) -> set[int]:
    """Return the cores that a process for this device may use: the last one for cpu-1t, else all.

    The last one, because interrupts go to the first by default.
    """
    allowed = os.sched_getaffinity(0)
    return {max(allowed)} if device == ONE_THREAD else allowed


def variables(device: str) -> dict[str, str]:
    """Return the environment variables that limit the libraries' thread pools to `cores`."""
    return {"OMP_NUM_THREADS": "1"} if device == ONE_THREAD else {}
