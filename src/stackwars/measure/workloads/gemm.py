"""GEMM: the product of two matrices."""

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.base import Workload, make_module


class Gemm(Workload):
    """Both matrices are inputs; there are no weights."""

    TITLE, TABLE, ORDER = "GEMM", "I", 10
    SIZES = {
        "m": "rows of the left matrix and of the product",
        "k": "columns of the left matrix, rows of the right one",
        "n": "columns of the right matrix and of the product",
    }
    INPUTS = {"left": ("m", "k"), "right": ("k", "n")}
    OUTPUT = ("m", "n")

    def flops(self, sizes):
        return counts.matmul(sizes["m"], sizes["k"], sizes["n"])

    def in_arrays(self, sizes, xp, parameters, left, right):
        return xp.matmul(left, right)

    def in_torch(self, sizes, torch):
        return make_module(torch, lambda _, left, right: torch.matmul(left, right))


WORKLOAD = Gemm()
