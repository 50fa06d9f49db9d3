"""GPT-Neo 1.3B in JAX: transformers' Flax model."""

from transformers import FlaxGPTNeoForCausalLM, GPTNeoConfig

from stackwars.workloads import hf_jax
from stackwars.workloads.gpt_neo_1p3b import hf_config, parameters


def build(sizes, seed, put):
    """Parameters, and the function of them and token ids to (batch, sequence, vocabulary)."""
    model = FlaxGPTNeoForCausalLM(GPTNeoConfig(**hf_config(sizes)), _do_init=False)
    return hf_jax.build(model, parameters(sizes), seed, put, "logits")
