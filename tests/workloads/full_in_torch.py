"""Builds all workloads at full size without any values: names, shapes, weights, constants.

`python -m workloads.full_in_torch` prints {workload: [weights, values of constants]} as JSON.
"""

import importlib
import json
from unittest import mock

import numpy as np
import torch

from stackwars.workloads import values
from workloads.sizes import FULL


class Put(torch.Tensor):
    """Marks what came through ``put``, still on the meta device."""


def put(array: np.ndarray) -> torch.Tensor:
    return torch.empty(array.shape, device="meta").as_subclass(Put)


def described(name: str, sizes: dict[str, int]) -> list[int]:
    module = importlib.import_module(f"stackwars.workloads.{name}.in_torch").build(sizes, 0, put)
    weights, constants = 0, 0
    for leaf in module.parameters():
        weights += leaf.numel()
    for key, leaf in module.named_buffers():
        assert isinstance(leaf, Put), key
        weights += leaf.numel() if "running_" in key else 0
        constants += leaf.numel() if "running_" not in key else 0
    return [weights, constants]


if __name__ == "__main__":
    # Values without memory: the 32 GB of LLaMA are described in seconds.
    empty = mock.patch.object(values, "leaf", lambda _, s, __: np.broadcast_to(np.float32(0), s))
    with empty:
        print(json.dumps({name: described(name, sizes) for name, sizes in FULL.items()}))
