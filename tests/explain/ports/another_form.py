"""A control: one computation, written in two forms."""

KIND = None


def inputs(rows=32, width=64):
    return {"x": (rows, width), "scale": (width,), "w": (width, width)}


def jax(x, scale, w):
    from jax import lax, nn

    mean = x.mean(1, keepdims=True)
    y = (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(1, keepdims=True) + 1e-3) * scale
    return nn.gelu(y @ w, approximate=True)


def torch(x, scale, w):
    from torch.nn.functional import gelu, layer_norm

    return gelu(layer_norm(x, scale.shape, scale, eps=1e-3) @ w, approximate="tanh")
