"""The gradients of `per_example_grad`, one example after the other in a loop of Python's.

Each turn of the loop requests the gradient of one example, and the results are stacked. Users write this if a
framework has no transformation that vectorises a gradient, or if they do not think of it.
Under a compiler that traces, the loop is unrolled, and the program grows with the batch. Sizes, inputs
and weights are those of `per_example_grad`, so the two can be compared directly; the batch of 32 is
one whose unrolled program still compiles in seconds.
"""

from functools import partial

import numpy as np

from stackwars.measure.workloads.base import softmax
from stackwars.measure.workloads.per_example_grad import Gradients, gelu, gradient_in_tensorflow, loss_in_jax


class GradientsInLoop(Gradients):
    TITLE, ORDER, FORM_OF = "Per-example gradients, loop", 330, "per_example_grad"

    def in_jax(self, sizes, jax, parameters, x, labels):
        jnp = jax.numpy
        names, loss = list(self.parameters(sizes)), partial(loss_in_jax, jax)
        rows = []
        for example, label in zip(x, labels, strict=True):
            gradient = jax.grad(loss)(parameters, example, label)
            # A dictionary comes back in the order of its keys.
            rows.append(jnp.concatenate([gradient[name].reshape(-1) for name in names]))
        return jnp.stack(rows)

    def in_tensorflow(self, sizes, tf, parameters, x, labels):
        # A range of Python's, which tracing unrolls; over a tensor it would become a loop of the graph.
        rows = range(x.shape[0])
        return tf.stack([gradient_in_tensorflow(tf, parameters, x[row], labels[row]) for row in rows])

    def in_numpy(self, sizes, parameters, x, labels):
        def gradient(parameters, x, label):
            hidden, slope = gelu(parameters["up.weight"] @ x + parameters["up.bias"])
            error = softmax(parameters["down.weight"] @ hidden + parameters["down.bias"], axis=-1)
            error[label] -= 1
            delta = error @ parameters["down.weight"] * slope
            return np.concatenate([np.outer(delta, x).ravel(), delta, np.outer(error, hidden).ravel(), error])

        pairs = zip(x, labels, strict=True)
        return np.stack([gradient(parameters, example, label) for example, label in pairs])

    def gradients_in_torch(self, torch):
        def gradients(loss, weights, x, labels):
            rows = []
            for example, label in zip(x, labels, strict=True):
                gradient = torch.func.grad(loss)(weights, example, label)
                rows.append(torch.cat([gradient[name].flatten() for name in weights]))
            return torch.stack(rows)

        return gradients


WORKLOAD = GradientsInLoop()
