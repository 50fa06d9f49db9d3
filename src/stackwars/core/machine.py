"""The machine and the source revision that a result was measured with."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from functools import cache
from pathlib import Path

from stackwars.core.launch import REPOSITORY
from stackwars.core.limits import machine_memory_bytes

CPUINFO = Path("/proc/cpuinfo")
SYSTEM = Path("/sys/devices/system")
NODE = "STACKWARS_NODE"
"""Environment variable with the name of this node of a cluster; Slurm sets its own."""


def node() -> str:
    """Return the name of this node of a cluster; "" on any other machine."""
    return os.environ.get(NODE) or os.environ.get("SLURMD_NODENAME", "")


@cache
def record() -> dict:
    """Return the values that identify this machine, except those that the kernel does not report; names no other host.

    cpu_model: the name that the host reports, which processors of several generations share. cpu_family,
    cpu_model_number, cpu_stepping: the processor's own numbers. cpu_flags_digest: hash of its features. cache_bytes:
    the data caches of the first core, by the kernel. cpuid_cache_bytes: the same by the processor, by which
    libraries choose their blocks; in a virtual machine the two may differ. cores: number that this process may use;
    physical_cores: number in the machine. huge_pages: the mode of transparent huge pages.
    """
    flags = sorted((_field(CPUINFO, "flags", ":") or _field(CPUINFO, "Features", ":")).split())
    values = {
        "node": node(),
        "cpu_model": _field(CPUINFO, "model name", ":") or platform.machine(),
        "cpu_family": _number(_field(CPUINFO, "cpu family", ":")),
        "cpu_model_number": _number(_field(CPUINFO, "model", ":")),
        "cpu_stepping": _number(_field(CPUINFO, "stepping", ":")),
        "cpu_flags_digest": hashlib.sha256(" ".join(flags).encode()).hexdigest()[:12] if flags else "",
        "cache_bytes": _kernel_caches(SYSTEM / "cpu" / "cpu0" / "cache"),
        "cpuid_cache_bytes": _processor_caches(),
        **_topology(SYSTEM),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": machine_memory_bytes(),
        "huge_pages": huge_pages(),
        "kernel": platform.release(),
        "os": _field(Path("/etc/os-release"), "PRETTY_NAME", "=") or platform.system(),
        "python": platform.python_version(),
    }
    return {name: value for name, value in values.items() if value not in ("", None, {})}


def huge_pages(path: Path = Path("/sys/kernel/mm/transparent_hugepage/enabled")) -> str:
    """Return the mode of transparent huge pages: always, madvise or never; empty if the kernel does not say."""
    match = re.search(r"\[(\w+)\]", _text(path))
    return match[1] if match else ""


def described(record: dict) -> str:
    """Return a text that identifies a machine: node, processor, cores, memory.

    Updates of the system do not change it.
    """
    memory = f"{record['memory_bytes'] / 2**30:.0f} GiB" if "memory_bytes" in record else "?"
    node = f"node {record['node']}: " if "node" in record else ""
    return f"{node}{record.get('cpu_model', '?')}, {record.get('cores', '?')} cores, {memory}"


@cache
def revision() -> dict:
    """Return {"git_revision", "git_dirty"} of the checkout; the revision outside one is "unknown"."""
    head = git("rev-parse", "--short=12", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no")
    return {"git_revision": head or "unknown", "git_dirty": bool(changed)}


def _kernel_caches(folder: Path) -> dict[str, int]:
    """Return {"l1d", "l2", "l3", ...: bytes} of one core."""
    result = {}
    for index in sorted(folder.glob("index*")):
        kind, level, size = (_text(index / name).strip() for name in ("type", "level", "size"))
        if kind in ("Data", "Unified") and size.endswith("K"):
            result["l1d" if level == "1" else f"l{level}"] = int(size[:-1]) * 1024
    return result


def _processor_caches() -> dict[str, int]:
    """Return {"l1d", "l2", "l3": bytes} as glibc reads them from the processor.

    The numbers are those of _SC_LEVEL1_DCACHE_SIZE and the like in its header; Python has no names for them.
    """
    result = {}
    for level, name in {"l1d": 188, "l2": 191, "l3": 194}.items():
        try:
            result[level] = os.sysconf(name)
        except (OSError, ValueError):  # another C library
            continue
    return {level: size for level, size in result.items() if size > 0}


def _topology(folder: Path) -> dict[str, int]:
    """Return how many sockets, physical cores, threads a core and NUMA nodes the machine has."""
    threads = [
        (_text(cpu / "physical_package_id").strip(), _text(cpu / "core_id").strip())
        for cpu in folder.glob("cpu/cpu[0-9]*/topology")
    ]
    nodes = {"numa_nodes": len(list(folder.glob("node/node[0-9]*"))) or 1}
    if not threads:
        return nodes
    cores = len(set(threads))
    return {
        "sockets": len({socket for socket, _ in threads}),
        "physical_cores": cores,
        "threads_per_core": len(threads) // cores,
        **nodes,
    }


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _field(path: Path, name: str, separator: str) -> str:
    for line in _text(path).splitlines():
        key, result, value = line.partition(separator)
        if result and key.strip() == name:
            return value.strip().strip('"')
    return ""


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def git(*arguments: str) -> str:
    """Return git's output about the checkout, without its last line break; "" if it fails."""
    try:
        done = subprocess.run(
            ["git", "-C", str(REPOSITORY), *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
