"""iree-org/iree 13467: batch normalisation for inference."""


def inputs(batch=8, channels=64, side=28):
    return {
        "x": (batch, channels, side, side),
        "mean": (channels,),
        "scale": (channels,),
        "offset": (channels,),
    }


def jax(x, mean, scale, offset):
    mean, scale, offset = (one[:, None, None] for one in (mean, scale, offset))
    return (x - mean) / (scale**2 + 1e-3) ** 0.5 * scale + offset


def torch(x, mean, scale, offset):
    import torch

    return torch.nn.functional.batch_norm(x, mean, scale**2, scale, offset, eps=1e-3)
