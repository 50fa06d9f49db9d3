"""The 3x3 convolution in TensorFlow, whose kernels are HWIO: it is turned once, when it is made."""

import tensorflow as tf

from stackwars.workloads import values
from stackwars.workloads.conv import parameters as shapes

NAME = "conv.weight"
TORCH_TO_HWIO = (2, 3, 1, 0)


def build(sizes, seed, put):
    """The kernel, and the function of it and x."""
    return put(values.leaf(NAME, shapes(sizes)[NAME], seed).transpose(TORCH_TO_HWIO)), function


def function(kernel, x):
    """(batch, channels_in, height, width) to (batch, channels_out, height, width)."""
    return tf.nn.conv2d(x, kernel, strides=1, padding="SAME", data_format="NCHW")
