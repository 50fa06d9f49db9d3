"""torch_xla without settling before run 1: each input is the result of a device operation that has not run yet.

Run 1 then compiles the forward pass together with that operation, and run 2 the forward pass alone: two slow runs.
With transfers alone unsettled, most models compile once.
"""

from __future__ import annotations

from collections.abc import Callable

from stackwars.measure.frameworks import torch_xla

TITLE = "torch_xla (pending)"
DIALECT = torch_xla.DIALECT
COLOUR = "#2a8a74"
VARIANT = "pending"
NOTE = "inputs still to be computed on the device at run 1"
PROGRAM_OF = "torch_xla"


class Session(torch_xla.Session):
    """torch_xla's session, but with inputs that are still to be computed at run 1."""

    def build(self, build: Callable, sizes: dict, seed: int, inputs: list[dict]) -> None:
        super().build(build, sizes, seed, inputs)
        self._inputs = [[tensor.clone() for tensor in one] for one in self._inputs]

    def settle(self) -> None:
        """Leave everything pending."""
