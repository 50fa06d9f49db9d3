"""huggingface/transformers 11364: a feed-forward network with GELU by tanh, where torch.nn.GELU is the one by erf."""

KIND = "form of GELU"
NAMES = {"0.weight": "up", "0.bias": "up_bias", "2.weight": "down", "2.bias": "down_bias"}


def inputs(rows=32, width=48, hidden=96):
    return {
        "x": (rows, width),
        "up": (hidden, width),
        "up_bias": (hidden,),
        "down": (width, hidden),
        "down_bias": (width,),
    }


def jax(x, up, up_bias, down, down_bias):
    from flax import linen

    dense = (linen.Dense(len(up)), linen.Dense(len(down)))
    y = linen.gelu(dense[0].apply({"params": {"kernel": up.T, "bias": up_bias}}, x))
    return dense[1].apply({"params": {"kernel": down.T, "bias": down_bias}}, y)


def torch_module(width, hidden):
    from torch import nn

    return nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))
