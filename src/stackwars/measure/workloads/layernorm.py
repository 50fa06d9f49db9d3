"""Layer normalisation over the last axis, with scale and shift (Ba et al., 2016).

The mean and the variance are those of each library.
"""

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.base import Workload, make_module

EPSILON = 1e-5  # added to the variance


class LayerNorm(Workload):
    TITLE, TABLE, ORDER = "LayerNorm", "I", 50

    def parameters(self, sizes):
        return counts.norm("norm", sizes["features"])

    def in_arrays(self, sizes, xp, parameters, x):
        return xp.normalised(x, EPSILON) * parameters["norm"]["weight"] + parameters["norm"]["bias"]

    def in_torch(self, sizes, torch):
        norm = torch.nn.LayerNorm(sizes["features"], eps=EPSILON)
        return make_module(torch, lambda self, x: self.norm(x), norm=norm)


WORKLOAD = LayerNorm()
