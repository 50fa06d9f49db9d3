"""A feed-forward block with GELU by tanh, added to its input and then normalised over the last axis.

A lecture's third workload ("Lecture 09: PyTorch and JAX"). As in the lecture, it is written out in every dialect, in
products with weights (inputs, outputs), sums and means, not in the dialect's layers: those are in `ffn` and
`layernorm`. The lecture's 256 sequences of 1024 positions would take a CPU seconds (1.1e12 operations a
call): here it is the smaller one of config/config.yaml.
"""

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.base import ARRAY_DIALECTS, make_module
from stackwars.measure.workloads.ffn import FeedForward

EPSILON = 1e-5  # added to the variance


class PostNorm(FeedForward):
    TITLE, TABLE, ORDER = "MLP, post-norm", "lecture", 90
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

    def in_arrays(self, sizes, xp, parameters, x):
        hidden = xp.gelu_tanh(x @ parameters["up.weight"] + parameters["up.bias"])
        y = x + (hidden @ parameters["down.weight"] + parameters["down.bias"])
        centred = y - xp.mean(y, axis=-1, keepdims=True)
        variance = xp.mean(xp.square(centred), axis=-1, keepdims=True)
        normal = centred / xp.sqrt(variance + EPSILON)
        return normal * parameters["norm.weight"] + parameters["norm.bias"]

    def in_torch(self, sizes, torch):
        nn, gelu = torch.nn, torch.nn.functional.gelu

        def part(forward, name):
            """Return the layer with the weight and the bias of this name."""
            shapes = (self.parameters(sizes)[f"{name}.{kind}"] for kind in ("weight", "bias"))
            weight, bias = (nn.Parameter(torch.empty(shape)) for shape in shapes)
            return make_module(torch, forward, weight=weight, bias=bias)

        def product(self, x):
            """A product with a bias. A linear layer would store its weight transposed."""
            return x @ self.weight + self.bias

        def norm(self, x):
            """Operation by operation."""
            centred = x - x.mean(dim=-1, keepdim=True)
            variance = torch.square(centred).mean(dim=-1, keepdim=True)
            return centred / torch.sqrt(variance + EPSILON) * self.weight + self.bias

        def block(self, x):
            return self.norm(x + self.down(gelu(self.up(x), approximate="tanh")))

        up, down = part(product, "up"), part(product, "down")
        return make_module(torch, block, up=up, down=down, norm=part(norm, "norm"))


WORKLOAD = PostNorm()
