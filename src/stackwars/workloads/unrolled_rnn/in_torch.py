"""The recurrence in torch, unrolled."""

import torch

from stackwars.workloads.fill_torch import fill
from stackwars.workloads.scan_rnn.in_torch import Recurrence, next_state
from stackwars.workloads.unrolled_rnn import parameters as shapes


class Unrolled(Recurrence):
    """(sequence, batch, features) to (sequence, batch, hidden)."""

    DEVICE_LOOP = False

    def forward(self, x):
        hidden, states = self.start(x), []
        for row in x:
            hidden = next_state(hidden, row, *self.parameters())
            states.append(hidden)
        return torch.stack(states)


def build(sizes, seed, put):
    """The module with its weights on the device."""
    with torch.device("meta"):
        module = Unrolled(sizes["features"], sizes["hidden"])
    return fill(module, shapes(sizes), seed, put)
