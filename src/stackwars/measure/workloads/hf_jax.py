"""Models of transformers in JAX (Flax) with seeded weights, by torch name and layout."""

from contextlib import nullcontext
from typing import Any

import jax
import numpy as np

from stackwars.measure.workloads import values
from stackwars.measure.workloads.base import Put, Shapes, check_weights

LAST = {
    "kernel": "weight",
    "scale": "weight",
    "embedding": "weight",
    "mean": "running_mean",
    "var": "running_var",
}
COLLECTIONS = ("params.", "batch_stats.")


def build(workload, sizes, seed, put):
    """Return the weights on the device, and the function of them and the inputs."""
    config_class, model_class = workload.classes("jax")
    config = config_class(**workload.hf_config(sizes))
    patched = workload.patched_in_jax
    with patched(config, sizes, jax) if patched else nullcontext():
        model = model_class(config, _do_init=False, **workload.MODEL_KEYWORDS)
        leaves = weights(model, workload.parameters(sizes), seed, put)

    def function(parameters, *inputs):
        return getattr(model(*inputs, params=parameters, train=False), workload.RESULT)

    def model_function(parameters, *inputs):
        with patched(config, sizes, jax):
            return function(parameters, *inputs)

    return leaves, model_function if patched else function


def weights(model: Any, shapes: Shapes, seed: int, put: Put) -> Any:
    """Return the model's parameter tree, each leaf made, turned to Flax's layout and put in its turn.

    Raises ValueError with the names that are missing, left over, doubled or of another shape.
    """
    abstract = jax.eval_shape(lambda: model.init_weights(jax.random.key(0), model.input_shape))
    paths, tree = jax.tree_util.tree_flatten_with_path(abstract)
    leaves = [(torch_name(path), torch_axes(path, leaf)) for path, leaf in paths]
    result = [
        (name, tuple(leaf.shape[axis] for axis in axes))
        for (name, axes), (_, leaf) in zip(leaves, paths, strict=True)
    ]
    check_weights(result, shapes, "or the mapping of names in hf_jax")
    # A transposed view: put copies anyhow, and faster than NumPy.
    placed = [put(values.leaf(name, shapes[name], seed).transpose(np.argsort(axes))) for name, axes in leaves]
    return jax.tree_util.tree_unflatten(tree, placed)


def torch_name(path: tuple[Any, ...]) -> str:
    """Return the name in torch's ``state_dict`` of the Flax leaf at this path of the tree."""
    *owner, last = (key.key for key in path)
    name = ".".join([*owner, LAST.get(last, last)])
    for collection in COLLECTIONS:
        name = name.removeprefix(collection)
    return name


def torch_axes(path: tuple[Any, ...], leaf: Any) -> tuple[int, ...]:
    """Return the axes of the Flax leaf in torch's order: kernels IO become OI, and HWIO become OIHW."""
    axes = tuple(range(len(leaf.shape)))
    return (*axes[:-3:-1], *axes[:-2]) if path[-1].key == "kernel" else axes
