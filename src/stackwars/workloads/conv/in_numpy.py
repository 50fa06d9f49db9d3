"""The 3x3 convolution in NumPy: windows of the padded image, and one matrix product with the weights."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from stackwars.workloads import fill_tree
from stackwars.workloads.conv import parameters as shapes


def build(sizes, seed, put):
    """Parameters, and the function of them and x."""
    return fill_tree.tree(shapes(sizes), seed, put), function


def function(parameters, x):
    """(batch, channels_in, height, width) to (batch, channels_out, height, width)."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = sliding_window_view(padded, (3, 3), axis=(2, 3))
    output = np.tensordot(windows, parameters["conv"]["weight"], axes=((1, 4, 5), (1, 2, 3)))
    return output.transpose(0, 3, 1, 2)
