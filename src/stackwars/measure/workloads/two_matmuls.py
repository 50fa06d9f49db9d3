"""Two matrix products with ReLU between them, without biases: a lecture's first workload.

As the lecture ("Lecture 09: PyTorch and JAX") writes it, the weights stand on the right of a product as they
are, (inputs, outputs): no dialect has a transpose to remove.
"""

import numpy as np

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.base import ARRAY_DIALECTS, Workload, float64


class TwoProducts(Workload):
    TITLE, TABLE, ORDER = "Two products", "lecture", 70
    SIZES = {
        "rows": "rows of the input and of the output",
        "features": "columns of the input and of the output",
        "hidden": "columns of the first product",
    }
    INPUTS = {"x": ("rows", "features")}
    FLAT = ARRAY_DIALECTS

    def parameters(self, sizes):
        features, hidden = sizes["features"], sizes["hidden"]
        return {"a": (features, hidden), "b": (hidden, features)}

    def flops(self, sizes):
        return 2 * counts.matmul(sizes["rows"], sizes["features"], sizes["hidden"])

    def reference(self, weights, inputs):
        w = float64(weights)
        return np.maximum(float64(inputs)["x"] @ w["a"], 0) @ w["b"]

    def in_arrays(self, sizes, xp, parameters, x):
        return xp.matmul(xp.relu(xp.matmul(x, parameters["a"])), parameters["b"])

    def in_torch(self, sizes, torch):
        nn, functional = torch.nn, torch.nn.functional

        class TwoProducts(nn.Module):
            """The weights are no linear layers': those are stored transposed."""

            def __init__(self, features, hidden):
                super().__init__()
                self.a = nn.Parameter(torch.empty(features, hidden))
                self.b = nn.Parameter(torch.empty(hidden, features))

            def forward(self, x):
                return torch.matmul(functional.relu(torch.matmul(x, self.a)), self.b)

        return TwoProducts(sizes["features"], sizes["hidden"])


WORKLOAD = TwoProducts()
