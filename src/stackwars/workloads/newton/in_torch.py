"""The Newton-Schulz iteration in torch, as a loop whose end the device decides."""

import torch
from torch import nn

from stackwars.workloads.loops_torch import while_loop
from stackwars.workloads.newton import TOLERANCE


class Newton(nn.Module):
    """(unknowns, unknowns), (unknowns, systems) to (unknowns, systems)."""

    DEVICE_LOOP = True

    def forward(self, a, b):
        identity = torch.eye(len(a), dtype=a.dtype, device=a.device)

        def unfinished(x, product):
            return (identity - product).abs().max() >= TOLERANCE

        def step(x, product):
            x = x @ (2 * identity - product)
            return x, a @ x

        x = first(a)
        if a.device.type == "xla":
            from stackwars.workloads.newton.loop_torch_xla import iterated

            return iterated(x, a @ x, a, identity) @ b
        x, _ = while_loop(unfinished, step, (x, a @ x))
        return x @ b


def first(a):
    """A^T / (|A|_1 |A|_inf), from which the iteration converges for every regular matrix."""
    columns, rows = a.abs().sum(dim=0).max(), a.abs().sum(dim=1).max()
    # A loop's state keeps its strides from step to step, and a product is contiguous.
    return a.T.contiguous() / (columns * rows)


def build(sizes, seed, put):
    """The module; it has no weights."""
    return Newton().eval()
