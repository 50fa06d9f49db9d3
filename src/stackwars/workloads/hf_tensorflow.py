"""TensorFlow models of transformers with seeded weights, by torch name and layout."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

# The models are written for Keras 2; TensorFlow decides at the first use of tf.keras which one it takes.
os.environ["TF_USE_LEGACY_KERAS"] = "1"

import tensorflow as tf
from transformers.modeling_tf_pytorch_utils import convert_tf_weight_name_to_pt_weight_name

from stackwars.workloads import values

Put = Callable[[np.ndarray], tf.Variable]

LAST = {"moving_mean": "running_mean", "moving_variance": "running_var"}


def build(
    model: Any,
    shapes: Mapping[str, tuple[int, ...]],
    seed: int,
    put: Put,
    output: str,
    prefix: str = "",
) -> tuple[Any, Callable]:
    """The model with its weights, and the function of it and the inputs that gives ``output``.

    ``model`` is fresh and so holds no weights. ``shapes`` are the weights in torch's names and
    layout; ``prefix`` is what TensorFlow's names have before them.
    """
    give_weights(model, shapes, seed, put, prefix)

    def function(model, *inputs):
        return getattr(model(*inputs, training=False), output)

    return model, function


def give_weights(model: Any, shapes: Mapping[str, tuple[int, ...]], seed: int, put: Put, prefix: str) -> None:
    """Build the model's layers, each variable made with its value, in TensorFlow's layout, in its turn.

    Biases of (1, n) become (n,), as torch has them; they are only added. Raises ValueError with the
    names that are missing, left over, doubled or of another shape.
    """
    found: list[tuple[str, tuple[int, ...]]] = []

    def make(next_creator: Callable, **asked: Any) -> Any:
        if not callable(asked["initial_value"]):  # a value: put's own variable
            return next_creator(**asked)
        scope = f"{tf.get_current_name_scope()}/{asked['name']}"
        name, axes = torch_name(scope, len(asked["shape"]), prefix)
        shape = tuple(asked["shape"][axis] for axis in axes)
        if name.endswith(".bias"):
            shape = shape[-1:]
        found.append((name, shape))
        if tuple(shapes.get(name, ())) != shape:
            return next_creator(**asked)  # refused below, with all others
        value = values.leaf(name, shape, seed)
        return put(value if len(shape) < len(axes) else value.transpose(np.argsort(axes)))

    with tf.variable_creator_scope(make):
        model.build_in_name_scope()
    _check(found, shapes)


def torch_name(scope: str, rank: int, prefix: str) -> tuple[str, tuple[int, ...]]:
    """The name in torch's ``state_dict`` of a variable, and its axes in torch's order.

    Kernels IO become OI, and HWIO become OIHW.
    """
    name, _ = convert_tf_weight_name_to_pt_weight_name(scope, prefix, [1] * rank)
    owner, _, last = name.rpartition(".")
    axes = tuple(range(rank))
    if scope.endswith("/kernel"):
        axes = (*axes[:-3:-1], *axes[:-2])
    return f"{owner}.{LAST.get(last, last)}", axes


def _check(leaves: list[tuple[str, tuple[int, ...]]], shapes: Mapping[str, tuple[int, ...]]) -> None:
    found, names = dict(leaves), [name for name, _ in leaves]
    doubled = sorted(name for name in found if names.count(name) > 1)
    missing, left = sorted(shapes.keys() - found.keys()), sorted(found.keys() - shapes.keys())
    common = shapes.keys() & found.keys()
    differ = sorted(name for name in common if tuple(shapes[name]) != found[name])
    if missing or left or doubled or differ:
        raise ValueError(
            "weights of the TensorFlow model: expected those that parameters(sizes) names, once each; "
            f"missing {missing}, left over {left}, doubled {doubled}, of another shape {differ}. "
            "Mend parameters(), or the mapping of names in hf_tensorflow."
        )
