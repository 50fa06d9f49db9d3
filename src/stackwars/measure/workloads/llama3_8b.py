"""LLaMA-3.1 8B (Grattafiori et al., 2024) with its language-model head: the logits."""

import math
from contextlib import contextmanager
from unittest import mock

import numpy as np

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.hf import LanguageModel, no_form

ROPE_THETA = 500_000.0
ROPE_SCALING = {  # of the published model's configuration
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


class Llama(LanguageModel):
    """In JAX, the rotary embedding of transformers' Flax model is corrected.

    It fixes the base at 10,000 and knows no scaling, so it is not LLaMA-3.1. It also makes its table and mask
    for all 131,072 positions that the model takes; ours end with the sequence.
    """

    TITLE, TABLE, ORDER = "LLaMA-3.1 8B", "III", 230
    CONFIG, MODEL = "LlamaConfig", "LlamaForCausalLM"
    NO_FORM = no_form("numpy", "tensorflow")
    SIZES = {
        **LanguageModel.SIZES,
        "heads": "heads of the queries; a multiple of kv_heads",
        "kv_heads": "heads of keys and values",
        "vocabulary": "rows of the table of word embeddings and of the head",
        "positions": "longest sequence that the model takes",
    }
    TENSOR_PARALLEL = {
        **dict.fromkeys(("q_proj.weight", "k_proj.weight", "v_proj.weight"), 0),
        **dict.fromkeys(("gate_proj.weight", "up_proj.weight", "lm_head.weight"), 0),
        **dict.fromkeys(("o_proj.weight", "down_proj.weight", "embed_tokens.weight"), 1),
    }

    def hf_config(self, sizes):
        return {
            "vocab_size": sizes["vocabulary"],
            "hidden_size": sizes["hidden"],
            "num_hidden_layers": sizes["layers"],
            "num_attention_heads": sizes["heads"],
            "num_key_value_heads": sizes["kv_heads"],
            "intermediate_size": sizes["intermediate"],
            "max_position_embeddings": sizes["positions"],
            "rms_norm_eps": 1e-5,
            "rope_theta": ROPE_THETA,
            "rope_scaling": dict(ROPE_SCALING),
            "hidden_act": "silu",
            "tie_word_embeddings": False,
            "use_cache": False,
        }

    def parameters(self, sizes):
        width, inner, narrow = sizes["hidden"], sizes["intermediate"], _kv_width(sizes)
        result = counts.embedding("model.embed_tokens", sizes["vocabulary"], width)
        for layer in range(sizes["layers"]):
            name = f"model.layers.{layer}"
            for part, inputs, outputs in (
                ("self_attn.q_proj", width, width),
                ("self_attn.k_proj", width, narrow),
                ("self_attn.v_proj", width, narrow),
                ("self_attn.o_proj", width, width),
                ("mlp.gate_proj", width, inner),
                ("mlp.up_proj", width, inner),
                ("mlp.down_proj", inner, width),
            ):
                result |= counts.linear(f"{name}.{part}", inputs, outputs, bias=False)
            result[f"{name}.input_layernorm.weight"] = (width,)
            result[f"{name}.post_attention_layernorm.weight"] = (width,)
        result["model.norm.weight"] = (width,)
        return result | counts.linear("lm_head", width, sizes["vocabulary"], bias=False)

    def flops(self, sizes):
        batch, sequence, width = sizes["batch"], sizes["sequence"], sizes["hidden"]
        rows = batch * sequence
        layer = 2 * counts.matmul(rows, width, width + _kv_width(sizes))
        layer += counts.attention(batch, sequence, sequence, width)
        layer += 3 * counts.matmul(rows, width, sizes["intermediate"])
        return sizes["layers"] * layer + counts.matmul(rows, width, sizes["vocabulary"])

    def unread_values(self, sizes):
        tokens = sizes["batch"] * sizes["sequence"]
        return counts.unread(sizes["vocabulary"], tokens, sizes["hidden"])

    @contextmanager
    def patched_in_jax(self, config, sizes, jax):
        """Have every layer of the Flax model use our table, and all its tables end with the sequence."""
        from transformers.models.llama import modeling_flax_llama

        config.max_position_embeddings = sizes["sequence"]
        table = table_in_jax(jax, sizes["sequence"], sizes["hidden"] // sizes["heads"])
        with mock.patch.object(modeling_flax_llama, "create_sinusoidal_positions", lambda *_: table):
            yield

    def constants_in_torch(self, sizes, torch):
        from transformers import LlamaConfig
        from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

        config = LlamaConfig(**self.hf_config(sizes), **self.TORCH_CONFIG)
        return {".inv_freq": LlamaRotaryEmbedding(config).inv_freq}

    def finish_in_torch(self, module, sizes, seed, put):
        rotary = module.model.rotary_emb
        rotary.original_inv_freq = rotary.inv_freq  # a plain attribute, else left on meta


def _kv_width(sizes):
    return sizes["hidden"] // sizes["heads"] * sizes["kv_heads"]


def table_in_jax(jax, positions: int, width: int):
    """Return sines, then cosines, of each position for a head `width` wide: (positions, 1, 2 width)."""
    jnp = jax.numpy

    angles = jnp.arange(positions, dtype=jnp.float32)[:, None] * inverse_frequencies(width)
    angles = jnp.concatenate((angles, angles), axis=-1)
    return jnp.concatenate((jnp.sin(angles), jnp.cos(angles)), axis=-1)[:, None, :]


def inverse_frequencies(width: int) -> np.ndarray:
    """Return radians per position of each pair of a head `width` wide, float32 (width / 2).

    theta^(-2i/width) (Su et al., 2021, section 3.2.2), then LLaMA-3.1's scaling: wavelengths beyond the
    original context are stretched by `factor`, short ones stay, and those between interpolated (`rope_type`
    "llama3" in transformers).
    """
    scaling, context = ROPE_SCALING, ROPE_SCALING["original_max_position_embeddings"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    plain = ROPE_THETA ** (-np.arange(0, width, 2) / width)
    turns = context * plain / (2 * math.pi)  # of a pair over the original context
    unscaled = np.clip((turns - low) / (high - low), 0, 1)
    return (plain * (unscaled + (1 - unscaled) / scaling["factor"])).astype(np.float32)


WORKLOAD = Llama()
