"""A mixture of experts that computes every expert for every token, and weights it by its gate or by 0.

A router chooses two of eight experts for each token; the gates are the softmax over the chosen logits, as in
Shazeer et al., 2017, section 2.1, without the noise. An expert is two products with ReLU between them. In this
form nothing depends on what was chosen but factors of 0, so every shape is known before the call, at the price
of experts / chosen times the operations of `moe_sorted`, which computes the same function.

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


WORKLOAD = Mixture()
