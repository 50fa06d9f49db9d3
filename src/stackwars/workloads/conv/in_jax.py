"""The 3x3 convolution in JAX."""

import jax

from stackwars.workloads import fill_tree
from stackwars.workloads.conv import parameters as shapes


def build(sizes, seed, put):
    """Parameters on the device, and the function of them and x."""
    return fill_tree.tree(shapes(sizes), seed, put), function


def function(parameters, x):
    """(batch, channels_in, height, width) to (batch, channels_out, height, width)."""
    return jax.lax.conv_general_dilated(
        x,
        parameters["conv"]["weight"],
        window_strides=(1, 1),
        padding=((1, 1), (1, 1)),
        dimension_numbers=("NCHW", "OIHW", "NCHW"),
    )
