"""A mixture of experts that computes every expert for every token, and weights it by its gate or by 0.

A router chooses two of eight experts for each token; the gates are the softmax over the chosen logits, as in
Shazeer et al., 2017, section 2.1, without the noise. An expert is two products with ReLU between them. In this
form nothing depends on what was chosen but factors of 0, so every shape is known before the call, at the price
of experts / chosen times the operations of `moe_sorted`, which computes the same function.

**Margin.** Which experts are chosen is a decision that rounding could turn, where the last logit that is
chosen and the first that is not are close. Logits have a standard deviation of 1, and the smallest gap of 512
tokens is about 1e-5 to 1e-4, where float32 errs by 2e-6 at most. A test demands that the gaps of all sizes
here, with the seeds of the study and the tests, are at least 5 times the error of the logits in float32. With
another seed the choice of some token can turn, and the output is then off by percents of that token, not by
rounding.
"""

import numpy as np

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.base import ARRAY_DIALECTS, Workload, float64


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

    def further(self, sizes, seed):
        return {"chosen": sizes["chosen"]}

    def reference(self, weights, inputs, chosen):
        """Token by token."""
        w, x = float64(weights), float64(inputs)["x"]
        up, down = stacked(w, np)
        logits = x @ w["router.weight"].T
        output = np.zeros_like(x)
        for token, row in enumerate(x):
            best = np.argsort(logits[token])[-chosen:]
            gates = np.exp(logits[token, best] - logits[token].max())
            for gate, expert in zip(gates / gates.sum(), best, strict=True):
                output[token] += gate * (np.maximum(row @ up[expert], 0) @ down[expert])
        return output

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
        weights = np.zeros((len(x), len(up)), np.float32)
        np.put_along_axis(weights, experts, gates, axis=1)
        return np.einsum("etf,te->tf", np.maximum(x @ up, 0) @ down, weights)

    def in_torch(self, sizes, torch):
        nn = torch.nn
        mixed = self.mixed_in_torch(torch)

        class Mixture(nn.Module):
            def __init__(self, features, hidden, experts, chosen):
                super().__init__()
                self.experts, self.chosen = experts, chosen
                self.router = nn.Linear(features, experts, bias=False)
                self.up = nn.Parameter(torch.empty(experts * features, hidden))
                self.down = nn.Parameter(torch.empty(experts * hidden, features))

            def forward(self, x):
                return mixed(x, *self.route(x), *self.stacked())

            def route(self, x):
                """Gates and experts of each token, both (tokens, chosen)."""
                logits, experts = torch.topk(self.router(x), self.chosen, dim=-1)
                return torch.softmax(logits, dim=-1), experts

            def stacked(self):
                shape = (self.experts, -1)
                return self.up.unflatten(0, shape), self.down.unflatten(0, shape)

        return Mixture(*(sizes[name] for name in ("features", "hidden", "experts", "chosen")))

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
    logits = np.take_along_axis(logits, experts, axis=-1)
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True), experts


def stacked(parameters, xp):
    """Return the experts' matrices: (experts, features, hidden) and (experts, hidden, features)."""
    experts = parameters["router.weight"].shape[0]
    up, down = parameters["up"], parameters["down"]
    return (
        xp.reshape(up, (experts, -1, up.shape[1])),
        xp.reshape(down, (experts, -1, down.shape[1])),
    )


WORKLOAD = Mixture()
