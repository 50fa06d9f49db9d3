"""Runs code in a framework's environment; each dialect computes all small workloads once."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from stackwars.setup import environments

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
PINS = {
    "jax": "envs/jax.txt",
    "torch": "envs/torch_xla.txt",
    "tensorflow": "envs/tensorflow.txt",
    "torchax": "envs/torchax.txt",
}


@pytest.fixture(scope="session")
def in_dialect():
    """A function (dialect, arguments of Python) that runs them there and gives their output."""

    def run(dialect: str, *arguments: str) -> str:
        python = environments.ensure(REPOSITORY / PINS[dialect])
        extra = {"JAX_PLATFORMS": "cpu", "PJRT_DEVICE": "CPU", "TOKENIZERS_PARALLELISM": "false"}
        variables = environments.clean_environ(extra)
        variables["PYTHONPATH"] += f":{HERE.parent}"
        done = subprocess.run([python, *arguments], env=variables, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    return run


@pytest.fixture(scope="session")
def outputs(in_dialect, tmp_path_factory):
    """Outputs of all small workloads: {"jax": {workload: array}, "torch": ..., "xla": ..., ...}."""
    folder = tmp_path_factory.mktemp("outputs")
    for dialect in PINS:
        in_dialect(dialect, "-m", f"workloads.small_in_{dialect}", str(folder))
    return {path.stem: dict(np.load(path)) for path in folder.glob("*.npz")}
