"""BERT-Base in torch: transformers' model."""

import torch
from transformers import BertConfig, BertModel

from stackwars.workloads import hf_torch
from stackwars.workloads.bert_base import hf_config, parameters


def build(sizes, seed, put):
    """The module from token ids to (batch, sequence, hidden)."""
    config = BertConfig(**hf_config(sizes), attn_implementation="eager")
    positions = torch.arange(sizes["sequence"])[None]
    return hf_torch.build(
        lambda: BertModel(config, add_pooling_layer=False),
        parameters(sizes),
        seed,
        put,
        "last_hidden_state",
        buffers={".position_ids": positions, ".token_type_ids": torch.zeros_like(positions)},
    )
