"""ResNet-50 in torch: transformers' model."""

import torch
from transformers import ResNetConfig, ResNetForImageClassification

from stackwars.workloads import hf_torch
from stackwars.workloads.resnet50 import hf_config, parameters


def build(sizes, seed, put):
    """The module from images to (batch, labels)."""
    config = ResNetConfig(**hf_config(sizes))
    return hf_torch.build(
        lambda: ResNetForImageClassification(config),
        parameters(sizes),
        seed,
        put,
        "logits",
        buffers={".num_batches_tracked": torch.tensor(0)},
    )
