"""Some calls of the workloads that update what they keep: `python -m workloads.updated FRAMEWORK FOLDER`.

FOLDER/FRAMEWORK.npz has "<workload>/output/<call>" and "<workload>/state/<leaf>", that after the last call.
"""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np

from stackwars import workloads
from stackwars.measure.inputs import input_sets
from workloads.sizes import UPDATING

CALLS = 3
SEED = 0


def called(name: str, framework) -> dict[str, np.ndarray]:
    session = framework.Session("cpu", "highest")
    sizes = UPDATING[name]
    build = import_module(f"stackwars.workloads.{name}.in_{framework.DIALECT}").build
    session.build(build, sizes, SEED, input_sets(workloads.load(name), sizes, SEED))
    session.settle()
    found = {}
    before = session.counters()
    for call in range(CALLS):
        output = session.call(call % 2)
        session.fence(output)
        found[f"{name}/output/{call}"] = session.fetch(output)
    compiles = session.counters().since(before).compiles
    found[f"{name}/compiles"] = np.asarray(-1 if compiles is None else compiles)
    return found | {f"{name}/state/{leaf}": value for leaf, value in session.state().items()}


if __name__ == "__main__":
    framework = import_module(f"stackwars.frameworks.{sys.argv[1]}")
    arrays = {}
    for workload in UPDATING:
        arrays |= called(workload, framework)
    np.savez(Path(sys.argv[2], f"{sys.argv[1]}.npz"), **arrays)
