"""GPT-Neo 1.3B in torch: transformers' model."""

import torch
from transformers import GPTNeoConfig, GPTNeoForCausalLM
from transformers.models.gpt_neo.modeling_gpt_neo import GPTNeoSelfAttention

from stackwars.workloads import hf_torch
from stackwars.workloads.gpt_neo_1p3b import attention_kinds, hf_config, parameters


def build(sizes, seed, put):
    """The module from token ids to (batch, sequence, vocabulary)."""
    config = GPTNeoConfig(**hf_config(sizes), attn_implementation="eager")
    return hf_torch.build(
        lambda: GPTNeoForCausalLM(config), parameters(sizes), seed, put, "logits", masks(sizes)
    )


def masks(sizes) -> dict[str, torch.Tensor]:
    """The constants of each attention layer, made by the model's own code at width 1.

    The causal masks cover the sequence in use, not every position that the model has: in full
    they are 4 MB a layer.
    """
    narrow = GPTNeoConfig(
        hidden_size=1,
        num_heads=1,
        max_position_embeddings=sizes["sequence"],
        window_size=sizes["window"],
    )
    kinds = {kind: GPTNeoSelfAttention(narrow, kind) for kind in ("global", "local")}
    return {
        f".h.{layer}.attn.attention.{name}": value
        for layer, kind in enumerate(attention_kinds(sizes))
        for name, value in kinds[kind].named_buffers()
    }
