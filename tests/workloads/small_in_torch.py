"""Computes all small workloads in torch and in torch_xla, and counts what torch_xla does.

`python -m workloads.small_in_torch FOLDER`
"""

import importlib
import sys
from pathlib import Path

import numpy as np
import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.debug.metrics as metrics

from stackwars import workloads
from workloads.sizes import SMALL

STEPS = 3


def on_xla(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array).to(torch_xla.device())


def fence() -> None:
    torch_xla.sync()
    xm.wait_device_ops()


def count(metric: str) -> int:
    return (metrics.metric_data(metric) or [0])[0]


def outputs(name: str, sizes: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Output in torch alone and in torch_xla; checks one compilation, one execution a step.

    A module that reads values back has several of both in a step; of the compilations none after the first
    step, because the inputs stay the same.
    """
    module = importlib.import_module(f"stackwars.workloads.{name}.in_torch")
    inputs = workloads.load(name).inputs(sizes, 0)
    eager = module.build(sizes, 0, torch.from_numpy)(*map(torch.from_numpy, inputs.values()))

    model = module.build(sizes, 0, on_xla)
    on_device = [on_xla(array) for array in inputs.values()]
    fence()
    metrics.clear_all()
    compilations = []
    for _ in range(STEPS):
        lazy = model(*on_device)
        fence()
        compilations.append(count("CompileTime"))
    done = (count("CompileTime"), count("ExecuteTime"))
    if getattr(model, "GRAPH_BREAKS", False):
        assert len({*compilations}) == 1 < compilations[0], (
            f"{name}: compilations after each step: {compilations}"
        )
    else:
        assert done == (1, STEPS), f"{name}: expected 1 compilation, {STEPS} executions; got {done}"
    return eager.numpy(), lazy.cpu().numpy()


if __name__ == "__main__":
    torch.autograd.set_multithreading_enabled(False)  # as frameworks/torch_xla.py says
    with torch.no_grad():
        results = {name: outputs(name, sizes) for name, sizes in SMALL.items()}
    for index, name in enumerate(("torch", "xla")):
        pairs = {workload: both[index] for workload, both in results.items()}
        np.savez(Path(sys.argv[1]) / f"{name}.npz", **pairs)
