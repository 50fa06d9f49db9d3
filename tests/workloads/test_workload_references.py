"""The float64 references against slow, literal code."""

import math

import numpy as np
import pytest

from stackwars.measure import workloads
from workloads.presets import SEED, SMALL, expected, weights


def computed(name):
    """Weights, inputs and output of the reference, in float64."""
    (output,), _ = expected(name)
    assert output.dtype == np.float64
    return weights(name), workloads.load(name).inputs(SMALL[name], SEED), output


def test_gemm():
    _, inputs, output = computed("gemm")
    left, right = inputs["left"].astype(float), inputs["right"].astype(float)
    assert math.isclose(output[3, 5], sum(left[3, k] * right[k, 5] for k in range(32)))


def test_ffn_uses_the_exact_gelu():
    w, inputs, output = computed("ffn")
    hidden = w["up.weight"].astype(float) @ inputs["x"][1, 2] + w["up.bias"]
    hidden = [h * (1 + math.erf(h / math.sqrt(2))) / 2 for h in hidden]
    expected = w["down.weight"].astype(float) @ hidden + w["down.bias"]
    np.testing.assert_allclose(output[1, 2], expected)


def test_ffn_relu():
    w, inputs, output = computed("ffn_relu")
    hidden = w["up.weight"].astype(float) @ inputs["x"][1, 2] + w["up.bias"]
    expected = w["down.weight"].astype(float) @ hidden.clip(0) + w["down.bias"]
    np.testing.assert_allclose(output[1, 2], expected)


def test_layernorm():
    w, inputs, output = computed("layernorm")
    row = inputs["x"][1, 3].astype(float)
    expected = (row - row.mean()) / math.sqrt(row.var() + 1e-5)
    expected = expected * w["norm.weight"] + w["norm.bias"]
    np.testing.assert_allclose(output[1, 3], expected)


def test_conv_inside_and_in_a_corner():
    w, inputs, output = computed("conv")
    kernel, x = w["conv.weight"].astype(float), inputs["x"].astype(float)
    np.testing.assert_allclose(output[1, 2, 3, 4], (kernel[2] * x[1, :, 2:5, 3:6]).sum())
    np.testing.assert_allclose(output[1, 2, 0, 0], (kernel[2, :, 1:, 1:] * x[1, :, :2, :2]).sum())


def test_two_matmuls():
    w, inputs, output = computed("two_matmuls")
    x = inputs["x"][3].astype(float)
    hidden = [max(0.0, x @ column) for column in w["a"].astype(float).T]
    np.testing.assert_allclose(output[3], hidden @ w["b"].astype(float))


def test_elementwise_chain_term_by_term():
    _, inputs, output = computed("elementwise_chain")
    assert output.shape == ()
    terms = [math.tanh(0.1 * x + 1.7) / (1 + math.exp(-x)) + math.exp(-x * x) for x in inputs["x"].tolist()]
    assert math.isclose(output, math.fsum(terms), rel_tol=1e-12)


def test_mlp_postnorm_position_by_position():
    w, inputs, output = computed("mlp_postnorm")
    w = {name: value.astype(float) for name, value in w.items()}
    x = inputs["x"][1, 3].astype(float)
    hidden = x @ w["up.weight"] + w["up.bias"]
    hidden = [h / (1 + math.exp(-2 * math.sqrt(2 / math.pi) * (h + 0.044715 * h**3))) for h in hidden]
    row = x + hidden @ w["down.weight"] + w["down.bias"]
    expected = (row - row.mean()) / math.sqrt(row.var() + 1e-5)
    expected = expected * w["norm.weight"] + w["norm.bias"]
    np.testing.assert_allclose(output[1, 3], expected)


def loss_of_an_example(w, x, label):
    w = {name: value.astype(float) for name, value in w.items()}
    hidden = w["up.weight"] @ x + w["up.bias"]
    hidden = [h / (1 + math.exp(-2 * math.sqrt(2 / math.pi) * (h + 0.044715 * h**3))) for h in hidden]
    logits = w["down.weight"] @ hidden + w["down.bias"]
    return math.log(sum(math.exp(logit) for logit in logits)) - logits[label]


@pytest.mark.parametrize("name", ["per_example_grad", "per_example_loop"])
def test_gradients_are_how_the_loss_changes_with_a_weight(name):
    w, inputs, output = computed(name)
    w = {key: value.astype(float) for key, value in w.items()}
    example, step, start = 2, 1e-6, 0
    x, label = inputs["x"][example].astype(float), inputs["labels"][example]
    for value in w.values():
        flat = value.reshape(-1)
        for place in (0, flat.size // 3, flat.size - 1):
            middle, losses = flat[place], []
            for moved in (middle + step, middle - step):
                flat[place] = moved
                losses.append(loss_of_an_example(w, x, label))
            flat[place] = middle
            slope = (losses[0] - losses[1]) / (2 * step)
            np.testing.assert_allclose(output[example, start + place], slope, atol=1e-8)
        start += flat.size
    assert output.shape == (len(inputs["x"]), start)


@pytest.mark.parametrize("name", ["moe", "moe_sorted"])
def test_mixture_of_the_two_best_experts_of_a_token(name):
    w, inputs, output = computed(name)
    x = inputs["x"][3].astype(float)
    logits = w["router.weight"].astype(float) @ x
    second, first = sorted(range(8), key=lambda expert: logits[expert])[-2:]
    gate = 1 / (1 + math.exp(logits[second] - logits[first]))
    up, down = (np.split(w[name].astype(float), 8) for name in ("up", "down"))
    outputs = [(x @ up[expert]).clip(0) @ down[expert] for expert in (first, second)]
    np.testing.assert_allclose(output[3], gate * outputs[0] + (1 - gate) * outputs[1])


@pytest.mark.parametrize(
    ("name", "position", "seen"),
    [
        ("mha", 3, slice(None)),
        # The window of 4 is not full at 0 and 2.
        *(("attention_window", place, slice(max(0, place - 3), place + 1)) for place in (0, 2, 3, 9, 15)),
    ],
)
def test_attention_position_by_position(name, position, seen):
    w, inputs, output = computed(name)
    heads, x = SMALL[name]["heads"], inputs["x"][1].astype(float)
    q, k, v = np.split(w["qkv.weight"].astype(float), 3)
    bias_q, bias_k, bias_v = np.split(w["qkv.bias"].astype(float), 3)
    size, mixed = len(q) // heads, []
    for head in range(heads):
        part = slice(size * head, size * head + size)
        query = q[part] @ x[position] + bias_q[part]
        scores = [query @ (k[part] @ row + bias_k[part]) / math.sqrt(size) for row in x[seen]]
        scores = np.exp(scores)
        rows = (v[part] @ row + bias_v[part] for row in x[seen])
        mixed.extend(sum(s * row for s, row in zip(scores, rows, strict=True)) / scores.sum())
    expected = w["out.weight"].astype(float) @ mixed + w["out.bias"]
    np.testing.assert_allclose(output[1, position], expected)


def test_attention_blocked_is_the_function_of_attention_window():
    np.testing.assert_allclose(computed("attention_blocked")[2], computed("attention_window")[2])


def test_newton_solves_the_systems_up_to_its_tolerance():
    _, inputs, output = computed("newton")
    exact = np.linalg.solve(inputs["a"].astype(float), inputs["b"].astype(float))
    assert 0 < np.linalg.norm(output - exact) / np.linalg.norm(exact) < 1e-3 * 16
    np.testing.assert_array_equal(computed("newton_readback")[2], output)


def test_rnn_step_by_step():
    w, inputs, output = computed("scan_rnn")
    w = {name: value.astype(float) for name, value in w.items()}
    hidden = [0.0] * 16
    for step, row in enumerate(inputs["x"][:, 1].astype(float)):
        before = [w["recurrent.weight"][i] @ hidden for i in range(16)]
        hidden = [math.tanh(w["input.weight"][i] @ row + w["input.bias"][i] + before[i]) for i in range(16)]
        np.testing.assert_allclose(output[step, 1], hidden)
    np.testing.assert_array_equal(computed("unrolled_rnn")[2], output)
