"""A 3x3 convolution with padding 1 and no bias; images NCHW, kernel OIHW in every dialect."""

import numpy as np

from stackwars.workloads import counts, values

TITLE, TABLE, KIND, ITEM, ORDER = "Conv 3x3", "I", "basic", "images", 60
SIZES = {
    "batch": "images in a call",
    "height": "rows of an image",
    "width": "columns of an image",
    "channels_in": "channels of the input",
    "channels_out": "channels of the output",
}


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """x (batch, channels_in, height, width), float32."""
    shape = (sizes["batch"], sizes["channels_in"], sizes["height"], sizes["width"])
    return {"x": values.activations("x", shape, seed)}


def items(sizes: dict[str, int]) -> int:
    """Images in a call."""
    return sizes["batch"]


def parameters(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Name and shape of the kernel."""
    return {"conv.weight": (sizes["channels_out"], sizes["channels_in"], 3, 3)}


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the kernel."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of a call, those on the padding included; a multiply-add is two."""
    return counts.convolution(_pixels(sizes), 3, sizes["channels_in"], sizes["channels_out"])


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of kernel, input and output, each once."""
    channels = sizes["channels_in"] + sizes["channels_out"]
    return 4 * (parameter_count(sizes) + _pixels(sizes) * channels)


def reference(weights: dict[str, np.ndarray], inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The output (batch, channels_out, height, width) in float64."""
    kernel, x = weights["conv.weight"].astype(np.float64), inputs["x"].astype(np.float64)
    height, width = x.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return sum(
        np.einsum(
            "oi,nihw->nohw",
            kernel[:, :, row, column],
            padded[:, :, row : row + height, column : column + width],
            optimize=True,
        )
        for row in range(3)
        for column in range(3)
    )


def _pixels(sizes: dict[str, int]) -> int:
    return sizes["batch"] * sizes["height"] * sizes["width"]
