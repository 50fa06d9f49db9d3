"""The recurrence of `scan_rnn` by a loop in Python, which tracing unrolls: a program with every step in it.

Sizes, inputs, weights, counts and the form in NumPy are those of `scan_rnn`. The compiler sees all
steps at once, and its program grows with the sequence.
"""

from stackwars.measure.workloads.scan_rnn import Recurrence, next_state, start


class Unrolled(Recurrence):
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


WORKLOAD = Unrolled()
