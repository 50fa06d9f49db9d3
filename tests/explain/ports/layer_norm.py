"""huggingface/transformers 15332: layer normalisation with a default epsilon, Flax's 1e-6 or PyTorch's 1e-5."""

KIND = "epsilon"


def inputs(rows=64, width=96):
    return {"x": (rows, width), "scale": (width,), "offset": (width,)}


def jax(x, scale, offset):
    from flax import linen

    return linen.LayerNorm().apply({"params": {"scale": scale, "bias": offset}}, 0.01 * x)


def torch(x, scale, offset):
    from torch.nn.functional import layer_norm

    return layer_norm(0.01 * x, scale.shape, scale, offset)
