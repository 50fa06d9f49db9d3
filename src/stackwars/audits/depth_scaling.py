"""Depth scaling: x = tanh(x W), once for each layer, so the work is known exactly.

It lies outside `stackwars.workloads`, where it would be one of the paper's workloads; NAME loads it.
"""

import numpy as np

from stackwars.workloads import counts
from stackwars.workloads.base import Workload, float64

NAME = "stackwars.audits.depth_scaling"
WEIGHT = "layer.weight"


class DepthScaling(Workload):
    """A stack of equal layers; no table has it."""

    TITLE, TABLE, ORDER = "Depth scaling", "", 0
    SIZES = {
        "rows": "rows of x",
        "width": "columns of x; W is width by width",
        "layers": "number of layers that x goes through",
    }
    INPUTS = {"x": ("rows", "width")}

    def parameters(self, sizes):
        return {WEIGHT: (sizes["width"], sizes["width"])}

    def flops(self, sizes):
        return sizes["layers"] * counts.matmul(sizes["rows"], sizes["width"], sizes["width"])

    def further(self, sizes, seed):
        return {"layers": sizes["layers"]}

    def reference(self, weights, inputs, layers):
        weight, x = float64(weights)[WEIGHT], float64(inputs)["x"]
        for _ in range(layers):
            x = np.tanh(x @ weight.T)
        return x

    def in_jax(self, sizes, jax, parameters, x):
        jnp = jax.numpy
        kernel = parameters["layer"]["kernel"]
        # A loop, because unrolled layers are compiled one by one: three seconds for a hundred.
        return jax.lax.fori_loop(0, sizes["layers"], lambda _, y: jnp.tanh(y @ kernel), x)

    def in_torch(self, sizes, torch):
        nn = torch.nn

        class DepthScaling(nn.Module):
            def __init__(self, width, layers):
                super().__init__()
                self.layer = nn.Linear(width, width, bias=False)
                self.layers = layers

            def forward(self, x):
                for _ in range(self.layers):
                    x = torch.tanh(self.layer(x))
                return x

        return DepthScaling(sizes["width"], sizes["layers"])


WORKLOAD = DepthScaling()
