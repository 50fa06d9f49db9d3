"""jax-ml/jax 31662: transposed convolution of three axes."""


def inputs(channels=16, depth=16, width=16, kernel=3):
    return {"x": (1, channels, depth, width, width), "w": (channels, 1, kernel, kernel, kernel)}


def jax(x, w):
    from jax import lax

    edges, axes = [(1, 2)] * 3, ("NCDHW", "IODHW", "NCDHW")
    flipped = w[:, :, ::-1, ::-1, ::-1]
    return lax.conv_general_dilated(x, flipped, (1,) * 3, edges, lhs_dilation=(2,) * 3, dimension_numbers=axes)


def torch(x, w):
    import torch

    return torch.nn.functional.conv_transpose3d(x, w, stride=2, padding=1, output_padding=1)
