"""One linear layer: a product with a weight and a bias, which PyTorch stores as (out, in) and JAX as (in, out)."""

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.base import Workload, make_module


class Linear(Workload):
    TITLE, TABLE, ORDER = "Linear layer", "sizes", 95
    SIZES = {**Workload.SIZES, "outputs": "width of the output"}
    OUTPUT = ("batch", "sequence", "outputs")

    def parameters(self, sizes):
        return counts.linear("linear", sizes["features"], sizes["outputs"])

    def flops(self, sizes):
        return counts.matmul(sizes["batch"] * sizes["sequence"], sizes["features"], sizes["outputs"])

    def in_arrays(self, sizes, xp, parameters, x):
        return x @ parameters["linear"]["kernel"] + parameters["linear"]["bias"]

    def in_torch(self, sizes, torch):
        linear = torch.nn.Linear(sizes["features"], sizes["outputs"])
        return make_module(torch, lambda self, x: self.linear(x), linear=linear)


WORKLOAD = Linear()
