"""TorchInductor with `dynamic=True`: one graph for all shapes."""

from __future__ import annotations

from stackwars.measure.frameworks import torch_inductor

TITLE = "TorchInductor (dynamic)"
DIALECT = torch_inductor.DIALECT
COLOUR = "#b56576"
NOTE = "one graph for every shape, by dynamic=True"


class Session(torch_inductor.Session):
    """TorchInductor's session, with dynamic shapes."""

    DYNAMIC = True
