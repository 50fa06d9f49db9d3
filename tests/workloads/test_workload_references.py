"""The float64 references against slow, literal code."""

import math

import numpy as np

from stackwars import workloads
from stackwars.workloads import values
from workloads.sizes import SMALL


def computed(name):
    module, sizes = workloads.load(name), SMALL[name]
    weights = {key: values.leaf(key, s, 0) for key, s in module.parameters(sizes).items()}
    inputs = module.inputs(sizes, 0)
    output = module.reference(weights, inputs)
    assert output.dtype == np.float64
    return weights, inputs, output


def test_gemm():
    _, inputs, output = computed("gemm")
    left, right = inputs["left"].astype(float), inputs["right"].astype(float)
    assert math.isclose(output[3, 5], sum(left[3, k] * right[k, 5] for k in range(32)))


def test_ffn_uses_the_exact_gelu():
    weights, inputs, output = computed("ffn")
    hidden = weights["up.weight"].astype(float) @ inputs["x"][1, 2] + weights["up.bias"]
    hidden = [h * (1 + math.erf(h / math.sqrt(2))) / 2 for h in hidden]
    expected = weights["down.weight"].astype(float) @ hidden + weights["down.bias"]
    np.testing.assert_allclose(output[1, 2], expected)


def test_ffn_relu():
    weights, inputs, output = computed("ffn_relu")
    hidden = weights["up.weight"].astype(float) @ inputs["x"][1, 2] + weights["up.bias"]
    expected = weights["down.weight"].astype(float) @ hidden.clip(0) + weights["down.bias"]
    np.testing.assert_allclose(output[1, 2], expected)


def test_mha_position_by_position():
    weights, inputs, output = computed("mha")
    q, k, v = np.split(weights["qkv.weight"].astype(float), 3)
    bias_q, bias_k, bias_v = np.split(weights["qkv.bias"].astype(float), 3)
    x, mixed = inputs["x"][1].astype(float), []
    for head in range(12):
        part = slice(4 * head, 4 * head + 4)
        query = q[part] @ x[3] + bias_q[part]
        scores = np.exp([query @ (k[part] @ row + bias_k[part]) / 2 for row in x])
        mixed.extend(
            sum(s * (v[part] @ row + bias_v[part]) for s, row in zip(scores, x, strict=True))
            / scores.sum()
        )
    expected = weights["out.weight"].astype(float) @ mixed + weights["out.bias"]
    np.testing.assert_allclose(output[1, 3], expected)


def test_layernorm():
    weights, inputs, output = computed("layernorm")
    row = inputs["x"][1, 3].astype(float)
    expected = (row - row.mean()) / math.sqrt(row.var() + 1e-5)
    expected = expected * weights["norm.weight"] + weights["norm.bias"]
    np.testing.assert_allclose(output[1, 3], expected)


def test_conv_inside_and_in_a_corner():
    weights, inputs, output = computed("conv")
    kernel, x = weights["conv.weight"].astype(float), inputs["x"].astype(float)
    np.testing.assert_allclose(output[1, 2, 3, 4], (kernel[2] * x[1, :, 2:5, 3:6]).sum())
    np.testing.assert_allclose(output[1, 2, 0, 0], (kernel[2, :, 1:, 1:] * x[1, :, :2, :2]).sum())


def test_two_matmuls():
    weights, inputs, output = computed("two_matmuls")
    x = inputs["x"][3].astype(float)
    hidden = [max(0.0, x @ column) for column in weights["a"].astype(float).T]
    np.testing.assert_allclose(output[3], hidden @ weights["b"].astype(float))


def test_elementwise_chain_term_by_term():
    _, inputs, output = computed("elementwise_chain")
    assert output.shape == ()
    terms = [
        math.tanh(0.1 * x + 1.7) / (1 + math.exp(-x)) + math.exp(-x * x)
        for x in inputs["x"].tolist()
    ]
    assert math.isclose(output, math.fsum(terms), rel_tol=1e-12)


def test_mlp_postnorm_position_by_position():
    weights, inputs, output = computed("mlp_postnorm")
    w = {name: value.astype(float) for name, value in weights.items()}
    x = inputs["x"][1, 3].astype(float)
    hidden = x @ w["up.weight"] + w["up.bias"]
    hidden = [
        h / (1 + math.exp(-2 * math.sqrt(2 / math.pi) * (h + 0.044715 * h**3))) for h in hidden
    ]
    row = x + hidden @ w["down.weight"] + w["down.bias"]
    expected = (row - row.mean()) / math.sqrt(row.var() + 1e-5)
    expected = expected * w["norm.weight"] + w["norm.bias"]
    np.testing.assert_allclose(output[1, 3], expected)
