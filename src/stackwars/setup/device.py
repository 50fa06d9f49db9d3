"""What a device's name means to the frameworks and to the kernel. Standard library only."""

from __future__ import annotations

import os

CPU = "cpu"
"""All cores of the CPU: what a user runs."""
ONE_THREAD = "cpu-1t"
"""The CPU as a quiet instrument: one thread, pinned to one core."""
CPUS = (CPU, ONE_THREAD)
"""The devices that every machine has."""


def platform(device: str) -> str:
    """What the frameworks call the device: cpu-1t is a cpu to them."""
    return CPU if device in CPUS else device


def cores(device: str) -> set[int]:
    """The cores that a process for this device may use: of cpu-1t the last one, else all.

    The last one, because interrupts go to the first where nobody has changed it.
    """
    allowed = os.sched_getaffinity(0)
    return {max(allowed)} if device == ONE_THREAD else allowed


def variables(device: str) -> dict[str, str]:
    """Environment variables that tell the thread pools of the libraries what `cores` tells the kernel."""
    return {"OMP_NUM_THREADS": "1"} if device == ONE_THREAD else {}
