"""An Elman recurrence over a sequence, as a loop: h <- tanh(x_t W + h U + b), from h = 0 (Elman, 1990).

Both products are in the step, for the loop is what is measured; a compiler may move x_t W out of it. The
output is every hidden state. `unrolled_rnn` computes the same by a loop in Python, which tracing unrolls.

The recurrent weight is drawn with half the standard deviation of any other matrix (values.RECURRENT_FACTOR):
its spectral radius is about 1/2, and its largest singular value about 1, so that a rounding error of one step
dies out in the steps that follow, however many they are.
"""

import numpy as np

from stackwars.workloads import counts, shapes, values

TITLE, TABLE, KIND, ITEM, ORDER = "RNN, scan", "beyond", "basic", "steps", 400
SIZES = {
    "sequence": "steps of the recurrence",
    "batch": "sequences in a call",
    "features": "width of the input",
    "hidden": "width of the hidden state, and of the output",
}


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """x (sequence, batch, features), float32."""
    shape = (sizes["sequence"], sizes["batch"], sizes["features"])
    return {"x": values.activations("x", shape, seed)}


def items(sizes: dict[str, int]) -> int:
    """Steps of the recurrence."""
    return sizes["sequence"]


def parameters(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights, in torch's layout."""
    hidden = sizes["hidden"]
    recurrent = shapes.linear("recurrent", hidden, hidden, bias=False)
    return shapes.linear("input", sizes["features"], hidden) | recurrent


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of both products of every step; a multiply-add is two."""
    inner = sizes["features"] + sizes["hidden"]
    return sizes["sequence"] * counts.matmul(sizes["batch"], inner, sizes["hidden"])


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of weights, input and output, each once."""
    width = sizes["features"] + sizes["hidden"]
    return 4 * (parameter_count(sizes) + sizes["sequence"] * sizes["batch"] * width)


def reference(weights: dict[str, np.ndarray], inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The output (sequence, batch, hidden) in float64."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    states = []
    hidden = np.zeros(len(w["input.bias"]))
    for row in inputs["x"].astype(np.float64):
        from_input = row @ w["input.weight"].T + w["input.bias"]
        hidden = np.tanh(from_input + hidden @ w["recurrent.weight"].T)
        states.append(hidden)
    return np.stack(states)
