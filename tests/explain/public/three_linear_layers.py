"""pytorch/xla 7103: three linear layers."""


def inputs(rows=160, first=1280, second=960, third=128, last=16):
    sizes = (first, second, third, last)
    return {"x": (rows, first)} | {f"w{n}": (sizes[n + 1], sizes[n]) for n in range(3)}


def jax(x, w0, w1, w2):
    return x @ w0.T @ w1.T @ w2.T


def torch(x, w0, w1, w2):
    from torch.nn.functional import linear

    return linear(linear(linear(x, w0), w1), w2)
