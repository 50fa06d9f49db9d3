"""ViT-B/16 in torch: transformers' model."""

from transformers import ViTConfig, ViTForImageClassification

from stackwars.workloads import hf_torch
from stackwars.workloads.vit_b16 import hf_config, parameters


def build(sizes, seed, put):
    """The module from images to (batch, labels)."""
    config = ViTConfig(**hf_config(sizes), attn_implementation="eager")
    return hf_torch.build(lambda: ViTForImageClassification(config), parameters(sizes), seed, put, "logits")
