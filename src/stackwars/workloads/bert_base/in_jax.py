"""BERT-Base in JAX: transformers' Flax model."""

from transformers import BertConfig, FlaxBertModel

from stackwars.workloads import hf_jax
from stackwars.workloads.bert_base import hf_config, parameters


def build(sizes, seed, put):
    """Parameters, and the function of them and token ids to (batch, sequence, hidden)."""
    config = BertConfig(**hf_config(sizes))
    model = FlaxBertModel(config, _do_init=False, add_pooling_layer=False)
    return hf_jax.build(model, parameters(sizes), seed, put, "last_hidden_state")
