"""Calls workloads in a framework, in its own environment: `python -m workloads.called FRAMEWORK FOLDER`.

FOLDER/FRAMEWORK.json is {label: [workload, sizes]}. FOLDER/FRAMEWORK.npz gets "<label>/output/<call>" and
"<label>/state/<leaf>", that after the last call, and how many compilations and executions there were
after each call; -1 if the framework does not count them. Workloads that the framework refuses are left out.
"""

import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np

from stackwars.measure import workloads

CALLS = 2
SEED = 0


def executions(framework: str) -> int:
    if framework != "torch_xla":
        return -1
    import torch_xla.debug.metrics as metrics

    return int((metrics.metric_data("ExecuteTime") or [0])[0])


def called(name: str, sizes: dict[str, int], framework: str) -> dict[str, np.ndarray]:
    module = import_module(f"stackwars.measure.frameworks.{framework}")
    session = module.Session("cpu", "highest")
    sets = workloads.load(name).input_sets(sizes, SEED)
    session.build(workloads.build(name, module.DIALECT), sizes, SEED, sets)
    session.settle()
    found, counts = {}, []
    before, executed = session.counters(), executions(framework)
    for call in range(CALLS):
        output = session.call(call % 2)
        session.fence(output)
        compiles = session.counters().since(before).compiles
        counts.append((-1 if compiles is None else compiles, executions(framework) - executed))
        found[f"output/{call}"] = session.fetch(output)
    found["compiles"], found["executions"] = np.array(counts).T
    return found | {f"state/{leaf}": value for leaf, value in session.state().items()}


if __name__ == "__main__":
    framework, place = sys.argv[1], Path(sys.argv[2], sys.argv[1])
    arrays = {}
    for label, (workload, sizes) in json.loads(place.with_suffix(".json").read_text()).items():
        try:
            found = called(workload, sizes, framework)
        except NotImplementedError as error:
            print(f"{label}: {error}")
        else:
            arrays |= {f"{label}/{what}": value for what, value in found.items()}
    np.savez(place.with_suffix(".npz"), **arrays)
