"""A PyTorch module traced by JAX: torchax 0.0.6, which torch_xla's wheel contains, and `jax.jit`.

As `torchax.extract_jax`, with one difference. That names each tied weight once, calls the module with
`tie_weights=False`, and then meets a weight that is no array of JAX's: GPT-2 and GPT-Neo cannot be traced so
(`Expect a Tensor or a View but got ... Parameter`). Here the module is called with `tie_weights=True`, and a
tied weight stays one argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stackwars.frameworks import jax

TITLE = "torchax"
DIALECT = "torch"
COLOUR = "#3f7cac"


class Session(jax.Session):
    """As JAX's, of a PyTorch module whose weights are JAX's arrays."""

    def __init__(self, device: str, precision: str) -> None:
        super().__init__(device, precision)
        import torch
        import torchax

        self._torch, self._torchax = torch, torchax

    def build(self, build: Callable, sizes: dict, seed: int, inputs: list[dict]) -> None:
        module = build(sizes, seed, self._torch.from_numpy)
        if hasattr(module, "leaves"):
            raise NotImplementedError("expected a pure function of a module; it updates its state")
        self._leaves = None
        self._parameters = self._moved(module)
        environment, call = self._torchax.default_env(), self._torch.func.functional_call

        def function(parameters: dict, *arrays: Any) -> Any:
            weights, tensors = environment.j2t_iso((parameters, arrays))
            with environment:
                return environment.t2j_iso(call(module, weights, tensors, tie_weights=True))

        self._function = self._jax.jit(function)
        self._inputs = [[self.put(array) for array in one.values()] for one in inputs]

    def _moved(self, module: Any) -> dict[str, Any]:
        """Weights and buffers as JAX's arrays, by name; the module keeps none of its own."""
        found = {}
        for name, leaf in [*module.named_parameters(), *module.named_buffers()]:
            found[name] = self.put(leaf.detach().numpy())
            # One at a time, so that no second copy of the model is held.
            leaf.data = leaf.data.new_empty(0)
        return found

    def versions(self) -> dict[str, str]:
        torch = {"torch": self._torch.__version__, "torchax": self._torchax.__version__}
        return {**super().versions(), **torch}
