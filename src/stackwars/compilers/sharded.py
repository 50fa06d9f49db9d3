"""The process that runs one call of a workload on several devices, and the same call on one.

What it is about is the programs: the collectives that a frontend's has and those of the program that XLA makes of
it, and whether the output is that of one device. The devices are made of the CPU's threads, so no time of it means
anything, and none is kept.

A module sharded_<frontend> has TITLE, FRAMEWORK and a class `Session(devices, precision, folder)` with
the verbs

    run(source)     the results of one call on the devices, {name: array in torch's layout}, OUTPUT among them
    alone(source)   of the same, on one device and without its division

and, once it has run, the attributes `emitted`, the program that the frontend gave to its compiler, and `optimised`,
what the compiler made of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from unittest import mock

import numpy as np

from stackwars import workloads
from stackwars.compilers.arguments import Leaf, ProgramSource
from stackwars.core import hlo, program_text
from stackwars.core.documents import Events
from stackwars.measure.checks import relative_l2
from stackwars.measure.child import run_child
from stackwars.workloads import values
from stackwars.workloads.parallel import Division

EMITTED, OPTIMISED = "program.mlir.gz", "optimised.hlo.gz"
_leaf = values.leaf


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


JOB = ShardedJob
"""The class of this process's jobs, for `stackwars.measure.supervisor`."""


def leaf(name: str, shape: tuple[int, ...], seed: int) -> Leaf:
    """Stands in for `values.leaf`: a weight that knows its name, and so how it is divided."""
    made = _leaf(name, shape, seed).view(Leaf)
    made.name = name
    return made


def measure(spec: dict, events: Events, folder: Path) -> None:
    """Run the whole process; spec: of a ShardedJob."""
    events.write("import")
    settings = spec["settings"]
    frontend = import_module(f"stackwars.compilers.sharded_{spec['frontend']}")
    session = frontend.Session(spec["devices"], settings["matmul_precision"], folder)
    workload = workloads.load(spec["workload"])
    build = workloads.build(spec["workload"], spec["dialect"])
    events.write("build")
    seed = settings["seed"]
    with mock.patch.object(values, "leaf", leaf):
        inputs = workload.inputs(spec["sizes"], seed)
        division = Division(workload, spec["way"], spec["devices"])
        source = ProgramSource(build, spec["sizes"], seed, inputs, settings["matmul_precision"], division)
        events.write("run")
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
    """The largest relative L2 error of a result. Raises ValueError where one of the two has others."""
    if divided.keys() != alone.keys():
        apart = ", ".join(sorted(divided.keys() ^ alone.keys())[:5])
        raise ValueError(f"expected the results of one device; only one of the two has {apart}")
    return max(relative_l2(divided[name], alone[name]) for name in alone)


if __name__ == "__main__":
    run_child(measure)
