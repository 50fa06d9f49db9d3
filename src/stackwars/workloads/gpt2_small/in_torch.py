"""GPT-2 small in torch: transformers' model."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

from stackwars.workloads import hf_torch
from stackwars.workloads.gpt2_small import hf_config, parameters


def build(sizes, seed, put):
    """The module from token ids to (batch, sequence, vocabulary)."""
    config = GPT2Config(**hf_config(sizes), attn_implementation="eager")
    return hf_torch.build(lambda: GPT2LMHeadModel(config), parameters(sizes), seed, put, "logits", masks(sizes))


def masks(sizes) -> dict[str, torch.Tensor]:
    """The constants of an attention layer, made by the model's own code at width 1.

    The causal mask covers the sequence in use, not every position that the model has.
    """
    narrow = GPT2Config(n_embd=1, n_head=1, n_positions=sizes["sequence"])
    attention = GPT2Attention(narrow)
    return {f".attn.{name}": value for name, value in attention.named_buffers()}
