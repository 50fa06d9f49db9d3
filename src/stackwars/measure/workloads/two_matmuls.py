"""Two matrix products with ReLU between them, without biases: a lecture's first workload.

The lecture ("Lecture 09: PyTorch and JAX") puts the weights on the right of a product as they are, (inputs, outputs):
no dialect has a transpose to remove.
"""

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.base import ARRAY_DIALECTS, Workload, make_module


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

    def in_arrays(self, sizes, xp, parameters, x):
        return xp.matmul(xp.relu(xp.matmul(x, parameters["a"])), parameters["b"])

    def in_torch(self, sizes, torch):
        relu, parameter = torch.nn.functional.relu, torch.nn.Parameter
        # No linear layers, whose weights are stored transposed.
        weights = {name: parameter(torch.empty(shape)) for name, shape in self.parameters(sizes).items()}
        return make_module(
            torch, lambda self, x: torch.matmul(relu(torch.matmul(x, self.a)), self.b), **weights
        )


WORKLOAD = TwoProducts()
