"""Feed-forward blocks: a linear layer, exact GELU (with erf) or ReLU, and a linear layer back."""

from importlib import import_module

from stackwars.measure.workloads import counts, parallel
from stackwars.measure.workloads.base import Workload, make_module


class FeedForward(Workload):
    """Two linear layers with an activation between them."""

    SIZES = {**Workload.SIZES, "hidden": "width between the two linear layers"}
    LAST = "features"
    """The size that is the width of the output."""
    ACTIVATION: str
    """Name of the activation in torch.nn.functional and among the operations of an array dialect."""

    def parameters(self, sizes):
        hidden = sizes["hidden"]
        return counts.linear("up", sizes["features"], hidden) | counts.linear("down", hidden, sizes[self.LAST])

    def layers_in_torch(self, sizes, torch):
        """Return the two layers by name."""
        up = torch.nn.Linear(sizes["features"], sizes["hidden"])
        return {"up": up, "down": torch.nn.Linear(sizes["hidden"], sizes[self.LAST])}

    def flops(self, sizes):
        positions = sizes["batch"] * sizes["sequence"]
        return 2 * counts.matmul(positions, sizes["features"], sizes["hidden"])

    def in_arrays(self, sizes, xp, parameters, x):
        up, down = parameters["up"], parameters["down"]
        hidden = getattr(xp, self.ACTIVATION)(x @ up["kernel"] + up["bias"])
        return hidden @ down["kernel"] + down["bias"]

    def in_torch(self, sizes, torch):
        activation = getattr(torch.nn.functional, self.ACTIVATION)
        layers = self.layers_in_torch(sizes, torch)
        return make_module(torch, lambda self, x: self.down(activation(self.up(x))), **layers)


class ExactGelu(FeedForward):
    TITLE, TABLE, ORDER = "FFN", "I", 20
    ACTIVATION = "gelu"
    TENSOR_PARALLEL = {"up.weight": 0, "up.bias": 0, "down.weight": 1}

    def preload(self, dialect):
        if dialect == "numpy":
            import_module("scipy.special")  # for erf, which NumPy does not have

    def divided_in_jax(self, sizes, xp, jax, parameters, x):
        """Every device has a part of the hidden layer: their shares of the output are added."""
        up, down = parameters["up"], parameters["down"]
        hidden = xp.gelu(x @ up["kernel"] + up["bias"])
        return jax.lax.psum(hidden @ down["kernel"], parallel.AXIS) + down["bias"]


class Relu(FeedForward):
    TITLE, TABLE, ORDER = "FFN (ReLU)", "I", 30
    ACTIVATION = "relu"


WORKLOADS = {"ffn": ExactGelu(), "ffn_relu": Relu()}
