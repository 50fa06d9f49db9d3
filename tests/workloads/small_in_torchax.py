"""Computes the small workloads that are no dense forward pass in torchax.

`python -m workloads.small_in_torchax FOLDER`

Those that it refuses are left out.
"""

import importlib
import sys
from pathlib import Path

import numpy as np

from stackwars import workloads
from stackwars.frameworks import torchax
from workloads.sizes import SMALL

BEYOND = {name: sizes for name, sizes in SMALL.items() if workloads.load(name).TABLE == "beyond"}


def output(name: str, sizes: dict[str, int]) -> np.ndarray:
    session = torchax.Session("cpu", "highest")
    build = importlib.import_module(f"stackwars.workloads.{name}.in_torch").build
    session.build(build, sizes, 0, [workloads.load(name).inputs(sizes, 0)])
    return session.fetch(session.call(0))


if __name__ == "__main__":
    results = {}
    for name, sizes in BEYOND.items():
        try:
            results[name] = output(name, sizes)
        except NotImplementedError as error:
            print(f"{name}: {error}")
    np.savez(Path(sys.argv[1]) / "torchax.npz", **results)
