"""Loops that stay loops in torch.

PyTorch's own (`torch._higher_order_ops`) are prototypes. They run in eager PyTorch and in TorchInductor;
torch_xla and torchax need loops of their own. So each of these asks where its tensors are.
"""

import torch
from torch._higher_order_ops.scan import scan as torch_scan
from torch._higher_order_ops.while_loop import while_loop as torch_while_loop


def while_loop(condition, step, state):
    """`state` after as many steps as `condition(*state)`, a boolean scalar, is true; both take the state's
    tensors.

    Not on torch_xla's devices, whose form of it is not to be trusted (newton/loop_torch_xla.py).
    """
    kind = state[0].device.type
    if kind == "jax":
        import jax
        from torchax.interop import call_jax

        return call_jax(
            jax.lax.while_loop,
            lambda carried: condition(*carried),
            lambda carried: step(*carried),
            state,
        )
    return torch_while_loop(condition, step, state)


def scan(step, start, sequence, weights):
    """(last state, outputs) of `step(state, row, weights)`, which gives the next state and an output.

    row: of `sequence`, over its first axis. weights: a tuple of tensors that every step has.
    """

    def with_weights(state, row):
        return step(state, row, weights)

    kind = start.device.type
    if kind == "jax":
        import jax
        from torchax.interop import call_jax

        return call_jax(jax.lax.scan, with_weights, start, sequence)
    if kind == "xla" and not torch.compiler.is_compiling():
        from torch_xla.experimental.scan import scan as xla_scan

        def carried(carry, row):
            state, output = step(carry[0], row, carry[1])
            return (state, carry[1]), output

        # Its step may use no tensor but those that it is given, so the weights are part of the state.
        (last, _), outputs = xla_scan(carried, (start, weights), sequence)
        return last, outputs
    return torch_scan(with_weights, start, sequence)
