"""A torch module whose parameters are inputs, with a constant of its own; no reference in NumPy."""

NAMES = {"0.weight": "w", "0.bias": "b"}


def inputs(rows=4, width=8, out=6):
    return {"x": (rows, width), "w": (out, width), "b": (out,)}


def jax(x, w, b):
    import jax

    return 2 * jax.nn.gelu(x @ w.T + b, approximate=False)


def torch_module(width, out):
    import torch

    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("two", torch.full((out,), 2.0))

        def forward(self, x):
            return x * self.two

    return torch.nn.Sequential(torch.nn.Linear(width, out), torch.nn.GELU(), Twice())
