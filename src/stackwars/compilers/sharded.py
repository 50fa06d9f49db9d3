"""The parent of a process that runs one workload on several devices of this machine, and without them.

What it is about is the programs: the collectives that a frontend's has and those of the program that XLA makes
of it, and whether the output is that of one device. The devices are made of the CPU's threads, so no time of it
means anything, and none is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from stackwars.measure import supervisor

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


if __name__ == "__main__":
    supervisor.command(ShardedJob, CHILD)
