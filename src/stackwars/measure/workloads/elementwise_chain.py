"""A chain of elementwise operations that ends in a sum: tanh(0.1 x + 1.7) sigmoid(x) + exp(-x^2), added up.

A lecture's second workload ("Lecture 09: PyTorch and JAX"). A compiler that fuses it reads every element once
and writes one number; operation by operation, every intermediate result goes to memory and back. The lecture's
elements are all 1, with which every term of the sum is rounded the same way; here they are drawn.

**Parity.** The output is one float32 number, and compilers differ in how many partial sums they add it up from.
A term is rounded to the spacing of the partial sum that it is added to, and the roundings do not average out:
the terms crowd towards their maximum of about 1.4. Adding the terms of 10 million elements up one after the
other, in as many float32 accumulators as the first column says, gives these relative errors (elements of mean
0, of mean 1):

    accumulators   1     2.4e-2   7.6e-4
                   8     1.0e-3   9.7e-4
                  16     4.2e-5   3.3e-4
                  32     7.1e-5   4.3e-5

On a processor with 512-bit vectors, the XLA of TensorFlow 2.21 is off by what 16 accumulators are, and
TorchInductor (PyTorch 2.9) by what 32 are, to two digits. The XLA of JAX and torch_xla, NumPy and eager PyTorch
add up in a tree, and stay below 2e-7. One accumulator of 256-bit vectors is 8. Up to 10 million elements, the
error of 8 is at most 1.2e-10 for each element, or below 1e-5 (of 12 lengths from 1e4 to 1e7, for both means),
so the bound is 2e-10 for each element. A single accumulator, which is wrong by percents, is refused.
"""

from importlib import import_module

import numpy as np

from stackwars.measure.workloads.base import Workload, make_module

SCALE, SHIFT = 0.1, 1.7  # inside tanh
ERROR_OF_AN_ELEMENT = 2e-10


class Chain(Workload):
    TITLE, TABLE, ORDER = "Elementwise chain", "lecture", 80
    SIZES = {"elements": "elements of the input"}
    INPUTS = {"x": ("elements",)}
    OUTPUT = ()

    def preload(self, dialect):
        if dialect == "numpy":
            import_module("scipy.special")  # for sigmoid, which NumPy does not have

    def inputs(self, sizes, seed):
        """Return x, float32: of mean 0 for an even seed and 1 for an odd one, with standard deviation 1.

        Two sets of one distribution would have the same sum to within 1e-4, and a call that returned the other
        set's result could pass for right. The sums of neighbouring seeds are 2.6 % apart.
        """
        x = super().inputs(sizes, seed)["x"]
        return {"x": x + np.float32(1) if seed % 2 else x}

    def parity_rel_l2(self, sizes):
        """Return the largest relative L2 error that is due to the order of the sum; derived above."""
        return ERROR_OF_AN_ELEMENT * sizes["elements"]

    def in_arrays(self, sizes, xp, parameters, x):
        return xp.sum(xp.tanh(SCALE * x + SHIFT) * xp.sigmoid(x) + xp.exp(-x * x))

    def in_torch(self, sizes, torch):
        return make_module(
            torch,
            lambda _, x: torch.sum(torch.tanh(SCALE * x + SHIFT) * torch.sigmoid(x) + torch.exp(-x * x)),
        )


WORKLOAD = Chain()
