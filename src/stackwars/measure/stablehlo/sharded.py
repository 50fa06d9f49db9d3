"""The process that runs one call of a workload on several devices, and the same call on one.

It compares programs: the collectives in the frontend's program and in the one that XLA makes from it, and whether
the output equals the output of one device. The devices are threads of the CPU, so no time is recorded.

`sharded_frontends` has the ways to divide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np

from stackwars.core import hlo, program_text
from stackwars.core.documents import Events
from stackwars.measure import workloads
from stackwars.measure.checks import relative_l2
from stackwars.measure.child import run_child
from stackwars.measure.stablehlo.arguments import ProgramSource, filled_leaf
from stackwars.measure.stablehlo.sharded_frontends import FRONTENDS
from stackwars.measure.workloads import values
from stackwars.measure.workloads.parallel import Division

EMITTED, OPTIMISED = "program.mlir.gz", "optimised.hlo.gz"


@dataclass(frozen=True)
class ShardedJob:
    """One process. frontend: the one of FRONTENDS that divides the workload; framework: owns the
    environment; way: one of `workloads.parallel.WAYS`; devices: how many; the rest as in a ProcessJob."""

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


JOB = ShardedJob
"""The class of this process's jobs, for `stackwars.measure.supervisor`."""


def measure(spec: dict, events: Events, folder: Path) -> Iterator[dict]:
    """Run the process. spec: a ShardedJob as a dictionary."""
    events.write("import")
    settings = spec["settings"]
    session = FRONTENDS[spec["frontend"]](spec["devices"], settings["matmul_precision"], folder)
    workload = workloads.load(spec["workload"])
    build = workloads.build(spec["workload"], spec["dialect"])
    events.write("build")
    seed = settings["seed"]
    with mock.patch.object(values, "leaf", filled_leaf):
        inputs = workload.inputs(spec["sizes"], seed)
        division = Division(workload, spec["way"], spec["devices"])
        source = ProgramSource(build, spec["sizes"], seed, inputs, settings["matmul_precision"], division)
        events.write("run")
        yield {}  # no stream takes turns
        divided = session.run(source)
        for name, text in ((EMITTED, session.emitted), (OPTIMISED, session.optimised)):
            program_text.write(folder / name, text)
        alone = session.alone(source)
    events.write(
        "compared",
        rel_l2=worst(divided, alone),
        results=len(alone),
        emitted=hlo.emitted_collectives(session.emitted),
        partitioned=hlo.partitioned_collectives(hlo.read(session.optimised)),
    )


def worst(divided: dict[str, np.ndarray], alone: dict[str, np.ndarray]) -> float:
    """Return the largest relative L2 error of a result.

    :raises ValueError: if the names of the results differ.
    """
    if divided.keys() != alone.keys():
        apart = ", ".join(sorted(divided.keys() ^ alone.keys())[:5])
        raise ValueError(f"expected the results of one device; only one of the two has {apart}")
    return max(relative_l2(divided[name], alone[name]) for name in alone)


if __name__ == "__main__":
    run_child(measure)
