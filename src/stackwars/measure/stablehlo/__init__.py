"""Programs of every frontend: lower them, check and replay them in every compiler, compile them for absent targets.

It reads jobs and programs (program.mlir.gz with its arguments.json) and writes programs, expected.json and check.json,
replay.json and profile.json for the replay of a workload's programs in one process, ahead.json for a compilation for a
target, and largest_batch.json for the search for the largest batch that fits one.
"""

from __future__ import annotations

from pathlib import Path


def lowering() -> list[str]:
    """Return every framework whose programs are lowered: a module lower_<name> here."""
    return _lowering("")


def dividing() -> list[str]:
    """Return every framework whose programs are lowered for several devices too, without running there."""
    return _lowering("source.division")


def _lowering(text: str) -> list[str]:
    files = Path(__file__).parent.glob("lower_*.py")
    return sorted(path.stem.removeprefix("lower_") for path in files if text in path.read_text())
