"""A 3x3 convolution with padding 1 and no bias; images are NCHW in every dialect."""

import numpy as np

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.base import Workload, make_module

NAME = "conv.weight"
TORCH_TO_HWIO = (2, 3, 1, 0)


class Conv(Workload):
    """The kernel is OIHW; in TensorFlow, whose kernels are HWIO, it is transposed once, when placed."""

    TITLE, TABLE, ORDER = "Conv 3x3", "I", 60
    SIZES = {
        "batch": "images in a call",
        "height": "rows of an image",
        "width": "columns of an image",
        "channels_in": "channels of the input",
        "channels_out": "channels of the output",
    }
    INPUTS = {"x": ("batch", "channels_in", "height", "width")}
    OUTPUT = ("batch", "channels_out", "height", "width")

    def parameters(self, sizes):
        return {NAME: (sizes["channels_out"], sizes["channels_in"], 3, 3)}

    def flops(self, sizes):
        pixels = sizes["batch"] * sizes["height"] * sizes["width"]
        return counts.convolution(pixels, 3, sizes["channels_in"], sizes["channels_out"])

    def arranged(self, dialect, leaves, put):
        if dialect != "tensorflow":
            return super().arranged(dialect, leaves, put)
        return put(dict(leaves)[NAME].transpose(TORCH_TO_HWIO))

    def in_jax(self, sizes, jax, parameters, x):
        return jax.lax.conv_general_dilated(
            x,
            parameters["conv"]["weight"],
            window_strides=(1, 1),
            padding=((1, 1), (1, 1)),
            dimension_numbers=("NCHW", "OIHW", "NCHW"),
        )

    def in_tensorflow(self, sizes, tf, kernel, x):
        return tf.nn.conv2d(x, kernel, strides=1, padding="SAME", data_format="NCHW")

    def in_numpy(self, sizes, parameters, x):
        """Windows of the padded image, and one matrix product with the weights."""
        from numpy.lib.stride_tricks import sliding_window_view

        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = sliding_window_view(padded, (3, 3), axis=(2, 3))
        kernel = parameters["conv"]["weight"]
        output = np.tensordot(windows, kernel, axes=((1, 4, 5), (1, 2, 3)))
        return output.transpose(0, 3, 1, 2)

    def in_torch(self, sizes, torch):
        conv = torch.nn.Conv2d(sizes["channels_in"], sizes["channels_out"], 3, padding=1, bias=False)
        return make_module(torch, lambda self, x: self.conv(x), conv=conv)


WORKLOAD = Conv()
