"""The training step in torch."""

import torch
from torch import nn

from stackwars.measure.workloads import adamw, in_torch


def build(workload, sizes, seed, put):
    """Return the training step, whose weights are on the device."""
    return Step(in_torch.build(workload, sizes, seed, put))


class Step(nn.Module):
    """A training step with torch.optim's AdamW, which updates the weights in place: the loss before it.

    model: a module whose forward gives the loss of a batch.
    """

    # The sessions call a module without gradients, if it does not say that it needs them.
    GRADIENTS = True
    # Dynamo ends its graph at the call of the backward pass.
    GRAPH_BREAKS = True

    def __init__(self, model):
        super().__init__()
        self.model = model
        weights = list(model.requires_grad_().parameters())
        # On XLA's devices the number of steps stays on the device. A number on the host would be a constant
        # of the program, which would be compiled anew at every step.
        on_device = weights[0].device.type == "xla"
        self.optimiser = torch.optim.AdamW(
            weights,
            lr=adamw.LEARNING_RATE,
            betas=(adamw.BETA_1, adamw.BETA_2),
            eps=adamw.EPSILON,
            weight_decay=adamw.WEIGHT_DECAY,
            capturable=on_device,
        )
        # Created before the first step, as in optax. By default torch creates them in it, and a lazy framework
        # compiles that step separately.
        for weight in weights:
            self.optimiser.state[weight] = {
                "step": torch.zeros((), device=weight.device if on_device else None),
                "exp_avg": torch.zeros_like(weight),
                "exp_avg_sq": torch.zeros_like(weight),
            }

    def forward(self, *inputs):
        loss = self.model(*inputs)
        loss.backward()
        self.optimiser.step()
        # A gradient that is left lying is one more output of a lazy framework's program.
        self.optimiser.zero_grad()
        return loss.detach()

    def leaves(self):
        """Return {name: tensor} of the weights and both moments."""
        weights = dict(self.model.named_parameters())
        states = {name: self.optimiser.state[weight] for name, weight in weights.items()}
        first = {name: moments["exp_avg"] for name, moments in states.items()}
        second = {name: moments["exp_avg_sq"] for name, moments in states.items()}
        return adamw.leaves(weights, first, second)
