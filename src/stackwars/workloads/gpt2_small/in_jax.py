"""GPT-2 small in JAX: transformers' Flax model."""

from transformers import FlaxGPT2LMHeadModel, GPT2Config

from stackwars.workloads import hf_jax
from stackwars.workloads.gpt2_small import hf_config, parameters


def build(sizes, seed, put):
    """Parameters, and the function of them and token ids to (batch, sequence, vocabulary)."""
    model = FlaxGPT2LMHeadModel(GPT2Config(**hf_config(sizes)), _do_init=False)
    return hf_jax.build(model, parameters(sizes), seed, put, "logits")
