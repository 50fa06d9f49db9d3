"""ResNet-50 in JAX: transformers' Flax model."""

from transformers import FlaxResNetForImageClassification, ResNetConfig

from stackwars.workloads import hf_jax
from stackwars.workloads.resnet50 import hf_config, parameters


def build(sizes, seed, put):
    """Parameters, and the function of them and images to (batch, labels)."""
    model = FlaxResNetForImageClassification(ResNetConfig(**hf_config(sizes)), _do_init=False)
    return hf_jax.build(model, parameters(sizes), seed, put, "logits")
