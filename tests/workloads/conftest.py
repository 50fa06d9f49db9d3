"""Runs code in a framework's environment; each framework calls all small workloads once."""

import json
from pathlib import Path

import numpy as np
import pytest

from running import python
from stackwars.core.launch import clean_environ
from stackwars.measure import workloads
from workloads.presets import ODD, SMALL, UPDATING

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
PINS = {
    "jax": "envs/jax.txt",
    "torch": "envs/torch_xla.txt",
    "tensorflow": "envs/tensorflow.txt",
    "torchax": "envs/torchax.txt",
}
FRAMEWORKS = {
    "jax": "jax",
    "torch_xla": "torch",
    "torch_eager": "torch",
    "tensorflow_xla": "tensorflow",
    "tensorflow_graph": "tensorflow",
    "torchax": "torchax",
    "torch_xla_dynamo": "torch",
    "numpy": "jax",  # its environment has NumPy too
}
"""For each framework, a dialect in whose environment it runs."""
BEYOND = [name for name in SMALL if workloads.load(name).TABLE == "beyond"]
CHOSEN = {"torchax": BEYOND, "torch_xla_dynamo": UPDATING, "tensorflow_graph": UPDATING}
"""Frameworks that are tried with some workloads only, to save time: another one calls the others in their dialect."""
AT_ODD_SIZES = {"jax": 1, "torch_eager": 2}
"""At how many odd sizes a framework calls each workload too."""


@pytest.fixture(scope="session")
def in_dialect():
    """A function (dialect, arguments of Python) that runs them there and gives their output."""

    def run(dialect: str, *arguments: str, **options: str) -> str:
        extra = {"JAX_PLATFORMS": "cpu", "PJRT_DEVICE": "CPU", "TOKENIZERS_PARALLELISM": "false"}
        variables = clean_environ(extra)
        variables["PYTHONPATH"] += f":{HERE.parent}"
        return python(*arguments, pins=PINS[dialect], env=variables, timeout=900, **options).stdout

    return run


@pytest.fixture(scope="session")
def called(in_dialect, tmp_path_factory):
    """A function of a framework and, of odd sizes, their place: what `called` found, {workload: {what: array}}.

    A framework calls all workloads in one process.
    """
    folder = tmp_path_factory.mktemp("called")

    def of(framework: str, place: int | None = None) -> dict[str, dict[str, np.ndarray]]:
        path = folder / f"{framework}.npz"
        if not path.exists():
            cases = {name: (name, SMALL[name]) for name in CHOSEN.get(framework, SMALL)}
            for name in SMALL:
                odd = ODD.get(name, [])[: AT_ODD_SIZES.get(framework, 0)]
                cases |= {f"{name}@{at}": (name, sizes) for at, sizes in enumerate(odd)}
            path.with_suffix(".json").write_text(json.dumps(cases))
            in_dialect(FRAMEWORKS[framework], "-m", "workloads.called", framework, str(folder))
        found: dict[str, dict[str, np.ndarray]] = {}
        for key, array in np.load(path).items():
            label, _, what = key.partition("/")
            name, _, at = label.partition("@")
            if at == ("" if place is None else str(place)):
                found.setdefault(name, {})[what] = array
        return found

    return of
