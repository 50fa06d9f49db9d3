"""An Elman recurrence over a sequence: h <- tanh(x_t W + h U + b), from h = 0 (Elman, 1990).

Both products are in the step, because the loop is measured; a compiler may move x_t W out of it. The
output is every hidden state. `scan_rnn` is a loop; `unrolled_rnn` computes the same by a loop in Python, which tracing
unrolls.

The recurrent weight is drawn with half the standard deviation of any other matrix (values.FACTORS):
its spectral radius is about 1/2, and its largest singular value about 1, so that a rounding error of one step
dies out in the steps that follow, however many they are.
"""

import numpy as np

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.base import Workload, make_module


class Recurrence(Workload):
    TITLE, TABLE, ORDER = "RNN, scan", "beyond", 400
    SIZES = {
        "sequence": "steps of the recurrence",
        "batch": "sequences in a call",
        "features": "width of the input",
        "hidden": "width of the hidden state, and of the output",
    }
    INPUTS = {"x": ("sequence", "batch", "features")}
    OUTPUT = ("sequence", "batch", "hidden")
    DEVICE_LOOP = True

    def parameters(self, sizes):
        hidden = sizes["hidden"]
        recurrent = counts.linear("recurrent", hidden, hidden, bias=False)
        return counts.linear("input", sizes["features"], hidden) | recurrent

    def flops(self, sizes):
        """Return the operations: both products of every step."""
        inner = sizes["features"] + sizes["hidden"]
        return sizes["sequence"] * counts.matmul(sizes["batch"], inner, sizes["hidden"])

    def in_jax(self, sizes, jax, parameters, x):
        jnp = jax.numpy

        def step(hidden, row):
            hidden = next_state(parameters, hidden, row, jnp)
            return hidden, hidden

        _, states = jax.lax.scan(step, start(parameters, x, jnp), x)
        return states

    def in_tensorflow(self, sizes, tf, parameters, x):
        def step(hidden, row):
            return next_state(parameters, hidden, row, tf)

        return tf.scan(step, x, start(parameters, x, tf))

    def in_numpy(self, sizes, parameters, x):
        sequence, batch, _ = x.shape
        states = np.empty((sequence, batch, parameters["input"]["bias"].size), x.dtype)
        hidden = start(parameters, x, np)
        for step, row in enumerate(x):
            hidden = next_state(parameters, hidden, row, np)
            states[step] = hidden
        return states

    def in_torch(self, sizes, torch):
        scan = scan_in_torch(torch)
        # TorchInductor lowers a scan to a loop whose counter is read; PyTorch 2.9 refuses that otherwise.
        torch._dynamo.config.capture_scalar_outputs = True

        def states(start, x, next_state, weights):
            def step(hidden, row, weights):
                hidden = next_state(hidden, row, *weights)
                # PyTorch's scan refuses an output that is the state itself.
                return hidden, hidden.clone()

            _, states = scan(step, start, x, weights)
            return states

        return self.module_in_torch(sizes, torch, states)

    def module_in_torch(self, sizes, torch, states):
        """Return the module whose output is `states(first state, x, function of the next state, weights)`."""
        linear, hidden_width = torch.nn.functional.linear, sizes["hidden"]

        def next_state(hidden, row, of_input, bias, recurrent):
            from_input = linear(row, of_input, bias)
            return torch.tanh(from_input + linear(hidden, recurrent))

        def forward(self, x):
            start = x.new_zeros(x.shape[1], hidden_width)
            return states(start, x, next_state, tuple(self.parameters()))

        of_input = torch.nn.Linear(sizes["features"], hidden_width)
        recurrent = torch.nn.Linear(hidden_width, hidden_width, bias=False)
        return make_module(torch, forward, input=of_input, recurrent=recurrent)


def scan_in_torch(torch):
    """Return a function (step, start, sequence, weights): (last state, outputs) of `step(state, row, weights)`.

    row: of the sequence, along its first axis. weights: tensors that every step gets. PyTorch's own scan is
    a prototype, which runs in eager PyTorch and in TorchInductor; torch_xla and torchax need their own.
    """
    from torch._higher_order_ops.scan import scan as torch_scan

    def loop(step, start, sequence, weights):
        def with_weights(state, row):
            return step(state, row, weights)

        kind = start.device.type
        if kind == "jax":
            import jax
            from torchax.interop import call_jax

            return call_jax(jax.lax.scan, with_weights, start, sequence)
        if kind == "xla" and not torch.compiler.is_compiling():
            from torch_xla.experimental.scan import scan as xla_scan

            def carried(carry, row):
                state, output = step(carry[0], row, carry[1])
                return (state, carry[1]), output

            # Its step may use only tensors among its arguments, so the weights are part of the state.
            (last, _), outputs = xla_scan(carried, (start, weights), sequence)
            return last, outputs
        return torch_scan(with_weights, start, sequence)

    return loop


def start(parameters, x, xp):
    """Return zeros (batch, hidden)."""
    return xp.zeros((x.shape[1], parameters["input"]["bias"].shape[0]), x.dtype)


def next_state(parameters, hidden, row, xp):
    """Return the state (batch, hidden) that follows a state and a row (batch, features)."""
    from_input = row @ parameters["input"]["kernel"] + parameters["input"]["bias"]
    return xp.tanh(from_input + hidden @ parameters["recurrent"]["kernel"])


class Unrolled(Recurrence):
    """The compiler sees all steps at once, and its program grows with the sequence."""

    TITLE, ORDER, FORM_OF = "RNN, unrolled", 410, "scan_rnn"
    DEVICE_LOOP = False

    def in_jax(self, sizes, jax, parameters, x):
        jnp = jax.numpy
        return jnp.stack(states(parameters, x, x, jnp))

    def in_tensorflow(self, sizes, tf, parameters, x):
        # A loop over the tensor itself would be converted to tf.while_loop.
        return tf.stack(states(parameters, x, tf.unstack(x), tf))

    def in_torch(self, sizes, torch):
        def states(hidden, x, next_state, weights):
            result = []
            for row in x:
                hidden = next_state(hidden, row, *weights)
                result.append(hidden)
            return torch.stack(result)

        return self.module_in_torch(sizes, torch, states)


def states(parameters, x, rows, xp):
    """Return every hidden state; rows: those of x."""
    hidden, result = start(parameters, x, xp), []
    for row in rows:
        hidden = next_state(parameters, hidden, row, xp)
        result.append(hidden)
    return result


WORKLOADS = {"scan_rnn": Recurrence(), "unrolled_rnn": Unrolled()}
