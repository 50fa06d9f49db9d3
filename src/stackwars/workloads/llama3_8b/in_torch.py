"""LLaMA-3.1 8B in torch: transformers' model."""

from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from stackwars.workloads import hf_torch
from stackwars.workloads.llama3_8b import hf_config, parameters


def build(sizes, seed, put):
    """The module from token ids to (batch, sequence, vocabulary)."""
    config = LlamaConfig(**hf_config(sizes), attn_implementation="eager")
    frequencies = LlamaRotaryEmbedding(config).inv_freq
    module = hf_torch.build(
        lambda: LlamaForCausalLM(config),
        parameters(sizes),
        seed,
        put,
        "logits",
        buffers={".inv_freq": frequencies},
    )
    rotary = module.model.model.rotary_emb
    rotary.original_inv_freq = rotary.inv_freq  # a plain attribute, else left on meta
    return module
