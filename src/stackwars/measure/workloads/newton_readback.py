"""The iteration of `newton`, with the residual read back at every step to decide in Python whether to go on.

Sizes, inputs, the form in NumPy, the number of steps and the output are those of `newton`. The difference is that
the host waits for the device once a step. A framework that traces a whole call before it runs anything
has no value to read, and no form of this. In NumPy, Python decides the loop in `newton` already.
"""

from stackwars.measure.workloads.base import make_module
from stackwars.measure.workloads.newton import TOLERANCE, Newton, first_in_torch

WHY = (
    "{} traces a whole call before it runs anything: the residual has no value that Python could decide with "
    "while it traces. A loop that the device decides is `newton`."
)


class ReadBack(Newton):
    TITLE, ORDER, FORM_OF = "Newton-Schulz, read back", 390, "newton"
    DEVICE_LOOP = False
    # `.item()` needs a value, which no graph has while it is traced: Dynamo ends its graph here.
    GRAPH_BREAKS = True
    NO_FORM = {"jax": WHY.format("jax.jit"), "tensorflow": WHY.format("tf.function")}

    def in_torch(self, sizes, torch):
        def forward(_, a, b):
            identity = torch.eye(len(a), dtype=a.dtype, device=a.device)
            x = first_in_torch(a)
            product = a @ x
            while (identity - product).abs().max().item() >= TOLERANCE:
                x = x @ (2 * identity - product)
                product = a @ x
            return x @ b

        return make_module(torch, forward)


WORKLOAD = ReadBack()
