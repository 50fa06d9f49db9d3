"""A workload that torch_xla computes outside its compiler: it has no lowering of `linalg.solve`."""

from stackwars.workloads.base import Workload


class Solve(Workload):
    """x of a x = b, for a batch of 3 by 3 matrices."""

    TITLE, TABLE, ORDER, ITEM = "Solve", "other", 900, "systems"
    SIZES = {"batch": "systems"}
    INPUTS = {"a": ("batch", 3, 3), "b": ("batch", 3, 1)}
    OUTPUT = ("batch", 3, 1)

    def in_jax(self, sizes, jax, weights, a, b):
        return jax.numpy.linalg.solve(a, b)

    def in_torch(self, sizes, torch):
        class Module(torch.nn.Module):
            def forward(self, a, b):
                return torch.linalg.solve(a, b)

        return Module()


WORKLOAD = Solve()
