"""The recurrence in torch, as a loop."""

import torch
import torch.nn.functional as F
from torch import nn

from stackwars.workloads.fill_torch import fill
from stackwars.workloads.loops_torch import scan
from stackwars.workloads.scan_rnn import parameters as shapes


class Recurrence(nn.Module):
    """(sequence, batch, features) to (sequence, batch, hidden)."""

    DEVICE_LOOP = True

    def __init__(self, features, hidden):
        super().__init__()
        self.input = nn.Linear(features, hidden)
        self.recurrent = nn.Linear(hidden, hidden, bias=False)

    def start(self, x):
        """Zeros (batch, hidden)."""
        return x.new_zeros(x.shape[1], self.recurrent.out_features)

    def forward(self, x):
        def step(hidden, row, weights):
            hidden = next_state(hidden, row, *weights)
            # PyTorch's scan refuses an output that is the state itself.
            return hidden, hidden.clone()

        _, states = scan(step, self.start(x), x, tuple(self.parameters()))
        return states


def next_state(hidden, row, of_input, bias, recurrent):
    """(batch, hidden), (batch, features) and the weights to (batch, hidden)."""
    return torch.tanh(F.linear(row, of_input, bias) + F.linear(hidden, recurrent))


def build(sizes, seed, put):
    """The module with its weights on the device."""
    # TorchInductor lowers a scan to a loop whose counter is read; PyTorch 2.9 refuses that otherwise.
    torch._dynamo.config.capture_scalar_outputs = True
    with torch.device("meta"):
        module = Recurrence(sizes["features"], sizes["hidden"])
    return fill(module, shapes(sizes), seed, put)
