"""Models of transformers in torch with seeded weights, and no second copy of them."""

from collections.abc import Callable, Mapping

import torch
from torch import nn
from transformers.modeling_utils import PreTrainedModel, no_init_weights

from stackwars.workloads.fill_torch import Put, fill


class Output(nn.Module):
    """The one tensor of a model's output that is compared; the model's inputs by position."""

    def __init__(self, model: PreTrainedModel, name: str):
        super().__init__()
        self.model, self.name = model, name

    def forward(self, *inputs):
        return getattr(self.model(*inputs), self.name)


def build(
    make: Callable[[], PreTrainedModel],
    shapes: Mapping[str, tuple[int, ...]],
    seed: int,
    put: Put,
    output: str,
    buffers: Mapping[str, torch.Tensor] | None = None,
) -> Output:
    """The model that ``make`` gives, with its weights on the device.

    ``make`` runs under the meta device, where nothing is allocated: constants that the model
    computes there have no values, and come in ``buffers`` as ``fill`` wants them.
    """
    with torch.device("meta"), no_init_weights():
        model = make()
    model.tie_weights()
    return Output(fill(model, shapes, seed, put, buffers), output)
