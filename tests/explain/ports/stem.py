"""google/flax 2993 and 963: the first convolution of ResNet with Flax's padding SAME, where PyTorch's is 3."""

KIND = "padding"


def inputs(batch=2, side=32, features=16):
    return {"x": (batch, 3, side, side), "w": (features, 3, 7, 7)}


def jax(x, w):
    from flax import linen

    stem = linen.Conv(len(w), (7, 7), strides=2, padding="SAME", use_bias=False)
    y = stem.apply({"params": {"kernel": w.transpose(2, 3, 1, 0)}}, x.transpose(0, 2, 3, 1))
    return linen.relu(y).transpose(0, 3, 1, 2)


def torch(x, w):
    from torch.nn.functional import conv2d

    return conv2d(x, w, stride=2, padding=3).relu()
