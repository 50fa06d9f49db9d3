"""Models of transformers in torch with seeded weights, and no second copy of them."""

import torch
from torch import nn
from transformers.modeling_utils import PreTrainedModel, no_init_weights

from stackwars.measure.workloads.in_torch import fill


class Output(nn.Module):
    """The one tensor of a model's output that is compared; the model's inputs by position."""

    def __init__(self, model: PreTrainedModel, name: str):
        super().__init__()
        self.model, self.name = model, name

    def forward(self, *inputs):
        return getattr(self.model(*inputs), self.name)


def build(workload, sizes, seed, put):
    """Return the model with its weights on the device.

    It is made on the meta device, where nothing is allocated: constants that the model computes there have no
    values, and come from the workload.
    """
    config_class, model_class = workload.classes("torch")
    config = config_class(**workload.hf_config(sizes), **workload.TORCH_CONFIG)
    constants = workload.constants_in_torch(sizes, torch)
    with torch.device("meta"), no_init_weights():
        model = model_class(config, **workload.MODEL_KEYWORDS)
    model.tie_weights()
    fill(model, workload.parameters(sizes), seed, put, constants)
    workload.finish_in_torch(model, sizes, seed, put)
    return Output(model, workload.RESULT)
