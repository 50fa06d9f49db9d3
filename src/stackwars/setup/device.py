"""Translate a device's name for the frameworks and for the kernel. Standard library only."""

from __future__ import annotations

import os
from pathlib import Path

CPU = "cpu"
"""All cores of the CPU, as a user runs it."""
ONE_THREAD = "cpu-1t"
"""The CPU as a quiet instrument: one thread, pinned to one core."""
CPUS = (CPU, ONE_THREAD)
"""The devices that every machine has."""
NODES = {
    "cuda": ("/dev/nvidiactl", "/dev/nvidia0"),
    "tpu": ("/dev/accel0", "/dev/vfio/0", "/dev/vfio/1"),
}
"""Without any of these files no driver is loaded, and no framework can find the device. Only if one exists,
the device's environment (several GB) is built and its framework queried."""


def platform(device: str) -> str:
    """Return the frameworks' name of a device: cpu-1t is a cpu to them."""
    return CPU if device in CPUS else device


def why_absent(device: str) -> str:
    """Return why this machine cannot have the device; "" if it may."""
    nodes = NODES.get(device, ())
    if device in CPUS or any(Path(node).exists() for node in nodes):
        return ""
    return f"no driver: none of {', '.join(nodes)} exists"


def cores(device: str) -> set[int]:
    """Return the cores that a process for this device may use: the last one for cpu-1t, else all.

    The last one, because interrupts go to the first by default.
    """
    allowed = os.sched_getaffinity(0)
    return {max(allowed)} if device == ONE_THREAD else allowed


def variables(device: str) -> dict[str, str]:
    """Return the environment variables that limit the libraries' thread pools to `cores`."""
    return {"OMP_NUM_THREADS": "1"} if device == ONE_THREAD else {}
