"""A feed-forward block with GELU by tanh, added to its input and then normalised over the last axis.

A lecture's third workload ("Lecture 09: PyTorch and JAX"). As there, it is written out in every dialect, in
products with weights (inputs, outputs), sums and means, not in the dialect's layers: those are in `ffn` and
`layernorm`. The lecture's 256 sequences of 1024 positions would take a CPU seconds (1.1e12 operations a
call): here it is the smaller one of config/config.yaml.
"""

from stackwars.measure.workloads import counts, losses
from stackwars.measure.workloads.base import ARRAY_DIALECTS, Workload, float64

EPSILON = 1e-5  # added to the variance


class PostNorm(Workload):
    TITLE, TABLE, ORDER = "MLP, post-norm", "lecture", 90
    SIZES = {
        "batch": "sequences in a call",
        "sequence": "positions in a sequence",
        "features": "width of input and output, which is normalised over",
        "hidden": "width between the two products",
    }
    FLAT = ARRAY_DIALECTS

    def parameters(self, sizes):
        """Return the shapes; those of the products are (inputs, outputs)."""
        features, hidden = sizes["features"], sizes["hidden"]
        return {
            "up.weight": (features, hidden),
            "up.bias": (hidden,),
            "down.weight": (hidden, features),
            "down.bias": (features,),
            **counts.norm("norm", features),
        }

    def flops(self, sizes):
        positions = sizes["batch"] * sizes["sequence"]
        return 2 * counts.matmul(positions, sizes["features"], sizes["hidden"])

    def reference(self, weights, inputs):
        w, x = float64(weights), float64(inputs)["x"]
        hidden, _ = losses.gelu(x @ w["up.weight"] + w["up.bias"])
        y = x + hidden @ w["down.weight"] + w["down.bias"]
        return losses.norm(y, w["norm.weight"], w["norm.bias"], EPSILON)[0]

    def in_arrays(self, sizes, xp, parameters, x):
        hidden = xp.gelu_tanh(x @ parameters["up.weight"] + parameters["up.bias"])
        y = x + (hidden @ parameters["down.weight"] + parameters["down.bias"])
        centred = y - xp.mean(y, axis=-1, keepdims=True)
        variance = xp.mean(xp.square(centred), axis=-1, keepdims=True)
        normal = centred / xp.sqrt(variance + EPSILON)
        return normal * parameters["norm.weight"] + parameters["norm.bias"]

    def in_torch(self, sizes, torch):
        nn, functional = torch.nn, torch.nn.functional

        class Product(nn.Module):
            """With a bias. A linear layer would store its weight transposed."""

            def __init__(self, inputs, outputs):
                super().__init__()
                self.weight = nn.Parameter(torch.empty(inputs, outputs))
                self.bias = nn.Parameter(torch.empty(outputs))

            def forward(self, x):
                return x @ self.weight + self.bias

        class Norm(nn.Module):
            """Operation by operation."""

            def __init__(self, features):
                super().__init__()
                self.weight = nn.Parameter(torch.empty(features))
                self.bias = nn.Parameter(torch.empty(features))

            def forward(self, x):
                centred = x - x.mean(dim=-1, keepdim=True)
                variance = torch.square(centred).mean(dim=-1, keepdim=True)
                return centred / torch.sqrt(variance + EPSILON) * self.weight + self.bias

        class Block(nn.Module):
            def __init__(self, features, hidden):
                super().__init__()
                self.up = Product(features, hidden)
                self.down = Product(hidden, features)
                self.norm = Norm(features)

            def forward(self, x):
                hidden = functional.gelu(self.up(x), approximate="tanh")
                return self.norm(x + self.down(hidden))

        return Block(sizes["features"], sizes["hidden"])


WORKLOAD = PostNorm()
