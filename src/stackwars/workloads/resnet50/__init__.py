"""ResNet-50 (He et al., 2016) for image classification, in inference: the logits."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from stackwars.workloads import counts, shapes, values

TITLE, TABLE, KIND, ITEM, ORDER = "ResNet-50", "II", "model", "images", 100
SIZES = {
    "batch": "images in a call",
    "image": "rows and columns of an image",
    "stem": "channels after the first convolution",
    "width": "channels of the first stage, a multiple of 4; each later stage has twice as many",
    "depth_1": "blocks of the first stage",
    "depth_2": "blocks of the second stage",
    "depth_3": "blocks of the third stage",
    "depth_4": "blocks of the fourth stage",
    "labels": "classes",
}
CHANNELS = 3
REDUCTION = 4  # channels of a block over those of its 3x3 convolution


class Convolution(NamedTuple):
    """A convolution followed by batch normalisation; ``side`` is that of its square output."""

    name: str
    kernel: int
    channels_in: int
    channels_out: int
    side: int


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """Images (batch, 3, image, image), float32."""
    batch, side = sizes["batch"], sizes["image"]
    return {"pixel_values": values.images("pixel_values", batch, CHANNELS, side, seed)}


def items(sizes: dict[str, int]) -> int:
    """Images in a call."""
    return sizes["batch"]


def hf_config(sizes: dict[str, int]) -> dict:
    """Keywords of transformers' ResNetConfig."""
    return {
        "num_channels": CHANNELS,
        "embedding_size": sizes["stem"],
        "hidden_sizes": [sizes["width"] * 2**stage for stage in range(4)],
        "depths": [sizes[f"depth_{stage}"] for stage in range(1, 5)],
        "layer_type": "bottleneck",
        "hidden_act": "relu",
        "num_labels": sizes["labels"],
    }


def convolutions(sizes: dict[str, int]) -> Iterator[Convolution]:
    """All convolutions, from input to output. Stride 2 is in the 3x3 one of a stage's first."""
    side = _half(sizes["image"])
    yield Convolution("resnet.embedder.embedder", 7, CHANNELS, sizes["stem"], side)
    side, channels = _half(side), sizes["stem"]
    for stage in range(4):
        out = sizes["width"] * 2**stage
        inner = out // REDUCTION
        for block in range(sizes[f"depth_{stage + 1}"]):
            name = f"resnet.encoder.stages.{stage}.layers.{block}"
            before = side
            if stage and not block:
                side = _half(side)
            if channels != out or before != side:
                yield Convolution(f"{name}.shortcut", 1, channels, out, side)
            yield Convolution(f"{name}.layer.0", 1, channels, inner, before)
            yield Convolution(f"{name}.layer.1", 3, inner, inner, side)
            yield Convolution(f"{name}.layer.2", 1, inner, out, side)
            channels = out


def parameters(sizes: dict[str, int]) -> shapes.Shapes:
    """Names and shapes of the weights and running statistics, in torch's layout."""
    found = {}
    for name, kernel, channels_in, out, _ in convolutions(sizes):
        found[f"{name}.convolution.weight"] = (out, channels_in, kernel, kernel)
        for part in ("weight", "bias", "running_mean", "running_var"):
            found[f"{name}.normalization.{part}"] = (out,)
    return found | shapes.linear("classifier.1", 8 * sizes["width"], sizes["labels"])


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights and in the running statistics of batch normalisation."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of convolutions and product; a multiply-add is two."""
    batch = sizes["batch"]
    return counts.matmul(batch, 8 * sizes["width"], sizes["labels"]) + sum(
        counts.convolution(batch * side**2, kernel, channels_in, out)
        for _, kernel, channels_in, out, side in convolutions(sizes)
    )


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of weights, running statistics, input and output, each once."""
    values_of_image = CHANNELS * sizes["image"] ** 2
    return 4 * (parameter_count(sizes) + sizes["batch"] * (values_of_image + sizes["labels"]))


def _half(side: int) -> int:
    return (side + 1) // 2
