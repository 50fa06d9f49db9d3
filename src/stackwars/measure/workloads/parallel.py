"""The division of a workload among devices: along which axis of which array.

data: every device has all weights, and a part of each input, along its first axis. tensor: every device has
all inputs, and a part of those weights that the workload names in ``TENSOR_PARALLEL``, {end of a weight's name:
axis in torch's layout}: the first of two products by its outputs and the second by its inputs (Shoeybi et al.,
Megatron-LM, 2019), so that between the two nothing has to be sent.
"""

import re
from dataclasses import dataclass

from stackwars.measure.workloads.base import Workload

DATA, TENSOR = "data", "tensor"
WAYS = (DATA, TENSOR)
AXIS = "devices"
"""The name of the one axis of a mesh."""
STATE = (".first", ".second")
"""Suffixes of an optimiser's state, which is divided like its weight."""
_VARIANT = re.compile(rf"({'|'.join(WAYS)})(\d+)")


@dataclass(frozen=True)
class Division:
    """A workload, one of WAYS, and among how many devices."""

    workload: Workload
    way: str
    devices: int

    @property
    def input_axis(self) -> int | None:
        """Return the axis along which every input is divided, or None."""
        return 0 if self.way == DATA else None

    def weight_axis(self, name: str) -> int | None:
        """Return the axis along which a weight, or its state in an optimiser, is divided, or None."""
        if self.way == DATA:
            return None
        for end in STATE:
            name = name.removesuffix(end)
        result = (axis for end, axis in self.workload.TENSOR_PARALLEL.items() if name.endswith(end))
        return next(result, None)

    def problem(self, sizes: dict[str, int]) -> str | None:
        """Return what the configuration should have so that these sizes can be divided, or None."""
        if self.way == DATA:
            extents = {"batch": sizes.get("batch", 1)}
        elif not self.workload.TENSOR_PARALLEL:
            return "workloads with TENSOR_PARALLEL, which says how their weights are divided"
        else:
            shapes = self.workload.parameters(sizes)
            axes = {name: self.weight_axis(name) for name in shapes}
            extents = {name: shapes[name][a] for name, a in axes.items() if a is not None}
        for name, extent in extents.items():
            if extent % self.devices:
                return f"devices that divide the {extent} of {name}"
        return None


def is_variant(variant: str) -> bool:
    """Return whether a variant of a program names a division."""
    return _VARIANT.fullmatch(variant) is not None


def of_variant(workload: Workload, variant: str) -> Division | None:
    """Return the division that a variant of a program names, such as tensor4, or None."""
    match = _VARIANT.fullmatch(variant)
    return match and Division(workload, match[1], int(match[2]))
