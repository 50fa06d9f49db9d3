"""TorchInductor with freezing: its weights are constants of the program.

It folds what depends on weights alone and packs them for oneDNN during run 1. A framework whose weights are arguments
cannot do that, so this is no other form of the same program, and not a baseline.
"""

from __future__ import annotations

from collections.abc import Callable

from stackwars.measure.frameworks import torch_inductor

TITLE = "TorchInductor (frozen)"
DIALECT = torch_inductor.DIALECT
COLOUR = "#2e9e4f"
NOTE = "weights are constants, packed for oneDNN in run 1"


class Session(torch_inductor.Session):
    """TorchInductor's session, with freezing."""

    def __init__(self, device: str, precision: str) -> None:
        super().__init__(device, precision)
        from torch._inductor import config

        config.freezing = True

    def build(self, build: Callable, sizes: dict, seed: int, inputs: list[dict]) -> None:
        """Raises NotImplementedError for a training step."""
        super().build(build, sizes, seed, inputs)
        if self._mode is self._torch.enable_grad:
            raise NotImplementedError(
                "freezing makes constants of the weights, which a training step updates; PyTorch freezes only "
                "what is compiled without gradients"
            )
