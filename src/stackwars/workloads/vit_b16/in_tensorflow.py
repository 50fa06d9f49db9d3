"""ViT-B/16 in TensorFlow: transformers' model."""

from stackwars.workloads import hf_tensorflow  # before transformers: it chooses the Keras

# isort: split
from transformers import TFViTForImageClassification, ViTConfig

from stackwars.workloads.vit_b16 import hf_config, parameters


def build(sizes, seed, put):
    """The model, and the function of it and images to (batch, labels)."""
    model = TFViTForImageClassification(ViTConfig(**hf_config(sizes)))
    return hf_tensorflow.build(model, parameters(sizes), seed, put, "logits")
