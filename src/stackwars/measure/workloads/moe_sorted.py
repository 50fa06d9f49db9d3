"""The mixture of experts of `moe`, in which each expert computes its own tokens and no others.

How many tokens an expert has is known only when the router has chosen: shapes depend on values, unless tokens
are sorted by their experts, so that one array of a known shape has all experts' tokens one after the other.
Each dialect does what its users do: JAX sorts and has a product whose groups of rows have their own matrices
(`ragged_dot`), torch and NumPy loop over the experts and pick their rows. Where shapes have to be known
before a call, a compiler that cannot sort its way out refuses this or compiles again for every new number of
tokens.

On a CPU, JAX 0.7.1 has no such product: it turns `ragged_dot` into one of every row with every expert's matrix,
in which other experts' rows are 0. Only the operations of the tokens' own experts are counted here. JAX's
program has experts times as many, which is chosen times those of `moe`.

Sizes, inputs, weights, and the margin of the router's choice are those of `moe`.
"""

import numpy as np

from stackwars.measure.workloads.moe import Mixture, route_in_numpy, stacked


class Sorted(Mixture):
    TITLE, ORDER, FORM_OF = "Mixture of experts, sorted", 350, "moe"
    # How many tokens an expert has is the shape of what `where` returns: torch reads it back from the device.
    SIZES_FROM_VALUES = GRAPH_BREAKS = True

    def flops(self, sizes):
        return self.flops_of_rows(sizes, sizes["tokens"] * sizes["chosen"])

    def in_jax(self, sizes, jax, parameters, x):
        jnp, chosen = jax.numpy, sizes["chosen"]
        logits, experts = jax.lax.top_k(x @ parameters["router.weight"].T, chosen)
        gates = jax.nn.softmax(logits, axis=-1)
        up, down = stacked(parameters, jnp)
        order = jnp.argsort(experts.reshape(-1))  # of the tokens * chosen rows, by expert
        rows = jnp.bincount(experts.reshape(-1), length=len(up))  # of each expert
        hidden = jax.nn.relu(jax.lax.ragged_dot(x[order // chosen], up, rows))
        outputs = jax.lax.ragged_dot(hidden, down, rows)[jnp.argsort(order)]
        return jnp.einsum("tkf,tk->tf", outputs.reshape(*gates.shape, -1), gates)

    def in_tensorflow(self, sizes, tf, parameters, x):
        logits = tf.matmul(x, parameters["router.weight"], transpose_b=True)
        logits, experts = tf.math.top_k(logits, sizes["chosen"])
        gates, output = tf.nn.softmax(logits, axis=-1), tf.zeros_like(x)
        matrices = map(tf.unstack, stacked(parameters, tf))
        for expert, (up, down) in enumerate(zip(*matrices, strict=True)):
            places = tf.where(experts == expert)
            token = places[:, :1]
            hidden = tf.nn.relu(tf.gather_nd(x, token) @ up)
            gate = tf.gather_nd(gates, places)[:, None]
            output = tf.tensor_scatter_nd_add(output, token, gate * (hidden @ down))
        return output

    def in_numpy(self, sizes, parameters, x):
        gates, experts = route_in_numpy(parameters, x, sizes["chosen"])
        output = np.zeros_like(x)
        for expert, (up, down) in enumerate(zip(*stacked(parameters, np), strict=True)):
            mine = experts == expert
            token = mine.any(axis=1)
            # An expert is chosen once by a token, so no row is added to twice.
            output[token] += gates[mine][:, None] * (np.maximum(x[token] @ up, 0) @ down)
        return output

    def mixed_in_torch(self, torch):
        functional = torch.nn.functional

        def mixed(x, gates, experts, up, down):
            output = torch.zeros_like(x)
            for expert, matrices in enumerate(zip(up, down, strict=True)):
                token, place = torch.where(experts == expert)
                hidden = functional.relu(x[token] @ matrices[0])
                output.index_add_(0, token, gates[token, place, None] * (hidden @ matrices[1]))
            return output

        return mixed


WORKLOAD = Sorted()
