"""Models of transformers in TensorFlow with seeded weights, by torch name and layout."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

# The models are written for Keras 2; TensorFlow decides at the first use of tf.keras which one it takes.
os.environ["TF_USE_LEGACY_KERAS"] = "1"

import tensorflow as tf
from transformers.modeling_tf_pytorch_utils import convert_tf_weight_name_to_pt_weight_name

from stackwars.measure.workloads import values
from stackwars.measure.workloads.base import Put, Shapes, check_weights

LAST = {"moving_mean": "running_mean", "moving_variance": "running_var"}


def build(workload, sizes, seed, put):
    """Return the model with its weights, and the function that applies it to the inputs."""
    config_class, model_class = workload.classes("tensorflow")
    model = model_class(config_class(**workload.hf_config(sizes)), **workload.MODEL_KEYWORDS)
    give_weights(model, workload.parameters(sizes), seed, put, workload.TENSORFLOW_PREFIX)
    # Keras has a variable that is not trainable twice in the `weights` of a layer that is, and GPT-2's head
    # multiplies by all of its embedding's.
    model.trainable = False

    def function(model, *inputs):
        return getattr(model(*inputs, training=False), workload.RESULT)

    return model, function


def give_weights(model: Any, shapes: Shapes, seed: int, put: Put, prefix: str) -> None:
    """Build the model's layers, each variable made with its value, in TensorFlow's layout, in its turn.

    The model is fresh and holds no weights. prefix: what TensorFlow's names have before torch's. Biases of
    (1, n) become (n,), as torch has them; they are only added. Raises ValueError as `check_weights`.
    """
    result: list[tuple[str, tuple[int, ...]]] = []

    def make(next_creator: Callable, **wanted: Any) -> Any:
        if not callable(wanted["initial_value"]):  # a value: put's own variable
            return next_creator(**wanted)
        scope = f"{tf.get_current_name_scope()}/{wanted['name']}"
        name, axes = torch_name(scope, len(wanted["shape"]), prefix)
        shape = tuple(wanted["shape"][axis] for axis in axes)
        if name.endswith(".bias"):
            shape = shape[-1:]
        result.append((name, shape))
        if tuple(shapes.get(name, ())) != shape:
            return next_creator(**wanted)  # refused below, with all others
        value = values.leaf(name, shape, seed)
        return put(value if len(shape) < len(axes) else value.transpose(np.argsort(axes)))

    with tf.variable_creator_scope(make):
        model.build_in_name_scope()
    check_weights(result, shapes, "or the mapping of names in hf_tensorflow")


def torch_name(scope: str, rank: int, prefix: str) -> tuple[str, tuple[int, ...]]:
    """Return the name in torch's ``state_dict`` of a variable, and its axes in torch's order.

    Kernels IO become OI, and HWIO become OIHW.
    """
    name, _ = convert_tf_weight_name_to_pt_weight_name(scope, prefix, [1] * rank)
    owner, _, last = name.rpartition(".")
    axes = tuple(range(rank))
    if scope.endswith("/kernel"):
        axes = (*axes[:-3:-1], *axes[:-2])
    return f"{owner}.{LAST.get(last, last)}", axes
