"""Each node of a cluster has its own lock and peak."""

from __future__ import annotations

import fcntl
from collections.abc import Iterable
from pathlib import Path

from stackwars.core import documents, launch, limits, machine
from stackwars.core.launch import REPOSITORY, clean_environ
from stackwars.setup.device import CPUS
from stackwars.setup.environments import ensure

PEAK_TIMEOUT_S = 600.0


def lock() -> Path:
    """Return the file that a measuring process locks: one for each node, because the nodes share the folder."""
    node = machine.node()
    return REPOSITORY / "results" / (f".measuring-{node}.lock" if node else ".measuring.lock")


def peaks(folder: Path) -> list[dict]:
    """Return the peaks of a device, as `stackwars.measure.peak` writes them: the run's, then those of other nodes.

    folder: the device's, in the run's folder. A peak that could not be measured is left out.
    """
    paths = [folder / "peak.json", *sorted((folder / "peaks").glob("*.json"))]
    result = [documents.read(path) for path in paths if path.exists()]
    return [peak for peak in result if "unavailable" not in peak]


def peak_of(measured: list[dict], record: dict) -> dict | None:
    """Return the peak of the machine of a record, or None if it was not measured."""
    described = machine.described(record)
    return next((p for p in measured if machine.described(p["machine"]) == described), None)


def of(processes: Iterable[dict]) -> set[str]:
    """Return the nodes of a cluster that measured some processes; empty without one."""
    return {p["machine"]["node"] for p in processes if "node" in p.get("machine", {})}


def ensure_peak(device: str, output: Path) -> None:
    """Measure this node's peak, unless it has been.

    output: the folder of a process that is about to be measured here. Raises BuildError, and
    RuntimeError if the measurement fails.
    """
    if not machine.node():
        return
    folder = next(parent for parent in output.parents if parent.parent.name == "results") / device
    pins = REPOSITORY / "envs" / ("jax.txt" if device in CPUS else f"jax-{device}.txt")
    path = folder / "peaks" / f"{machine.node()}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # processes of the smoke preset begin at once
        if peak_of(peaks(folder), machine.record()):
            return
        part = path.with_suffix(".part")
        log = path.with_suffix(".txt")
        report = launch.run_child(
            ensure(pins), ["-m", "stackwars.measure.peak", device, str(part)],
            clean_environ({}), limits.cap_bytes("auto"), PEAK_TIMEOUT_S, log=log,
        )  # fmt: skip
        if report.exit_code != 0:
            raise RuntimeError(
                f"expected the peak of node {machine.node()} to be measured, got exit code {report.exit_code}; "
                f"fix: see {log}\n{report.not_started or report.log_tail}"
            )
        part.rename(path)
