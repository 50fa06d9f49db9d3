"""jax-ml/jax 23783: transposed convolution of one axis."""


def inputs(batch=1, channels=32, length=256, kernel=128):
    return {"x": (batch, channels, length), "w": (channels, channels, kernel)}


def jax(x, w):
    from jax import lax

    edges, axes = [(w.shape[2] - 1, w.shape[2] - 1)], ("NCH", "IOH", "NCH")
    return lax.conv_general_dilated(x, w[:, :, ::-1], (1,), edges, lhs_dilation=(32,), dimension_numbers=axes)


def torch(x, w):
    import torch

    return torch.nn.functional.conv_transpose1d(x, w, stride=32)
