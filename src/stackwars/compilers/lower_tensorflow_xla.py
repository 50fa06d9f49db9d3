"""TensorFlow's StableHLO of a workload from variables that were never written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stackwars.compilers import arguments
from stackwars.compilers.arguments import Entry, Leaf, Lowered
from stackwars.frameworks import tensorflow_xla


def load() -> None:
    """Import what `lower` needs; opens no device."""
    import tensorflow  # noqa: F401


def lower(
    build: Callable, sizes: dict, seed: int, inputs: dict[str, np.ndarray], precision: str
) -> Lowered:
    """The program.

    `build` is the workload's in this dialect, and makes its weights with `arguments.leaf`. TensorFlow
    exports programs of initialised variables only: these have memory that nothing has touched. The
    arguments are the inputs, then what the trace has captured: weights, or a model's own constants,
    with their values.
    """
    import tensorflow as tf

    tensorflow_xla.use_precision(precision)
    placed: list[tuple[Entry, Any]] = []

    def put(array: np.ndarray) -> Any:
        if not isinstance(array, Leaf):
            return tf.Variable(tf.constant(array), trainable=False)
        empty = tf.raw_ops.Empty(shape=array.shape, dtype=tf.float32, init=False)
        variable = tf.Variable(empty, trainable=False)
        placed.append((arguments.of_array(array), variable))
        return variable

    parameters, traced = build(sizes, seed, put)
    function = tf.function(lambda *given: traced(parameters, *given), jit_compile=True)
    specs = [tf.TensorSpec(array.shape, array.dtype) for array in inputs.values()]
    text = tensorflow_xla.program(function, specs)
    known = {id(variable.handle): entry for entry, variable in placed}
    captured = function.get_concrete_function(*specs).captured_inputs
    used = [Entry("input", name) for name in inputs]
    used += [known.get(id(tensor)) or _constant(tensor) for tensor in captured]
    return Lowered(text, used, [entry for entry, _ in placed if entry not in used])


def _constant(tensor: Any) -> Entry:
    """The entry of a tensor that a model has made for itself."""
    return arguments.of_array(tensor.numpy())


def versions() -> dict[str, str]:
    """Versions of what lowered it."""
    import tensorflow

    return {"tensorflow": tensorflow.__version__}
