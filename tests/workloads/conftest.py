"""Runs code in a framework's environment; each framework calls all small workloads once."""

import json
from pathlib import Path

import numpy as np
import pytest

from running import python
from stackwars.core.launch import clean_environ
from stackwars.measure import workloads
from workloads.presets import BASIC, ODD, SMALL, UPDATING

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
WITHOUT_MODELS = [name for name in SMALL if workloads.load(name).KIND != "model"]
CHOSEN = {"torchax": BEYOND, "torch_xla_dynamo": UPDATING, "tensorflow_graph": WITHOUT_MODELS}
"""Frameworks that are tried with some workloads only, to save time: another one calls the others in their dialect."""
AT_ODD_SIZES = {"tensorflow_xla": [name for name in SMALL if name not in BASIC]}
"""The same at odd sizes, at which TensorFlow's models alone are compared."""


@pytest.fixture(scope="session")
def in_dialect():
    """A function (dialect, arguments of Python) that runs them there and gives their output."""

    def run(dialect: str, *arguments: str) -> str:
        extra = {"JAX_PLATFORMS": "cpu", "PJRT_DEVICE": "CPU", "TOKENIZERS_PARALLELISM": "false"}
        variables = clean_environ(extra)
        variables["PYTHONPATH"] += f":{HERE.parent}"
        return python(*arguments, pins=PINS[dialect], env=variables, timeout=600).stdout

    return run


@pytest.fixture(scope="session")
def called(in_dialect, tmp_path_factory):
    """A function of a framework and, of odd sizes, their place: what `called` found, {workload: {what: array}}."""
    folder = tmp_path_factory.mktemp("called")

    def of(framework: str, place: int | None = None) -> dict[str, dict[str, np.ndarray]]:
        given = SMALL if place is None else {n: rows[place] for n, rows in ODD.items() if rows[place:]}
        path = folder / str(place) / f"{framework}.npz"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            chosen = CHOSEN if place is None else AT_ODD_SIZES
            sizes = {name: given[name] for name in chosen.get(framework, given) if name in given}
            path.with_suffix(".json").write_text(json.dumps(sizes))
            in_dialect(FRAMEWORKS[framework], "-m", "workloads.called", framework, str(path.parent))
        found: dict[str, dict[str, np.ndarray]] = {}
        for key, array in np.load(path).items():
            name, _, what = key.partition("/")
            found.setdefault(name, {})[what] = array
        return found

    return of
