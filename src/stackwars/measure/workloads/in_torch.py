"""The forms in torch: modules that are filled with weights, and the training step, by torch.optim's AdamW."""

from collections.abc import Mapping

import torch
from torch import nn

from stackwars.measure.workloads import adamw, values
from stackwars.measure.workloads.base import Put, Shapes, check_weights


def build(workload, sizes, seed, put):
    """Return the module, or the training step, with its weights on the device."""
    with torch.device("meta"):
        module = workload.in_torch(sizes, torch)
    module.GRAPH_BREAKS, module.DEVICE_LOOP = workload.GRAPH_BREAKS, workload.DEVICE_LOOP
    fill(workload.holder_in_torch(module), workload.parameters(sizes), seed, put)
    workload.finish_in_torch(module, sizes, seed, put)
    return Step(module.eval()) if workload.TRAINS else module.eval()


def fill(
    module: nn.Module,
    shapes: Shapes,
    seed: int,
    put: Put,
    buffers: Mapping[str, torch.Tensor] | None = None,
) -> nn.Module:
    """Give a module on the meta device its weights, one at a time; return it in eval mode.

    shapes: of every weight once, running statistics of batch normalisation included; tied weights stay one
    tensor. buffers: values of the constants that a module keeps, by the end of their names; every layer gets a
    copy. Raises ValueError as `check_weights`.
    """
    constants = buffers or {}
    old = dict(module.named_parameters()) | dict(module.named_buffers())
    weights = {name: leaf for name, leaf in old.items() if not name.endswith(tuple(constants))}
    result = [(name, tuple(leaf.shape)) for name, leaf in weights.items()]
    check_weights(result, shapes, "or name the module's constants in buffers")
    new = {}
    for name, leaf in old.items():
        if name in weights:
            value = put(values.leaf(name, shapes[name], seed))
            parameter = isinstance(leaf, nn.Parameter)
            new[id(leaf)] = nn.Parameter(value, requires_grad=False) if parameter else value
        else:
            value = next(constants[end] for end in constants if name.endswith(end))
            new[id(leaf)] = put(value.numpy())
    for owner in module.modules():
        for leaves in (owner._parameters, owner._buffers):
            for name, leaf in leaves.items():
                if leaf is not None:
                    leaves[name] = new[id(leaf)]
    return module.eval()


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
