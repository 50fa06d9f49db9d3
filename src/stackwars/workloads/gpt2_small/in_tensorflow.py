"""GPT-2 small in TensorFlow: transformers' model."""

from stackwars.workloads import hf_tensorflow  # before transformers: it chooses the Keras

# isort: split
from transformers import GPT2Config, TFGPT2LMHeadModel

from stackwars.workloads.gpt2_small import hf_config, parameters


def build(sizes, seed, put):
    """The model, and the function of it and token ids to (batch, sequence, vocabulary)."""
    model = TFGPT2LMHeadModel(GPT2Config(**hf_config(sizes)))
    return hf_tensorflow.build(model, parameters(sizes), seed, put, "logits")
