"""Runs code in a framework's environment; each framework calls all small workloads once."""

import json
from pathlib import Path

import numpy as np
import pytest

from running import python
from stackwars.core.launch import clean_environ
from workloads.presets import ODD, SMALL

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
CHOSEN = {
    "torchax": ("train_mlp", "decode", "newton", "scan_rnn", "per_example_grad", "moe_sorted"),
    "torch_xla_dynamo": ("train_mlp", "decode", "newton"),
    "tensorflow_graph": ("train_mlp", "moe_sorted"),
}
"""Frameworks that are tried with some workloads only, to save time: another one calls the others in their dialect."""
AT_ODD_SIZES = ("jax", "torch_eager")
"""Frameworks that call each workload at odd sizes too."""


@pytest.fixture(scope="session")
def in_dialect():
    """A function (dialect, arguments of Python) that runs them there and gives their output."""

    def run(dialect: str, *arguments: str, **options: str) -> str:
        extra = {"JAX_PLATFORMS": "cpu", "PJRT_DEVICE": "CPU", "TOKENIZERS_PARALLELISM": "false"}
        # The values count, and no time: LLVM's optimisations take longer than all else.
        variables = clean_environ({**extra, "XLA_FLAGS": "--xla_backend_optimization_level=0"})
        variables["PYTHONPATH"] += f":{HERE.parent}"
        return python(*arguments, pins=PINS[dialect], env=variables, timeout=900, **options).stdout

    return run


@pytest.fixture(scope="session")
def called(in_dialect, tmp_path_factory):
    """A function of a framework and whether at odd sizes: what `called` found, {workload: {what: array}}.

    A framework calls all workloads in one process.
    """
    folder = tmp_path_factory.mktemp("called")

    def of(framework: str, odd: bool = False) -> dict[str, dict[str, np.ndarray]]:
        path = folder / f"{framework}.npz"
        if not path.exists():
            cases = {name: (name, SMALL[name]) for name in CHOSEN.get(framework, SMALL)}
            if framework in AT_ODD_SIZES:
                cases |= {f"{name}@odd": (name, ODD[name][0]) for name in SMALL if name in ODD}
            path.with_suffix(".json").write_text(json.dumps(cases))
            in_dialect(FRAMEWORKS[framework], "-m", "workloads.called", framework, str(folder))
        found: dict[str, dict[str, np.ndarray]] = {}
        for key, array in np.load(path).items():
            label, _, what = key.partition("/")
            name, _, at = label.partition("@")
            if bool(at) == odd:
                found.setdefault(name, {})[what] = array
        return found

    return of
