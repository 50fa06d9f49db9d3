"""The parent of a process that runs one workload on several devices of this machine, and without them.

What it is about is the programs: the collectives that a frontend's has and those of the program that XLA makes
of it, and whether the output is that of one device. The devices are made of the CPU's threads, so no time of it
means anything, and none is kept.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from stackwars.measure import documents, supervisor

CHILD = "stackwars.compilers.sharded_child"


@dataclass(frozen=True)
class ShardedJob:
    """One process. frontend: the module sharded_<frontend> that divides the workload; framework: whose
    environment and workload it uses; way: one of `workloads.parallel.WAYS`; devices: how many; the rest as of
    a ProcessJob."""

    frontend: str
    framework: str
    dialect: str
    workload: str
    way: str
    devices: int
    device: str
    preset: str
    repetition: int
    sizes: dict[str, int]
    settings: dict


def main() -> None:
    """`python -m stackwars.compilers.sharded`: one process, into one folder."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--job", required=True, help="file of the ShardedJob, as JSON")
    parser.add_argument("--pins", required=True, type=Path, help="pins file of the environment")
    parser.add_argument("--output", required=True, type=Path, help="folder to write, made afresh")
    a = parser.parse_args()
    supervisor.run(ShardedJob(**documents.read(a.job)), a.pins, a.output, CHILD)


if __name__ == "__main__":
    main()
