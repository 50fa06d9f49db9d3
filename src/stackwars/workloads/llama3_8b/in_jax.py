"""LLaMA-3.1 8B in JAX: transformers' Flax model with its rotary embedding put right.

The Flax model fixes the base at 10,000 and knows no scaling, so it is not LLaMA-3.1. It also makes
its table and mask for all 131,072 positions that the model takes; ours end with the sequence.
"""

from unittest import mock

import jax.numpy as jnp
from transformers import FlaxLlamaForCausalLM, LlamaConfig
from transformers.models.llama import modeling_flax_llama

from stackwars.workloads import hf_jax
from stackwars.workloads.llama3_8b import hf_config, parameters
from stackwars.workloads.llama3_8b.rope import inverse_frequencies


def build(sizes, seed, put):
    """Parameters, and the function of them and token ids to (batch, sequence, vocabulary)."""
    config = LlamaConfig(**hf_config(sizes))
    config.max_position_embeddings = sizes["sequence"]
    head = sizes["hidden"] // sizes["heads"]

    def model_function(parameters, input_ids):
        with rotary(table(sizes["sequence"], head)):
            return function(parameters, input_ids)

    with rotary(table(sizes["sequence"], head)):
        model = FlaxLlamaForCausalLM(config, _do_init=False)
        leaves, function = hf_jax.build(model, parameters(sizes), seed, put, "logits")
    return leaves, model_function


def table(positions, width):
    """Sines, then cosines, of each position for a head ``width`` wide: (positions, 1, 2 width)."""
    angles = jnp.arange(positions, dtype=jnp.float32)[:, None] * inverse_frequencies(width)
    angles = jnp.concatenate((angles, angles), axis=-1)
    return jnp.concatenate((jnp.sin(angles), jnp.cos(angles)), axis=-1)[:, None, :]


def rotary(sines_and_cosines):
    """A context in which every layer of the Flax model uses this table."""
    return mock.patch.object(modeling_flax_llama, "create_sinusoidal_positions", lambda *_: sines_and_cosines)
