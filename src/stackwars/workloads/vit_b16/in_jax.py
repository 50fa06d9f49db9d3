"""ViT-B/16 in JAX: transformers' Flax model."""

from transformers import FlaxViTForImageClassification, ViTConfig

from stackwars.workloads import hf_jax
from stackwars.workloads.vit_b16 import hf_config, parameters


def build(sizes, seed, put):
    """Parameters, and the function of them and images to (batch, labels)."""
    model = FlaxViTForImageClassification(ViTConfig(**hf_config(sizes)), _do_init=False)
    return hf_jax.build(model, parameters(sizes), seed, put, "logits")
