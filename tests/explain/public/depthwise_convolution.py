"""pytorch/pytorch 157334: depthwise convolution."""


def inputs(batch=4, channels=64, side=62, kernel=3):
    return {"x": (batch, channels, side, side), "w": (channels, 1, kernel, kernel)}


def jax(x, w):
    from jax import lax

    groups = x.shape[1]
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=groups)


def torch(x, w):
    import torch

    return torch.nn.functional.conv2d(x, w, padding=1, groups=x.shape[1])
