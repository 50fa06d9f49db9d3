"""A PyTorch module traced by JAX: torchax 0.0.6, which torch_xla's wheel contains, and `jax.jit`.

The module is traced as `torchax.extract_jax` does, with one difference. That function names each tied weight once,
calls the module with `tie_weights=False`, and then meets a weight that is no array of JAX's: GPT-2 and GPT-Neo cannot
be traced so (`Expect a Tensor or a View but got ... Parameter`). Here the module is called with `tie_weights=True`, and
a tied weight stays one argument.

A training step is a loss of PyTorch's, whose gradients are JAX's, and optax's AdamW, as in torchax's own
`make_train_step`. A module that writes into its buffers gives the written ones back, in donated memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stackwars.measure.frameworks import jax

TITLE = "torchax"
DIALECT = "torch"
COLOUR = "#3f7cac"


class Session(jax.Session):
    """JAX's session, with a PyTorch module whose weights are JAX's arrays."""

    def __init__(self, device: str, precision: str) -> None:
        super().__init__(device, precision)
        import torch
        import torchax

        self._torch, self._torchax = torch, torchax

    def build(self, build: Callable, sizes: dict, seed: int, inputs: list[dict]) -> None:
        """Raises NotImplementedError for a module that reads a value back while it runs."""
        module = build(sizes, seed, self._torch.from_numpy)
        if getattr(module, "GRAPH_BREAKS", False) and not hasattr(module, "model"):
            raise NotImplementedError(
                "jax.jit traces a whole call before it runs anything: what this module reads back has no value "
                "that Python could decide with while it traces"
            )

        def in_jax(sizes: dict, seed: int, put: Callable) -> tuple:
            return _in_jax(module, self._torchax.default_env(), put)

        super().build(in_jax, sizes, seed, inputs)

    def versions(self) -> dict[str, str]:
        torch = {"torch": self._torch.__version__, "torchax": self._torchax.__version__}
        return {**super().versions(), **torch}


def _in_jax(module: Any, environment: Any, put: Callable) -> tuple:
    """Return what a `build` in JAX's dialect returns, for a PyTorch module."""
    import torch

    if not hasattr(module, "leaves"):
        return _moved(module, put), pure(module, environment)
    if hasattr(module, "model"):
        weights = dict(module.model.named_parameters())
        return stepping(module.model, environment, {n: put(w.detach().numpy()) for n, w in weights.items()})
    places = {id(leaf): name for name, leaf in module.named_buffers()}
    written = {name: places[id(leaf)] for name, leaf in module.leaves().items()}
    parameters = _moved(module, put)
    state = {place: parameters.pop(place) for place in written.values()}
    call = torch.func.functional_call

    def function(constant: dict, state: dict, *arrays: Any) -> Any:
        weights, kept, tensors = environment.j2t_iso((constant, state, arrays))
        with environment:
            output = call(module, {**weights, **kept}, tensors, tie_weights=True)
            return environment.t2j_iso((kept, output))

    def leaves(state: dict) -> dict[str, np.ndarray]:
        return {name: np.asarray(state[place]) for name, place in written.items()}

    function.leaves = leaves
    return (parameters, state), function


def pure(module: Any, environment: Any) -> Callable:
    """Return the function of (weights and buffers by name, *inputs) of a module that updates nothing."""
    import torch

    def function(parameters: dict, *arrays: Any) -> Any:
        weights, tensors = environment.j2t_iso((parameters, arrays))
        with environment:
            return environment.t2j_iso(torch.func.functional_call(module, weights, tensors, tie_weights=True))

    return function


def stepping(model: Any, environment: Any, weights: dict[str, Any]) -> tuple:
    """Return a training step as a `build` in JAX's dialect does.

    model: a module whose forward gives the loss of a batch. weights: the arrays of its parameters, by name.
    """
    import jax.numpy
    import torch

    from stackwars.measure.workloads import in_jax

    buffers = {name: leaf.numpy() for name, leaf in model.named_buffers()}

    def loss(parameters: dict, *batch: Any) -> Any:
        constants = {name: jax.numpy.asarray(value) for name, value in buffers.items()}
        named, tensors = environment.j2t_iso(({**parameters, **constants}, batch))
        with environment:
            return environment.t2j_iso(torch.func.functional_call(model, named, tensors))

    return in_jax.stepping(weights, loss)


def _moved(module: Any, put: Callable) -> dict[str, Any]:
    """Return weights and buffers as JAX's arrays, by name; the module's are freed."""
    result = {}
    for name, leaf in [*module.named_parameters(), *module.named_buffers()]:
        result[name] = put(leaf.detach().numpy())
        # One at a time, so that no second copy of the model is held.
        leaf.data = leaf.data.new_empty(0)
    return result
