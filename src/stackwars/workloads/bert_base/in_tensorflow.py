"""BERT-Base in TensorFlow: transformers' model."""

from stackwars.workloads import hf_tensorflow  # before transformers: it chooses the Keras

# isort: split
from transformers import BertConfig, TFBertModel

from stackwars.workloads.bert_base import hf_config, parameters


def build(sizes, seed, put):
    """The model, and the function of it and token ids to (batch, sequence, hidden)."""
    model = TFBertModel(BertConfig(**hf_config(sizes)), add_pooling_layer=False)
    return hf_tensorflow.build(model, parameters(sizes), seed, put, "last_hidden_state", prefix="bert.")
