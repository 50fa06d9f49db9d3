"""Systems of equations with one symmetric positive definite matrix, by iterating until its inverse has
converged.

The Newton-Schulz iteration (Schulz, 1933) is X <- X (2 I - A X), from X = A^T / (|A|_1 |A|_inf), while the
largest element of |I - A X| is not below TOLERANCE; the output is X times the right-hand sides. How often the
loop runs depends on the values of A, so a compiler needs a loop whose end it does not know, and a framework
without one has to read the residual back to decide (`newton_readback`). The two products of a step are A X,
which the test needs too, and X (2 I - A X).

**The number of iterations** must not depend on rounding. A is I + B B^T / n, B standard normal: its
eigenvalues are between 1 and about 5, and as n grows they settle, as does the residual of each step. Each
step squares I - A X, so the last residual above the tolerance and the first below it are far apart: of the
sizes of the study and of the tests and of both sets of inputs, none is within a factor 1.5 of the
tolerance, and float32 and float64 count the same.
In float32 the residual is off by about 1e-6, a thousandth of the tolerance.

**The expected values** are results of the same iteration in float64, not of the exact inverse: it stops with a residual
of up to the tolerance, in every precision the same one.
"""

import functools

import numpy as np

from stackwars.measure.workloads import values
from stackwars.measure.workloads.base import Workload, make_module

TOLERANCE = 1e-3  # of the largest element of |I - A X|


class Newton(Workload):
    """An iteration whose number of products depends on the values of the inputs, so that none are counted."""

    TITLE, TABLE, ORDER = "Newton-Schulz", "beyond", 380
    SIZES = {
        "unknowns": "rows and columns of the matrix",
        "systems": "right-hand sides, columns of the output",
    }
    INPUTS = {"a": ("unknowns", "unknowns"), "b": ("unknowns", "systems")}
    OUTPUT = ("unknowns", "systems")
    DEVICE_LOOP = True

    def inputs(self, sizes, seed):
        """Return a, symmetric positive definite, and b, float32."""
        unknowns = sizes["unknowns"]
        factor = values.activations("factor", (unknowns, unknowns), seed).astype(np.float64)
        a = np.eye(unknowns) + factor @ factor.T / unknowns
        b = values.activations("b", (unknowns, sizes["systems"]), seed)
        return {"a": a.astype(np.float32), "b": b}

    def in_jax(self, sizes, jax, parameters, a, b):
        jnp = jax.numpy
        identity = jnp.eye(len(a), dtype=a.dtype)

        def unfinished(state):
            _, product = state
            return jnp.max(jnp.abs(identity - product)) >= TOLERANCE

        def step(state):
            x, product = state
            x = x @ (2 * identity - product)
            return x, a @ x

        x = a.T / (jnp.linalg.norm(a, 1) * jnp.linalg.norm(a, jnp.inf))
        x, _ = jax.lax.while_loop(unfinished, step, (x, a @ x))
        return x @ b

    def in_tensorflow(self, sizes, tf, parameters, a, b):
        identity = tf.eye(a.shape[0], dtype=a.dtype)

        def unfinished(x, product):
            return tf.reduce_max(tf.abs(identity - product)) >= TOLERANCE

        def step(x, product):
            x = x @ (2 * identity - product)
            return x, a @ x

        columns = tf.reduce_max(tf.reduce_sum(tf.abs(a), axis=0))
        rows = tf.reduce_max(tf.reduce_sum(tf.abs(a), axis=1))
        x = tf.transpose(a) / (columns * rows)
        x, _ = tf.while_loop(unfinished, step, (x, a @ x))
        return x @ b

    def in_numpy(self, sizes, parameters, a, b):
        identity = np.eye(len(a), dtype=a.dtype)
        x = a.T / (np.linalg.norm(a, 1) * np.linalg.norm(a, np.inf))
        product = a @ x
        while np.abs(identity - product).max() >= TOLERANCE:
            x = x @ (2 * identity - product)
            product = a @ x
        return x @ b

    def in_torch(self, sizes, torch):
        while_loop = while_loop_in_torch()

        def forward(_, a, b):
            identity = torch.eye(len(a), dtype=a.dtype, device=a.device)

            def unfinished(x, product):
                return (identity - product).abs().max() >= TOLERANCE

            def step(x, product):
                x = x @ (2 * identity - product)
                return x, a @ x

            x = first_in_torch(a)
            if a.device.type == "xla":
                return loop_in_torch_xla()(x, a @ x, a, identity) @ b
            x, _ = while_loop(unfinished, step, (x, a @ x))
            return x @ b

        return make_module(torch, forward)


def first_in_torch(a):
    """Return A^T / (|A|_1 |A|_inf), from which the iteration converges for every regular matrix."""
    columns, rows = a.abs().sum(dim=0).max(), a.abs().sum(dim=1).max()
    # A loop's state keeps its strides from step to step, and a product is contiguous.
    return a.T.contiguous() / (columns * rows)


def while_loop_in_torch():
    """Return a function (condition, step, state): the state after as many steps as the condition is true.

    PyTorch's own is a prototype, which runs in eager PyTorch and in TorchInductor. torchax needs JAX's, and
    torch_xla `loop_in_torch_xla`.
    """
    from torch._higher_order_ops.while_loop import while_loop

    def loop(condition, step, state):
        if state[0].device.type != "jax":
            return while_loop(condition, step, state)
        import jax
        from torchax.interop import call_jax

        return call_jax(
            jax.lax.while_loop,
            lambda carried: condition(*carried),
            lambda carried: step(*carried),
            state,
        )

    return loop


@functools.cache
def loop_in_torch_xla():
    """Return the iteration as a loop of XLA's: the inverse of a, from (x, a @ x, a, identity) on its device.

    It is written with torch_xla's builder, because torch_xla 2.9.0's own form of PyTorch's `while_loop` is no
    use here: it numbers a loop's parameters in the order in which lowering meets the tensors of the body, which
    differs from the order of the state and the condition's. With this state it refuses the loop, returns other values
    without a word, or does not end, depending on the order of the state.
    """
    import torch_xla.core.xla_op_registry as registry
    from torch_xla.core.xla_builder import Op

    def unfinished(x, product, a, identity):
        residual = identity - product
        residual = residual.max(-residual)  # the builder has no absolute value
        largest = residual.reduce(Op.zero(x.builder(), x.shape().dtype), Op.max, [0, 1])
        return largest >= largest.scalar_like(TOLERANCE)

    def step(x, product, a, identity):
        x = x @ (identity + identity - product)
        return x, a @ x, a, identity

    def loop(x, product, a, identity):
        return Op.mkwhile((x, product, a, identity), unfinished, step).get_tuple_element(0)

    return registry.register("newton_schulz", loop)


WHY = (
    "{} traces a whole call before it runs anything: the residual has no value that Python could decide with "
    "while it traces. A loop that the device decides is `newton`."
)


class ReadBack(Newton):
    """The iteration with the residual read back at every step to decide in Python whether to go on.

    The host waits for the device once a step. A framework that traces a whole call before it runs anything has no value
    to read, and no form of this. In NumPy, Python decides the loop in `newton` already.
    """

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


WORKLOADS = {"newton": Newton(), "newton_readback": ReadBack()}
