"""A feed-forward block: a linear layer, exact GELU (with erf), and a linear layer back."""

import math
from importlib import import_module

import numpy as np

from stackwars.measure.workloads import counts, parallel
from stackwars.measure.workloads.base import Workload, float64


class FeedForward(Workload):
    """Two linear layers with an activation between them, which a subclass has in three methods."""

    SIZES = {
        "batch": "sequences in a call",
        "sequence": "positions in a sequence",
        "features": "width of input and output",
        "hidden": "width between the two linear layers",
    }

    def parameters(self, sizes):
        features, hidden = sizes["features"], sizes["hidden"]
        return counts.linear("up", features, hidden) | counts.linear("down", hidden, features)

    def flops(self, sizes):
        positions = sizes["batch"] * sizes["sequence"]
        return 2 * counts.matmul(positions, sizes["features"], sizes["hidden"])

    def reference(self, weights, inputs):
        w, x = float64(weights), float64(inputs)["x"]
        hidden = self.activate_exactly(x @ w["up.weight"].T + w["up.bias"])
        return hidden @ w["down.weight"].T + w["down.bias"]

    def in_arrays(self, sizes, xp, parameters, x):
        up, down = parameters["up"], parameters["down"]
        hidden = self.activate(x @ up["kernel"] + up["bias"], xp)
        return hidden @ down["kernel"] + down["bias"]

    def of_torch(self, sizes, torch, activation):
        """Return the module with this activation."""
        nn = torch.nn

        class FeedForward(nn.Module):
            def __init__(self, features, hidden):
                super().__init__()
                self.up = nn.Linear(features, hidden)
                self.down = nn.Linear(hidden, features)

            def forward(self, x):
                return self.down(activation(self.up(x)))

        return FeedForward(sizes["features"], sizes["hidden"])


class ExactGelu(FeedForward):
    TITLE, TABLE, ORDER = "FFN", "I", 20
    TENSOR_PARALLEL = {"up.weight": 0, "up.bias": 0, "down.weight": 1}

    def preload(self, dialect):
        if dialect == "numpy":
            import_module("scipy.special")  # of erf, which NumPy does not have

    def activate(self, hidden, xp):
        return xp.gelu(hidden)

    def activate_exactly(self, hidden):
        erf = np.fromiter(map(math.erf, (hidden / math.sqrt(2)).flat), np.float64, hidden.size)
        return 0.5 * hidden * (1 + erf.reshape(hidden.shape))

    def divided_in_jax(self, sizes, jax, parameters, x):
        """Every device has a part of the hidden layer: their shares of the output are added."""
        up, down = parameters["up"], parameters["down"]
        hidden = jax.nn.gelu(x @ up["kernel"] + up["bias"], approximate=False)
        return jax.lax.psum(hidden @ down["kernel"], parallel.AXIS) + down["bias"]

    def in_torch(self, sizes, torch):
        return self.of_torch(sizes, torch, torch.nn.functional.gelu)


WORKLOAD = ExactGelu()
