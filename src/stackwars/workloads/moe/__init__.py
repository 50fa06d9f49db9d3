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

from stackwars.workloads import counts, shapes, values

TITLE, TABLE, KIND, ITEM, ORDER = "Mixture of experts", "beyond", "basic", "tokens", 340
SIZES = {
    "tokens": "tokens in a call",
    "features": "width of input and output",
    "hidden": "width between an expert's two products",
    "experts": "number of experts",
    "chosen": "experts that the router chooses for a token",
}


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """x (tokens, features), float32."""
    return {"x": values.activations("x", (sizes["tokens"], sizes["features"]), seed)}


def items(sizes: dict[str, int]) -> int:
    """Tokens in a call."""
    return sizes["tokens"]


def parameters(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights: the router's in torch's layout, the experts' (inputs, outputs).

    The experts' matrices are stacked along their rows, as one matrix: a form views them as three axes,
    (experts, inputs, outputs), which moves nothing.
    """
    features, hidden, experts = sizes["features"], sizes["hidden"], sizes["experts"]
    return {
        **shapes.linear("router", features, experts, bias=False),
        "up": (experts * features, hidden),
        "down": (experts * hidden, features),
    }


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of the router and of all experts on all tokens; a multiply-add is two."""
    return router_flops(sizes) + sizes["experts"] * expert_flops(sizes, sizes["tokens"])


def router_flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of the router."""
    return counts.matmul(sizes["tokens"], sizes["features"], sizes["experts"])


def expert_flops(sizes: dict[str, int], tokens: int) -> int:
    """Floating-point operations of one expert on so many tokens."""
    return 2 * counts.matmul(tokens, sizes["features"], sizes["hidden"])


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of weights, input and output, each once; all experts are needed, by one token or another."""
    return 4 * (parameter_count(sizes) + 2 * sizes["tokens"] * sizes["features"])


def reference(weights: dict[str, np.ndarray], inputs: dict[str, np.ndarray], chosen: int = 2) -> np.ndarray:
    """The output (tokens, features) in float64, token by token."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    x, experts = inputs["x"].astype(np.float64), len(w["router.weight"])
    up, down = (w[name].reshape(experts, -1, w[name].shape[1]) for name in ("up", "down"))
    logits = x @ w["router.weight"].T
    output = np.zeros_like(x)
    for token, row in enumerate(x):
        best = np.argsort(logits[token])[-chosen:]
        gates = np.exp(logits[token, best] - logits[token].max())
        for gate, expert in zip(gates / gates.sum(), best, strict=True):
            output[token] += gate * (np.maximum(row @ up[expert], 0) @ down[expert])
    return output
