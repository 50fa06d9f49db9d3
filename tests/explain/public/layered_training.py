"""pytorch/xla 8824: a training step of a deep network; the time to compile grows with the layers."""

TITLE = "a training step of many layers"


def inputs(layers=128, width=16, batch=8):
    return {"x": (batch, width), "w": (layers, width, width)}


def jax(x, w):
    from jax import grad, numpy

    def loss(w):
        y = x
        for layer in range(w.shape[0]):
            y = y + 0.1 * numpy.tanh(0.1 * y @ w[layer])
        return (y**2).mean()

    return w - 0.01 * grad(loss)(w)


def torch(x, w):
    import torch

    with torch.enable_grad():
        w = w.detach().requires_grad_()
        y = x
        for layer in range(w.shape[0]):
            y = y + 0.1 * torch.tanh(0.1 * y @ w[layer])
        (gradient,) = torch.autograd.grad((y**2).mean(), w)
    return (w - 0.01 * gradient).detach()
