"""The gradient of every example's loss, not of their sum: a transformation of a transformation.

The loss is the cross-entropy of a block of two linear layers with GELU by tanh between them. Differentially
private training and influence functions need these gradients (Abadi et al., 2016, section 4), and automatic
differentiation gives the sum over a batch. Frameworks do this in different ways: JAX and torch differentiate
the loss of one example and vectorise that (`vmap` of `grad`), TensorFlow's `vectorized_map` rewrites the graph
of one example's gradient, and in NumPy the derivatives are written by hand.

The gradient of a linear layer's weight is the outer product of two vectors: nearly all of a call's time goes
into writing the output, which is as large as the weights for each example.
"""

from functools import partial

import numpy as np

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.base import ARRAY_DIALECTS, GELU_CUBE, GELU_SCALE, make_module, softmax
from stackwars.measure.workloads.ffn import FeedForward


class Gradients(FeedForward):
    """The output (batch, weights) has the weights one after the other, in the order of `parameters`."""

    TITLE, TABLE, ORDER = "Per-example gradients", "beyond", 320
    SIZES = {
        "batch": "examples in a call",
        "features": "width of the input",
        "hidden": "width between the two linear layers",
        "classes": "number of labels",
    }
    INPUTS = {"x": ("batch", "features"), "labels": ("batch",)}
    INTEGERS = {"labels": "classes"}
    LAST = "classes"
    FLAT = ARRAY_DIALECTS

    def flops(self, sizes):
        """Return the operations. An outer product counts as what it is to XLA: a product with an inner extent of 1."""
        batch, features = sizes["batch"], sizes["features"]
        hidden, classes = sizes["hidden"], sizes["classes"]
        forward = counts.matmul(batch, features, hidden) + counts.matmul(batch, hidden, classes)
        back = counts.matmul(batch, classes, hidden)
        outer = counts.matmul(features, 1, hidden) + counts.matmul(hidden, 1, classes)
        return forward + back + batch * outer

    def output_values(self, sizes):
        return sizes["batch"] * self.parameter_count(sizes)

    def in_jax(self, sizes, jax, parameters, x, labels):
        jnp = jax.numpy
        names, loss = list(self.parameters(sizes)), partial(loss_in_jax, jax)
        gradients = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(parameters, x, labels)
        # A dictionary comes back in the order of its keys.
        return jnp.concatenate([gradients[name].reshape(len(x), -1) for name in names], axis=1)

    def in_tensorflow(self, sizes, tf, parameters, x, labels):
        # Without a fallback, what it cannot vectorise is an error and no hidden loop.
        return tf.vectorized_map(
            lambda example: gradient_in_tensorflow(tf, parameters, *example),
            (x, labels),
            fallback_to_while_loop=False,
        )

    def in_numpy(self, sizes, parameters, x, labels):
        batch = len(x)
        hidden, slope = gelu(x @ parameters["up.weight"].T + parameters["up.bias"])
        error = softmax(hidden @ parameters["down.weight"].T + parameters["down.bias"], axis=-1)
        error[np.arange(batch), labels] -= 1
        delta = error @ parameters["down.weight"] * slope
        up = (delta[:, :, None] * x[:, None, :]).reshape(batch, -1)
        down = (error[:, :, None] * hidden[:, None, :]).reshape(batch, -1)
        return np.concatenate([up, delta, down, error], axis=1)

    def in_torch(self, sizes, torch):
        functional = torch.nn.functional
        gradients = self.gradients_in_torch(torch)

        def logits(self, x):
            return self.down(functional.gelu(self.up(x), approximate="tanh"))

        def forward(self, x, labels):
            def loss(weights, x, label):
                """Return the loss () of one example: x (features,) and label ()."""
                logits = torch.func.functional_call(self.classifier, weights, (x[None],))
                return functional.cross_entropy(logits, label[None])

            # Labels of torch's losses are 64-bit.
            return gradients(loss, dict(self.classifier.named_parameters()), x, labels.long())

        classifier = make_module(torch, logits, **self.layers_in_torch(sizes, torch))
        return make_module(torch, forward, classifier=classifier)

    def holder_in_torch(self, module):
        return module.classifier

    def gradients_in_torch(self, torch):
        """Return the function of an example's loss, weights and examples that gives the gradients."""

        def gradients(loss, weights, x, labels):
            of_example = torch.func.grad(loss)
            result = torch.func.vmap(of_example, in_dims=(None, 0, 0))(weights, x, labels)
            return torch.cat([result[name].flatten(1) for name in weights], dim=1)

        return gradients


def loss_in_jax(jax, parameters, x, label):
    """Return the loss () of one example: x (features,) and label ()."""
    hidden = parameters["up.weight"] @ x + parameters["up.bias"]
    hidden = jax.nn.gelu(hidden, approximate=True)
    logits = parameters["down.weight"] @ hidden + parameters["down.bias"]
    return -jax.nn.log_softmax(logits)[label]


def gradient_in_tensorflow(tf, parameters, x, label):
    """Return the gradient (weights,) of one example's loss: x (features,) and label ()."""
    weights = list(parameters.values())
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(weights)
        hidden = tf.linalg.matvec(parameters["up.weight"], x) + parameters["up.bias"]
        hidden = tf.nn.gelu(hidden, approximate=True)
        logits = tf.linalg.matvec(parameters["down.weight"], hidden) + parameters["down.bias"]
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits)
    return tf.concat([tf.reshape(g, [-1]) for g in tape.gradient(loss, weights)], axis=0)


def gelu(x):
    """Return GELU by tanh of x, and its derivative at x."""
    square = x * x
    tanh = np.tanh(GELU_SCALE * x * (1 + GELU_CUBE * square))
    share = 0.5 * (1 + tanh)
    inner = GELU_SCALE * (1 + 3 * GELU_CUBE * square)
    return x * share, share + 0.5 * x * (1 - tanh * tanh) * inner


class GradientsInLoop(Gradients):
    """The gradients of one example after the other, in a loop of Python's, and stacked.

    Users write this if a framework has no transformation that vectorises a gradient, or if they do not think of it.
    Under a compiler that traces, the loop is unrolled, and the program grows with the batch: the batch of 32 is one
    whose unrolled program still compiles in seconds.
    """

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


WORKLOADS = {"per_example_grad": Gradients(), "per_example_loop": GradientsInLoop()}
