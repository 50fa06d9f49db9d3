"""Models of transformers in torch with seeded weights, and no second copy of them."""

import torch
from transformers.modeling_utils import no_init_weights

from stackwars.measure.workloads.base import make_module
from stackwars.measure.workloads.in_torch import fill


def build(workload, sizes, seed, put):
    """Return the model with its weights on the device: a module that gives the one tensor that is compared.

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
    result = workload.RESULT
    return make_module(torch, lambda self, *inputs: getattr(self.model(*inputs), result), model=model)
