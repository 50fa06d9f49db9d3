"""A mixture of experts, computed for every token by every expert (`moe`) or by the chosen ones (`moe_sorted`).

A router chooses two of eight experts for each token; the gates are the softmax over the chosen logits, as in
Shazeer et al., 2017, section 2.1, without the noise. An expert is two products with ReLU between them.

**Margin.** Rounding could change which experts are chosen if the last logit that is
chosen and the first that is not are close. Logits have a standard deviation of 1, and the smallest gap of 512
tokens is about 1e-5 to 1e-4, where float32 errs by 2e-6 at most. A test demands that the gaps of all sizes
here, with the seeds of the study and the tests, are at least 5 times the error of the logits in float32. With
another seed the choice of some token can turn, and the output is then off by percents of that token, not by
rounding.
"""

import numpy as np

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.base import ARRAY_DIALECTS, Workload, make_module, softmax


class Mixture(Workload):
    """Every expert computes every token, and its output is weighted by its gate or by 0.

    Nothing depends on what was chosen but factors of 0, so every shape is known before the call, at the price of
    experts / chosen times the operations of `moe_sorted`, which computes the same function.
    """

    TITLE, TABLE, ORDER = "Mixture of experts", "beyond", 340
    SIZES = {
        "tokens": "tokens in a call",
        "features": "width of input and output",
        "hidden": "width between an expert's two products",
        "experts": "number of experts",
        "chosen": "experts that the router chooses for a token",
    }
    INPUTS = {"x": ("tokens", "features")}
    FLAT = ARRAY_DIALECTS

    def parameters(self, sizes):
        """Return the shapes: the router's is in torch's layout, the experts' are (inputs, outputs).

        The experts' matrices are stacked along their rows, as one matrix: a form views them as three axes,
        (experts, inputs, outputs), which moves nothing.
        """
        features, hidden, experts = sizes["features"], sizes["hidden"], sizes["experts"]
        return {
            **counts.linear("router", features, experts, bias=False),
            "up": (experts * features, hidden),
            "down": (experts * hidden, features),
        }

    def flops(self, sizes):
        return self.flops_of_rows(sizes, sizes["experts"] * sizes["tokens"])

    def flops_of_rows(self, sizes, rows):
        """Return the operations of the router, and of so many tokens in one expert each."""
        features = sizes["features"]
        router = counts.matmul(sizes["tokens"], features, sizes["experts"])
        return router + 2 * counts.matmul(rows, features, sizes["hidden"])

    def in_arrays(self, sizes, xp, parameters, x):
        logits = xp.linear(x, parameters["router.weight"])
        logits, experts = xp.top_k(logits, sizes["chosen"])
        gates = xp.softmax(logits, axis=-1)
        up, down = stacked(parameters, xp)
        weights = xp.einsum("tk,tke->te", gates, xp.one_hot(experts, up.shape[0]))
        hidden = xp.relu(xp.einsum("tf,efh->eth", x, up))
        outputs = xp.einsum("eth,ehf->etf", hidden, down)
        return xp.einsum("etf,te->tf", outputs, weights)

    def in_numpy(self, sizes, parameters, x):
        gates, experts = route_in_numpy(parameters, x, sizes["chosen"])
        up, down = stacked(parameters, np)
        weights = np.zeros((len(x), len(up)), gates.dtype)
        np.put_along_axis(weights, experts, gates, axis=1)
        return np.einsum("etf,te->tf", np.maximum(x @ up, 0) @ down, weights)

    def in_torch(self, sizes, torch):
        mixed, shape, chosen = self.mixed_in_torch(torch), (sizes["experts"], -1), sizes["chosen"]

        def forward(self, x):
            logits, experts = torch.topk(self.router(x), chosen, dim=-1)
            gates = torch.softmax(logits, dim=-1)
            return mixed(x, gates, experts, self.up.unflatten(0, shape), self.down.unflatten(0, shape))

        shapes = self.parameters(sizes)
        return make_module(
            torch,
            forward,
            router=torch.nn.Linear(sizes["features"], sizes["experts"], bias=False),
            **{name: torch.nn.Parameter(torch.empty(shapes[name])) for name in ("up", "down")},
        )

    def mixed_in_torch(self, torch):
        """Return the function of x, gates, experts, and the experts' matrices that gives the output."""
        functional = torch.nn.functional

        def mixed(x, gates, experts, up, down):
            weights = gates.new_zeros(len(x), len(up)).scatter(1, experts, gates)
            hidden = functional.relu(torch.einsum("tf,efh->eth", x, up))
            outputs = torch.einsum("eth,ehf->etf", hidden, down)
            return torch.einsum("etf,te->tf", outputs, weights)

        return mixed


def route_in_numpy(parameters, x, chosen):
    """Return gates and experts of each token, both (tokens, chosen)."""
    logits = x @ parameters["router.weight"].T
    experts = np.argpartition(logits, -chosen, axis=-1)[:, -chosen:]
    return softmax(np.take_along_axis(logits, experts, axis=-1), axis=-1), experts


def stacked(parameters, xp):
    """Return the experts' matrices: (experts, features, hidden) and (experts, hidden, features)."""
    experts = parameters["router.weight"].shape[0]
    up, down = parameters["up"], parameters["down"]
    return (
        xp.reshape(up, (experts, -1, up.shape[1])),
        xp.reshape(down, (experts, -1, down.shape[1])),
    )


class Sorted(Mixture):
    """Each expert computes its own tokens and no others.

    How many tokens an expert has is known only when the router has chosen: shapes depend on values, unless tokens
    are sorted by their experts, so that one array of a known shape has all experts' tokens one after the other.
    Each dialect does what its users do: JAX sorts and has a product whose groups of rows have their own matrices
    (`ragged_dot`), torch and NumPy loop over the experts and pick their rows. Where shapes have to be known
    before a call, a compiler that cannot sort its way out refuses this or compiles again for every new number of
    tokens.

    On a CPU, JAX 0.7.1 has no such product: it turns `ragged_dot` into one of every row with every expert's matrix,
    in which other experts' rows are 0. Only the operations of the tokens' own experts are counted here. JAX's
    program has experts times as many, which is chosen times those of `moe`.
    """

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


WORKLOADS = {"moe": Mixture(), "moe_sorted": Sorted()}
