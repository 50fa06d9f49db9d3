"""ResNet-50 in TensorFlow: transformers' model."""

from stackwars.workloads import hf_tensorflow  # before transformers: it chooses the Keras

# isort: split
from transformers import ResNetConfig, TFResNetForImageClassification

from stackwars.workloads.resnet50 import hf_config, parameters


def build(sizes, seed, put):
    """The model, and the function of it and images to (batch, labels)."""
    model = TFResNetForImageClassification(ResNetConfig(**hf_config(sizes)))
    return hf_tensorflow.build(model, parameters(sizes), seed, put, "logits")
