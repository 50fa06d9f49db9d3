"""The machine and the source revision that a result was measured with."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from pathlib import Path

from stackwars.measure.limits import machine_memory_bytes
from stackwars.setup.environments import REPOSITORY

NODE = "STACKWARS_NODE"
"""Environment variable with the name of this node of a cluster; Slurm says it by itself."""


def node() -> str:
    """The node of a cluster that this is; empty on a machine that is none."""
    return os.environ.get(NODE) or os.environ.get("SLURMD_NODENAME", "")


@cache
def record() -> dict:
    """CPU model, cores, memory in bytes, kernel, operating system and Python; of a cluster's node, its name.

    Names no other host.
    """
    return {
        **({"node": node()} if node() else {}),
        "cpu_model": _field(Path("/proc/cpuinfo"), "model name", ":") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": machine_memory_bytes(),
        "kernel": platform.release(),
        "os": _field(Path("/etc/os-release"), "PRETTY_NAME", "=") or platform.system(),
        "python": platform.python_version(),
    }


def described(record: dict) -> str:
    """What tells a machine from another: node, processor, cores, memory.

    Updates of the system leave it the same.
    """
    memory = f"{record['memory_bytes'] / 2**30:.0f} GiB" if "memory_bytes" in record else "?"
    node = f"node {record['node']}: " if "node" in record else ""
    return f"{node}{record.get('cpu_model', '?')}, {record.get('cores', '?')} cores, {memory}"


@cache
def revision() -> dict:
    """{"git_revision", "git_dirty"} of the checkout; revision "unknown" outside one."""
    head = _git("rev-parse", "--short=12", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return {"git_revision": head or "unknown", "git_dirty": bool(changed)}


def _field(path: Path, name: str, separator: str) -> str:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return ""
    for line in lines:
        key, result, value = line.partition(separator)
        if result and key.strip() == name:
            return value.strip().strip('"')
    return ""


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(REPOSITORY), *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
