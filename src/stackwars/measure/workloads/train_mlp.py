"""A training step of a small classifier: product, GELU by tanh, product, cross-entropy, and AdamW."""

from stackwars.measure.workloads import adamw, counts, decoder, losses
from stackwars.measure.workloads.base import make_module, nested
from stackwars.measure.workloads.ffn import FeedForward


class TrainMLP(adamw.Training, FeedForward):
    TITLE, ORDER = "Train MLP", 300
    SIZES = {
        "batch": "examples in a step",
        "features": "width of the input",
        "hidden": "width between the two products",
        "classes": "classes that the loss tells apart",
    }
    INPUTS = {"x": ("batch", "features"), "labels": ("batch",)}
    INTEGERS = {"labels": "classes"}
    LAST = "classes"
    APART = 3.1e-5
    """20 draws of `losses.apart` at the sizes of the full preset gave 2.8e-5 to 3.1e-5.

    Nearly all comes from the correction of AdamW's second moment, 1 - 0.999^t, whose error in float32 is the same
    in every step. With 0.999 rounded to float32 and nothing else, a training parts from an exact one by 6.4e-6:
    as far as those that correct in float64 (NumPy, PyTorch) were from JAX, which corrects in float32.
    """

    def flops(self, sizes):
        """Return the operations: two products forward, and backward each twice but for the input's."""
        up = counts.matmul(sizes["batch"], sizes["features"], sizes["hidden"])
        down = counts.matmul(sizes["batch"], sizes["hidden"], sizes["classes"])
        return 2 * up + 3 * down

    def minimum_bytes(self, sizes):
        """Return the bytes of weights and both moments, read and written once, and of the inputs."""
        return 4 * (6 * self.parameter_count(sizes) + sizes["batch"] * (sizes["features"] + 1))

    def longest(self, sizes):
        return max(sizes["batch"], sizes["features"], sizes["hidden"], sizes["classes"])

    def in_arrays(self, sizes, xp, weights, x, labels):
        layers = nested(weights)
        hidden = xp.gelu_tanh(decoder.linear(xp, layers["up"], x))
        return xp.cross_entropy(decoder.linear(xp, layers["down"], hidden), labels)

    def in_numpy(self, sizes, weights, x, labels, rounding=None):
        inner = x @ weights["up.weight"].T + weights["up.bias"]
        hidden, slope = losses.gelu(inner)
        logits = hidden @ weights["down.weight"].T + weights["down.bias"]
        loss, by_logits = losses.cross_entropy(logits, labels, rounding)
        by_inner = (by_logits @ weights["down.weight"]) * slope
        return loss, {
            "up.weight": by_inner.T @ x,
            "up.bias": by_inner.sum(axis=0),
            "down.weight": by_logits.T @ hidden,
            "down.bias": by_logits.sum(axis=0),
        }

    def in_torch(self, sizes, torch):
        functional = torch.nn.functional

        def forward(self, x, labels):
            logits = self.down(functional.gelu(self.up(x), approximate="tanh"))
            return functional.cross_entropy(logits, labels.long())

        return make_module(torch, forward, **self.layers_in_torch(sizes, torch))


WORKLOAD = TrainMLP()
