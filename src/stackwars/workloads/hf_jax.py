"""Flax models of transformers with seeded weights, by torch name and layout."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from stackwars.workloads import values

Put = Callable[[np.ndarray], Any]

LAST = {
    "kernel": "weight",
    "scale": "weight",
    "embedding": "weight",
    "mean": "running_mean",
    "var": "running_var",
}
COLLECTIONS = ("params.", "batch_stats.")


def build(
    model: Any, shapes: Mapping[str, tuple[int, ...]], seed: int, put: Put, output: str
) -> tuple[Any, Callable]:
    """Parameters on the device, and the function of them and the inputs that gives ``output``.

    ``model`` is made with ``_do_init=False`` and so holds no weights. ``shapes`` are the weights
    in torch's names and layout.
    """

    def function(parameters, *inputs):
        return getattr(model(*inputs, params=parameters, train=False), output)

    return weights(model, shapes, seed, put), function


def weights(model: Any, shapes: Mapping[str, tuple[int, ...]], seed: int, put: Put) -> Any:
    """The model's parameter tree, each leaf made, turned to Flax's layout and put in its turn.

    Raises ValueError with the names that are missing, left over, doubled or of another shape.
    """
    abstract = jax.eval_shape(lambda: model.init_weights(jax.random.key(0), model.input_shape))
    paths, tree = jax.tree_util.tree_flatten_with_path(abstract)
    leaves = [(torch_name(path), torch_axes(path, leaf), leaf.shape) for path, leaf in paths]
    _check(leaves, shapes)
    return jax.tree_util.tree_unflatten(
        tree, [put(_flax_leaf(name, shapes[name], axes, seed)) for name, axes, _ in leaves]
    )


def torch_name(path: tuple[Any, ...]) -> str:
    """The name in torch's ``state_dict`` of the Flax leaf at this path of the tree."""
    *owner, last = (key.key for key in path)
    name = ".".join([*owner, LAST.get(last, last)])
    for collection in COLLECTIONS:
        name = name.removeprefix(collection)
    return name


def torch_axes(path: tuple[Any, ...], leaf: Any) -> tuple[int, ...]:
    """The axes of the Flax leaf in torch's order: kernels IO become OI, and HWIO become OIHW."""
    axes = tuple(range(len(leaf.shape)))
    return (*axes[:-3:-1], *axes[:-2]) if path[-1].key == "kernel" else axes


def _flax_leaf(name: str, shape: tuple[int, ...], axes: tuple[int, ...], seed: int) -> np.ndarray:
    value = values.leaf(name, shape, seed)
    return value.transpose(np.argsort(axes))  # a view: put copies anyhow, and faster than NumPy


def _check(
    leaves: list[tuple[str, tuple[int, ...], tuple[int, ...]]],
    shapes: Mapping[str, tuple[int, ...]],
) -> None:
    found = {name: tuple(shape[axis] for axis in axes) for name, axes, shape in leaves}
    names = [name for name, _, _ in leaves]
    doubled = sorted(name for name in found if names.count(name) > 1)
    missing, left = sorted(shapes.keys() - found.keys()), sorted(found.keys() - shapes.keys())
    common = shapes.keys() & found.keys()
    differ = sorted(name for name in common if tuple(shapes[name]) != found[name])
    if missing or left or doubled or differ:
        raise ValueError(
            "weights of the Flax model: expected those that parameters(sizes) names, once each; "
            f"missing {missing}, left over {left}, doubled {doubled}, of another shape {differ}. "
            "Mend parameters(), or the mapping of names in hf_jax."
        )
